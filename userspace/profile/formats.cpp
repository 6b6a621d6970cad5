// SPDX-License-Identifier: BSD-2-Clause
#include "formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "collector.h"
#include "core/text.h"

namespace rsslag::profile {
namespace {

using core::Status;
using nlohmann::ordered_json;

/// The name of a frame of a line, in which ';' separates frames.
std::string part(std::string_view raw) {
    std::string text = core::printable(raw);
    std::replace(text.begin(), text.end(), ';', ':');
    return text;
}

std::string stack_parts(const Profile &profile, const StackFlow &flow) {
    const core::CallStack &stack = profile.stacks[flow.stack];
    std::string text;
    if (stack.end != core::StackEnd::Outermost) text += fmt::format(";({})", name(stack.end));
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
        text += ';' + part(name_of(profile.frames[*frame]));
    if (const std::string frame = frame_of(flow.reason); !frame.empty()) text += ';' + frame;
    return text;
}

/// Frames of speedscope, by number.
using ReasonFrames = std::map<Reason, std::uint32_t>;

ordered_json speedscope_profile(std::string_view name, std::int64_t Flow::*direction, const std::vector<StackSum> &sums,
                                const Profile &profile, const ReasonFrames &reasons, const core::PageSize &page_size) {
    ordered_json stacks = ordered_json::array(), weights = ordered_json::array();
    std::int64_t sum = 0;
    for (const StackSum &each : sums) {
        const std::int64_t bytes = core::wrapped_product(each.flow.*direction, page_size.bytes);
        if (bytes == 0) continue;
        const std::vector<std::uint32_t> &frames = profile.stacks[each.stack].frames;
        std::vector<std::uint32_t> numbers(frames.rbegin(), frames.rend());
        if (const auto reason = reasons.find(each.reason); reason != reasons.end()) numbers.push_back(reason->second);
        stacks.push_back(std::move(numbers));
        weights.push_back(bytes);
        sum = core::wrapped_sum(sum, bytes);
    }
    return {{"type", "sampled"},
            {"name", name},
            {"unit", "bytes"},
            {"startValue", 0},
            {"endValue", sum},
            {"samples", std::move(stacks)},
            {"weights", std::move(weights)}};
}

using Writer = std::string (*)(const Profile &, const exporters::Facts &);

class ProfileSink final : public exporters::Sink {
  public:
    ProfileSink(Writer writer, exporters::Write write) : writer_(writer), write_(std::move(write)) {}

    Status begin(const exporters::Facts &facts) override {
        if (facts.sample_period == 0)
            return core::Error{core::Kind::BadInput, "the recording has no stacks", 0,
                               "record it with rsslag record --stacks"};
        facts_ = facts;
        collector_.begin(facts.sample_period);
        return core::success();
    }
    Status row(const exporters::Row &row) override {
        collector_.note(row);
        return core::success();
    }
    void samples(const core::event::Samples &samples) override { collector_.samples(samples); }
    void stacks(const core::event::Stacks &stacks) override { collector_.stacks(stacks); }
    void absent_pages(const core::event::AbsentPages &absent) override { collector_.absent_pages(absent); }
    Status end(const exporters::Ending & /*ending*/) override { return write_(writer_(collector_.take(), facts_)); }

  private:
    Writer writer_;
    exporters::Write write_;
    exporters::Facts facts_;
    Collector collector_;
};

}  // namespace

std::string folded(const Profile &profile, const exporters::Facts &facts) {
    std::string came, went, resident;
    const auto put = [&](const ThreadFlow *thread, const std::string &frames, const Flow &flow) {
        const std::string comm = thread == nullptr || thread->comm.empty() ? "(unknown)" : part(thread->comm);
        const auto line = [&](std::string_view direction, std::int64_t pages) {
            return fmt::format("{};{}{} {}\n", direction, comm, frames, facts.machine.page_size.kb({pages}).n);
        };
        if (flow.came > 0) came += line("came", flow.came);
        if (flow.went > 0) went += line("went", flow.went);
        if (flow.resident > 0) resident += line("resident", flow.resident);
    };
    for (const StackFlow &each : profile.flows)
        put(profile.thread(each.pid, each.tid), stack_parts(profile, each), each.flow);
    for (const ThreadFlow &thread : profile.threads)
        put(&thread, ";(no sample)", thread.unexplained);
    return came + went + resident;
}

std::string speedscope(const Profile &profile, const exporters::Facts &facts) {
    ordered_json frames = ordered_json::array();
    for (const core::StackFrame &frame : profile.frames) {
        ordered_json one{{"name", core::printable(name_of(frame))}};
        const std::string &file = frame.source.empty() ? frame.file : frame.source;
        if (!file.empty()) one["file"] = core::printable(file);
        if (frame.line > 0) one["line"] = frame.line;
        frames.push_back(std::move(one));
    }
    Profile all = profile;
    std::vector<StackSum> sums = by_stack(profile);
    if (const StackSum rest = unexplained(profile); rest.flow.size() > 0) {
        frames.push_back({{"name", "(no sample)"}});
        sums.push_back({all.stacks.size(), rest.reason, rest.flow, rest.tids});
        all.stacks.push_back({{static_cast<std::uint32_t>(profile.frames.size())}, core::StackEnd::Outermost});
    }
    ReasonFrames reasons;
    for (const StackSum &sum : sums) {
        const std::string frame = frame_of(sum.reason);
        if (!frame.empty() && reasons.try_emplace(sum.reason, static_cast<std::uint32_t>(frames.size())).second)
            frames.push_back({{"name", frame}});
    }
    const core::PageSize &page_size = facts.machine.page_size;
    const auto values = [&](std::string_view name, std::int64_t Flow::*value) {
        return speedscope_profile(name, value, sums, all, reasons, page_size);
    };
    const ordered_json object{
        {"$schema", "https://www.speedscope.app/file-format-schema.json"},
        {"exporter", "rsslag"},
        {"name", core::printable(facts.command_line)},
        {"activeProfileIndex", 0},
        {"shared", {{"frames", std::move(frames)}}},
        {"profiles", {values("came", &Flow::came), values("went", &Flow::went), values("resident", &Flow::resident)}}};
    return object.dump() + "\n";
}

std::unique_ptr<exporters::Sink> sink(std::string_view format, exporters::Write write) {
    Writer writer = nullptr;
    if (format == "folded") writer = folded;
    if (format == "pprof") writer = pprof;
    if (format == "speedscope") writer = speedscope;
    if (writer == nullptr) return nullptr;
    return std::make_unique<ProfileSink>(writer, std::move(write));
}

}  // namespace rsslag::profile
