// SPDX-License-Identifier: BSD-2-Clause
// How a recording starts and ends, also while the trace is running.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "analysis/time_order.h"
#include "tracer_state.h"

namespace rsslag::tracer {

/// Events that describe the present state: a recording of a running trace starts with them. Records older than the
/// counters of their process are already part of these. With `all`, nullopt if a process is ending or in an exec: its
/// records will be there in a moment.
std::optional<Tracer::State::Events> Tracer::State::known(bool all) {
    Events events;
    for (const core::GroupView &group : analyzer.groups()) {
        if (group.tgid == 0) continue;  // not visible in rsslag's PID namespace
        auto counters = read_counters(group);
        if (counters && counters->counters.mm == group.mm) {
            event::Faults faults = faults_of(*source, host_tids(counters->counters));
            auto listing = source->list_mappings(group.host_tgid, group.tgid, false);
            if (options.names && listing) events.emplace_back(event::MappingListing{std::move(*listing)});
            events.emplace_back(event::Attach{group.host_tgid, std::move(*counters), std::move(faults)});
        } else if (all) {
            return std::nullopt;
        }
    }
    for (const analysis::Awaited &awaited : analyzer.awaited()) {
        const auto counters = source->read_counters(awaited.tgid);
        if (counters && counters->counters.mm == awaited.mm) {
            events.emplace_back(event::ExecAwaited{awaited.host_tgid, awaited.tgid, awaited.mm});
        } else if (all) {
            return std::nullopt;
        }
    }
    for (event::AtExec &each : analyzer.awaiting_exec())
        events.emplace_back(std::move(each));
    return events;
}

/// A recording contains that a process which matches is not traced.
Tracer::State::Events Tracer::State::unattached() {
    std::erase_if(not_attached, [this](const auto &each) {
        const auto counters = source->read_counters(each.first);
        return !counters && counters.error().kind == core::Kind::Gone;
    });
    Events events;
    for (const auto &[pid, why] : not_attached)
        events.emplace_back(event::Counters{pid, why});
    return events;
}

/// `running`: the recording starts now, not with the trace.
void Tracer::State::begin_header(recording::Header &header, bool running) {
    timespec up{};
    clock_gettime(CLOCK_BOOTTIME, &up);
    const event::Moment now = moment();
    const event::Moment start = running ? now : analyzer.facts().start;
    header.start_ns = start.t_ns;
    header.start_unix_ns = start.unix_ns;
    header.boot_unix_ns = now.unix_ns - std::int64_t{up.tv_sec} * 1'000'000'000;
}

/// Losses as of now, with only those sent records that have been processed.
core::Losses Tracer::State::losses_so_far() {
    core::Losses so_far = source->losses();
    so_far.sent = analyzer.records() + so_far.lost();
    return so_far;
}

void Recording::put(std::vector<event::Event> events) {
    for (event::Event &event : events)
        writer.put(std::move(event));
}

/// Ends the recording or segment with the events of a stopped trace.
void Tracer::State::put_end(recording::Writer &writer, core::Losses until_now) {
    const std::vector<int> tids = analyzer.tids();
    const event::Moment at = moment();
    writer.put(event::Losses{at.t_ns, std::move(until_now)});
    writer.put(event::Stop{at});
    writer.put(faults_of(*source, tids));
    writer.put(event::End{at, own});
}

/// Starts a recording or segment of a running trace with the events of known(). `begin` opens it for writing.
void Tracer::State::begin_while_running(Recording &recording,
                                        const std::function<void(const core::Losses &until_now)> &begin) {
    constexpr int kTries = 8;
    std::optional<Events> events;
    for (int left = kTries - 1; !events; --left) {
        collect();
        begin_header(recording.header, true);
        // A process that has ended belongs to the old segment: its last tick must not fall into the new one. Records
        // of an mm that a fork or exec is building would be missing from the new one.
        if (left == 0 || !(analyzer.leaving() || analyzer.building())) events = known(left > 0);
        if (!events) source->wait_until(recording.header.start_ns + 2 * kLateNs);
    }
    analysis::TimeOrder waiting;
    for (event::Records &records : analyzer.waiting()) {
        waiting.add(records.bytes);
        events->emplace_back(std::move(records));
    }
    const core::Losses until_now = losses_so_far();
    recording.header.before = until_now;
    recording.header.before.sent -= waiting.records();
    begin(until_now);
    recording.put(std::move(*events));
    recording.put(unattached());
    reported.reset();
    forget_walks();
    for (Recording &each : recordings)
        if (&each != &recording) each.writer.put(event::FreshStart{});
    analyzer.apply(event::FreshStart{});
}

Recording &Tracer::State::find(const recording::Writer &writer) {
    return *std::find_if(recordings.begin(), recordings.end(),
                         [&](const Recording &each) { return &each.writer == &writer; });
}

recording::Writer &Tracer::record(recording::Writer writer, recording::Header header) {
    State &state = *state_;
    const Options &options = state.options;
    const analysis::Facts &facts = state.analyzer.facts();
    header.kernel = facts.kernel;
    header.arch = state.source->facts().arch;
    header.machine = facts.machine;
    header.calibration = facts.calibration;
    header.missing_hooks = missing();
    header.clock_ticks = sysconf(_SC_CLK_TCK);
    header.id_key = facts.id_key;
    header.follow = options.follow;
    header.counting = options.counting;
    header.walk = options.walk;
    std::list<Recording> added;
    Recording &recording = added.emplace_back(Recording{std::move(writer), std::move(header)});
    const auto begin = [&](const core::Losses & /*until_now*/) {
        recording.writer.begin(recording.header);
        state.recordings.splice(state.recordings.end(), added);
    };
    const bool running = any() || state.analyzer.records() > 0;
    if (running) {
        state.begin_while_running(recording, begin);
    } else {
        state.begin_header(recording.header, false);
        begin({});
        recording.put(state.unattached());
    }
    return recording.writer;
}

void Tracer::next_segment(recording::Writer &writer) {
    State &state = *state_;
    Recording &recording = state.find(writer);
    recording.header.segment++;
    state.begin_while_running(recording, [&](const core::Losses &until_now) {
        state.put_end(writer, until_now);
        writer.next(recording.header);
    });
}

recording::Writer Tracer::end_recording(recording::Writer &writer) {
    State &state = *state_;
    state.put_end(writer, state.losses_so_far());
    writer.end();
    recording::Writer ended(std::move(writer));
    state.recordings.remove_if([&](const Recording &each) { return &each.writer == &writer; });
    return ended;
}

}  // namespace rsslag::tracer
