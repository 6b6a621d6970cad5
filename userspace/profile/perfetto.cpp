// SPDX-License-Identifier: BSD-2-Clause
// https://github.com/google/perfetto/blob/main/protos/perfetto/trace/profiling/profile_packet.proto
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collector.h"
#include "core/text.h"
#include "formats.h"
#include "perfetto_fields.h"

namespace rsslag::profile {
namespace {

using core::Status;
using protozero::pbf_writer;

/// The sequence of packets of the heap profiles. That of the exporter has number 1.
constexpr std::uint32_t kSequence = 2;

/// Calls `fill` with a packet of its own.
template <class Fill>
std::string packet(std::uint64_t t_ns, Fill fill) {
    std::string bytes;
    pbf_writer trace(bytes);
    {
        pbf_writer packet(trace, perfetto_field::kPacket);
        packet.add_uint64(perfetto_field::kTimestamp, t_ns);
        packet.add_uint32(perfetto_field::kTrustedPacketSequenceId, kSequence);
        fill(packet);
    }
    return bytes;
}

/// The tables that samples refer to, by number from 1. Perfetto requires a mapping for each frame.
class Tables {
  public:
    explicit Tables(pbf_writer &out) : out_(out) {}

    std::uint64_t frame(const core::StackFrame &frame) {
        return frame_of(name_of(frame), frame.file, frame.build_id, frame.address);
    }
    std::uint64_t made_up_frame(const std::string &name) { return frame_of(name, "rsslag", {}, 0); }

    /// `frames`: the outermost first.
    std::uint64_t callstack(const std::vector<std::uint64_t> &frames) {
        const auto [found, is_new] = callstacks_.try_emplace(frames, callstacks_.size() + 1);
        if (is_new) {
            pbf_writer callstack(out_, perfetto_field::kCallstacks);
            callstack.add_uint64(perfetto_field::kIid, found->second);
            for (const std::uint64_t frame : frames)
                callstack.add_uint64(perfetto_field::kFrameIds, frame);
        }
        return found->second;
    }

  private:
    std::uint64_t string(std::string text) {
        const auto [found, is_new] = strings_.try_emplace(std::move(text), strings_.size() + 1);
        if (is_new) {
            pbf_writer string(out_, perfetto_field::kStrings);
            string.add_uint64(perfetto_field::kIid, found->second);
            string.add_string(perfetto_field::kString, found->first);
        }
        return found->second;
    }
    std::uint64_t mapping(const std::string &file, const core::BuildId &build_id) {
        const auto [found, is_new] = mappings_.try_emplace({file, build_id}, mappings_.size() + 1);
        if (is_new) {
            // Perfetto puts a '/' in front of each part of the path.
            const std::uint64_t path = string(core::printable(file.starts_with('/') ? file.substr(1) : file));
            const std::uint64_t id =
                build_id.known() ? string({build_id.bytes.begin(), build_id.bytes.begin() + build_id.size}) : 0;
            pbf_writer mapping(out_, perfetto_field::kMappings);
            mapping.add_uint64(perfetto_field::kIid, found->second);
            if (id > 0) mapping.add_uint64(perfetto_field::kBuildId, id);
            mapping.add_uint64(perfetto_field::kEnd, INT64_MAX);  // addresses are those in the file
            mapping.add_uint64(perfetto_field::kPathStringIds, path);
        }
        return found->second;
    }
    std::uint64_t frame_of(const std::string &name, const std::string &file, const core::BuildId &build_id,
                           std::uint64_t address) {
        const std::uint64_t function = string(core::printable(name)), in = mapping(file, build_id);
        const auto [found, is_new] = frames_.try_emplace({function, in, address}, frames_.size() + 1);
        if (is_new) {
            pbf_writer frame(out_, perfetto_field::kFrames);
            frame.add_uint64(perfetto_field::kIid, found->second);
            frame.add_uint64(perfetto_field::kFunctionNameId, function);
            frame.add_uint64(perfetto_field::kMappingId, in);
            frame.add_uint64(perfetto_field::kRelativePc, address);
        }
        return found->second;
    }

    pbf_writer &out_;
    std::map<std::string, std::uint64_t> strings_;
    std::map<std::pair<std::string, core::BuildId>, std::uint64_t> mappings_;
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> frames_;
    std::map<std::vector<std::uint64_t>, std::uint64_t> callstacks_;
};

/// The flows of a process by callstack.
using Flows = std::map<int, std::map<std::uint64_t, Flow>>;

Flows flows_by_callstack(const Profile &profile, Tables &tables) {
    std::vector<std::uint64_t> frames;
    std::transform(profile.frames.begin(), profile.frames.end(), std::back_inserter(frames),
                   [&tables](const core::StackFrame &frame) { return tables.frame(frame); });
    Flows flows;
    for (const StackFlow &each : profile.flows) {
        const core::CallStack &stack = profile.stacks[each.stack];
        std::vector<std::uint64_t> callstack;
        if (stack.end != core::StackEnd::Outermost)
            callstack.push_back(tables.made_up_frame('(' + std::string(name(stack.end)) + ')'));
        for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
            callstack.push_back(frames[*frame]);
        if (const std::string reason = frame_of(each.reason); !reason.empty() || callstack.empty())
            callstack.push_back(tables.made_up_frame(reason.empty() ? "(unknown)" : reason));
        flows[each.pid][tables.callstack(callstack)] += each.flow;
    }
    for (const ThreadFlow &thread : profile.threads)
        if (thread.unexplained.size() > 0)
            flows[thread.pid][tables.callstack({tables.made_up_frame("(no sample)")})] += thread.unexplained;
    return flows;
}

class PerfettoStacks final : public exporters::Sink {
  public:
    PerfettoStacks(std::unique_ptr<exporters::Sink> rows, exporters::Write write)
        : rows_(std::move(rows)), write_(std::move(write)) {}

    Status begin(const exporters::Facts &facts) override {
        facts_ = facts;
        collector_.begin(facts.sample_period);
        return rows_->begin(facts);
    }
    Status row(const exporters::Row &row) override {
        collector_.note(row);
        std::visit([this](const auto &each) { last_ns_ = std::max(last_ns_, each.at.t_ns); }, row);
        return rows_->row(row);
    }
    void samples(const core::event::Samples &samples) override { collector_.samples(samples); }
    void stacks(const core::event::Stacks &stacks) override { collector_.stacks(stacks); }
    void absent_pages(const core::event::AbsentPages &absent) override { collector_.absent_pages(absent); }
    Status end(const exporters::Ending &ending) override {
        if (Status ended = rows_->end(ending); !ended) return ended;
        return facts_.sample_period == 0 ? core::success()
                                         : write_(perfetto_heaps(collector_.take(), facts_, last_ns_));
    }

  private:
    std::unique_ptr<exporters::Sink> rows_;
    exporters::Write write_;
    exporters::Facts facts_;
    Collector collector_;
    std::uint64_t last_ns_ = 0;
};

}  // namespace

std::string perfetto_heaps(const Profile &profile, const exporters::Facts &facts, std::uint64_t t_ns) {
    const core::PageSize &page_size = facts.machine.page_size;
    const auto bytes = [&page_size](std::int64_t pages) {
        return static_cast<std::uint64_t>(core::wrapped_product(pages, page_size.bytes));
    };
    // Without a common time of both clocks, Perfetto does not know the times of heap profiles.
    const std::string clocks = packet(0, [](pbf_writer &packet) {
        pbf_writer snapshot(packet, perfetto_field::kClockSnapshot);
        for (const std::uint32_t clock : {perfetto_field::kBoottime, perfetto_field::kMonotonicCoarse}) {
            pbf_writer one(snapshot, perfetto_field::kClocks);
            one.add_uint32(perfetto_field::kClockId, clock);
            one.add_uint64(perfetto_field::kClockTimestamp, 0);
        }
    });
    return clocks + packet(t_ns, [&](pbf_writer &packet) {
               pbf_writer heaps(packet, perfetto_field::kProfilePacket);
               Tables tables(heaps);
               for (const auto &[pid, flows] : flows_by_callstack(profile, tables)) {
                   for (const auto &[heap, pages] : {std::pair{"pages that came", &Flow::came},
                                                     {"pages that went", &Flow::went},
                                                     {"pages that are still resident", &Flow::resident}}) {
                       pbf_writer dump(heaps, perfetto_field::kProcessDumps);
                       dump.add_uint64(perfetto_field::kPid, static_cast<std::uint64_t>(pid));
                       dump.add_uint64(perfetto_field::kDumpTimestamp, t_ns);
                       dump.add_string(perfetto_field::kHeapName, heap);
                       dump.add_uint64(perfetto_field::kSamplingIntervalBytes, bytes(profile.period));
                       for (const auto &[callstack, flow] : flows) {
                           if (flow.*pages == 0) continue;
                           pbf_writer sample(dump, perfetto_field::kSamples);
                           sample.add_uint64(perfetto_field::kCallstackId, callstack);
                           sample.add_uint64(perfetto_field::kSelfAllocated, bytes(flow.*pages));
                           sample.add_uint64(perfetto_field::kAllocCount, flow.samples);
                       }
                   }
               }
           });
}

std::unique_ptr<exporters::Sink> with_perfetto_heaps(std::unique_ptr<exporters::Sink> rows, exporters::Write write) {
    return std::make_unique<PerfettoStacks>(std::move(rows), std::move(write));
}

}  // namespace rsslag::profile
