// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_reader.hpp>

#include "report/report_builder.h"
#include "rows.h"

namespace rsslag::exporters {
namespace {

using protozero::pbf_reader;

struct Track {
    std::string name;
    std::uint64_t parent = 0;
    int pid = 0, tid = 0;
    bool counter = false;
};

struct Event {
    std::uint64_t t_ns = 0, track = 0;
    std::int64_t value = 0;
    std::string name;
    std::map<std::string, std::int64_t> annotations;
};

/// Reads the trace back with its own list of Perfetto's published field numbers.
struct Trace {
    std::map<std::uint64_t, Track> tracks;
    std::vector<Event> counters, instants;
    std::size_t packets = 0;
    bool cleared = false;

    void track(pbf_reader descriptor) {
        std::uint64_t uuid = 0;
        Track track;
        while (descriptor.next()) {
            switch (descriptor.tag()) {
                case 1: uuid = descriptor.get_uint64(); break;
                case 2: track.name = descriptor.get_string(); break;
                case 5: track.parent = descriptor.get_uint64(); break;
                case 8:
                    track.counter = true;
                    descriptor.skip();
                    break;
                case 3:
                case 4: {
                    const bool thread = descriptor.tag() == 4;
                    pbf_reader own = descriptor.get_message();
                    while (own.next()) {
                        if (own.tag() == 1) {
                            track.pid = own.get_int32();
                        } else if (thread && own.tag() == 2) {
                            track.tid = own.get_int32();
                        } else {
                            own.skip();
                        }
                    }
                    break;
                }
                default: descriptor.skip();
            }
        }
        EXPECT_NE(uuid, 0U);
        EXPECT_TRUE(tracks.emplace(uuid, track).second) << "described twice: " << track.name;
    }

    void event(std::uint64_t t_ns, pbf_reader message) {
        Event event;
        event.t_ns = t_ns;
        std::int32_t type = 0;
        while (message.next()) {
            switch (message.tag()) {
                case 9: type = message.get_enum(); break;
                case 11: event.track = message.get_uint64(); break;
                case 23: event.name = message.get_string(); break;
                case 30: event.value = message.get_int64(); break;
                case 4: {
                    std::string name;
                    std::int64_t value = 0;
                    pbf_reader annotation = message.get_message();
                    while (annotation.next()) {
                        if (annotation.tag() == 10) {
                            name = annotation.get_string();
                        } else if (annotation.tag() == 4) {
                            value = annotation.get_int64();
                        } else {
                            annotation.skip();
                        }
                    }
                    event.annotations[name] = value;
                    break;
                }
                default: message.skip();
            }
        }
        EXPECT_TRUE(type == 3 || type == 4) << type;
        EXPECT_EQ(tracks.count(event.track), 1U) << "an event precedes the description of its track";
        (type == 4 ? counters : instants).push_back(event);
    }

    explicit Trace(const std::string &bytes) {
        pbf_reader trace(bytes);
        while (trace.next(1)) {
            ++packets;
            std::uint64_t t_ns = 0;
            pbf_reader packet = trace.get_message();
            pbf_reader late;
            bool has_event = false;
            while (packet.next()) {
                switch (packet.tag()) {
                    case 8: t_ns = packet.get_uint64(); break;
                    case 10: EXPECT_EQ(packet.get_uint32(), 1U); break;
                    case 11:
                        late = packet.get_message();
                        has_event = true;
                        break;
                    case 13: cleared = packet.get_uint32() == 1; break;
                    case 60: track(packet.get_message()); break;
                    default: packet.skip();
                }
            }
            if (has_event) event(t_ns, late);
        }
    }

    std::vector<Event> of(const std::string &counter, const std::string &parent) const {
        std::vector<Event> found;
        for (const Event &event : counters) {
            const Track &track = tracks.at(event.track);
            const auto found_parent = tracks.find(track.parent);
            if (track.name != counter || found_parent == tracks.end()) continue;
            if (found_parent->second.name == parent && found_parent->second.tid == 0) found.push_back(event);
        }
        return found;
    }
};

std::string bytes_of(const test::Recorded &all) {
    std::string bytes;
    const auto sink = perfetto_sink([&](std::string_view piece) {
        bytes += piece;
        return core::success();
    });
    EXPECT_TRUE(all.into(*sink).ok());
    return bytes;
}

TEST(PerfettoSink, CountersAreThoseOfTheReport) {
    const test::Recorded all = test::recorded();
    const Trace trace(bytes_of(all));
    report::ReportBuilder builder;
    ASSERT_TRUE(all.into(builder).ok());
    const report::Report report = builder.take();
    EXPECT_TRUE(trace.cleared);
    const std::vector<report::LagPoint> &points = report.processes.at(0).points;
    const auto exact = trace.of("exact", "hundred [10]");
    const auto cached = trace.of("cached", "hundred [10]");
    ASSERT_EQ(exact.size(), points.size());
    ASSERT_EQ(cached.size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(exact[i].t_ns, points[i].t_ns);
        EXPECT_EQ(exact[i].value, points[i].exact.n * 4096);
        EXPECT_EQ(cached[i].value, points[i].cached.n * 4096);
    }
    const auto reported = trace.of("reported (stat)", "hundred [10]");
    ASSERT_EQ(reported.size(), 2U) << "the last tick has no reading";
    EXPECT_EQ(exact[1].value - reported[1].value, report.peak_lag->pages.n * 4096);
    const auto walked = trace.of("walked", "hundred [10]");
    ASSERT_EQ(walked.size(), 1U);
    EXPECT_EQ(walked[0].value, 158 * 4096);
}

TEST(PerfettoSink, ShowsFlushesOnThreadsAndFoldsOnCpus) {
    const Trace trace(bytes_of(test::recorded()));
    ASSERT_EQ(trace.instants.size(), 3U);
    const Event &flush = trace.instants[0];
    EXPECT_EQ(flush.name, "flush anon: threshold");
    EXPECT_EQ(trace.tracks.at(flush.track).tid, 11);
    EXPECT_EQ(trace.tracks.at(flush.track).pid, 10);
    EXPECT_EQ(flush.annotations.at("pages"), 1);
    const Event &fold = trace.instants[1];
    EXPECT_EQ(fold.name, "fold file");
    EXPECT_EQ(trace.tracks.at(fold.track).name, "CPU 1");
    EXPECT_EQ(fold.annotations.count("pages"), 0U) << "the amount is not known";
    const Event &loss = trace.instants[2];
    EXPECT_EQ(loss.name, "lost: ring_full");
    EXPECT_EQ(loss.annotations.at("records"), 3);
}

TEST(PerfettoSink, ShowsMissingParts) {
    test::Recorded all = test::recorded();
    all.ending.missing = {{"a part of it is damaged", 5, 9, 7}, {"it was never ended", 20, 30, std::nullopt}};
    const Trace trace(bytes_of(all));
    ASSERT_EQ(trace.instants.size(), 5U);
    EXPECT_EQ(trace.instants[3].name, "missing: a part of it is damaged");
    EXPECT_EQ(trace.instants[3].t_ns, 5U);
    EXPECT_EQ(trace.instants[3].annotations.at("to_ns"), 9);
    EXPECT_EQ(trace.instants[3].annotations.at("records"), 7);
    EXPECT_EQ(trace.instants[4].annotations.count("records"), 0U);
}

TEST(PerfettoSink, CountsWhatThreadsAndCpusCache) {
    const Trace threads(bytes_of(test::recorded()));
    std::vector<std::int64_t> values;
    for (const Event &event : threads.counters) {
        const Track &track = threads.tracks.at(event.track);
        if (track.parent != 0 && threads.tracks.at(track.parent).tid == 11) values.push_back(event.value / 4096);
    }
    EXPECT_EQ(values, (std::vector<std::int64_t>{2, 50, 2}));
    const Trace cpus(bytes_of(test::recorded(core::Scheme::Cpu)));
    std::vector<std::int64_t> of_cpu;
    for (const Event &event : cpus.of("cached of hundred [10]", "CPU 3"))
        of_cpu.push_back(event.value / 4096);
    EXPECT_EQ(of_cpu, (std::vector<std::int64_t>{1, 31, 1}));
}

TEST(PerfettoSink, HasHarmlessNames) {
    const std::string bytes = bytes_of(test::recorded());
    EXPECT_EQ(bytes.find("\x1b[31m"), std::string::npos);
    EXPECT_NE(bytes.find("\\x1b[31m"), std::string::npos);
}

}  // namespace
}  // namespace rsslag::exporters
