// SPDX-License-Identifier: BSD-2-Clause
#include "formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "collector.h"
#include "core/text.h"
#include "exporters/pieces.h"

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

/// The frame outside of a stack that is not whole: "(cut)". Empty if it is whole.
std::string end_mark(const core::CallStack &stack) {
    return stack.end == core::StackEnd::Outermost ? "" : fmt::format("({})", name(stack.end));
}

std::string stack_parts(const Profile &profile, const StackFlow &flow) {
    const core::CallStack &stack = profile.stacks[flow.stack];
    std::string text;
    if (const std::string mark = end_mark(stack); !mark.empty()) text += ';' + mark;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
        text += ';' + part(name_of(profile.frames[*frame]));
    if (const std::string frame = frame_of(flow.reason); !frame.empty()) text += ';' + frame;
    return text;
}

/// The parts of speedscope's document. Frames that are no functions come after those of the profile.
class Speedscope {
  public:
    Speedscope(const Profile &profile, const exporters::Facts &facts, const exporters::Write &write)
        : profile_(profile), facts_(facts), out_(write), sums_(by_stack(profile)), rest_(unexplained(profile)) {}

    core::Status put() {
        out_.put(
            fmt::format(R"({{"$schema":{},"exporter":"rsslag","name":{},"activeProfileIndex":0,"shared":{{"frames":[)",
                        text("https://www.speedscope.app/file-format-schema.json"), text(facts_.command_line)));
        out_.put_list(profile_.frames, frame_text);
        for (const StackSum &sum : sums_) {
            if (const std::string mark = end_mark(profile_.stacks[sum.stack]); !mark.empty()) number_of(mark);
            if (const std::string frame = frame_of(sum.reason); !frame.empty()) number_of(frame);
        }
        if (rest_.flow.size() > 0) number_of(std::string(kNoSample));
        out_.put(R"(]},"profiles":[)");
        put_values("came", &Flow::came);
        out_.put(",");
        put_values("went", &Flow::went);
        out_.put(",");
        put_values("resident", &Flow::resident);
        out_.put("]}\n");
        return out_.end();
    }

  private:
    static constexpr std::string_view kNoSample = "(no sample)";

    static std::string text(std::string_view raw) { return ordered_json(core::printable(raw)).dump(); }
    static std::string frame_text(const core::StackFrame &frame) {
        ordered_json one{{"name", core::printable(name_of(frame))}};
        const std::string &file = frame.source.empty() ? frame.file : frame.source;
        if (!file.empty()) one["file"] = core::printable(file);
        if (frame.line > 0) one["line"] = frame.line;
        return one.dump();
    }
    /// Puts the frame, if it is new.
    std::size_t number_of(const std::string &name) {
        const auto [found, is_new] = more_.try_emplace(name, profile_.frames.size() + more_.size());
        if (is_new) {
            if (found->second > 0) out_.put(",");
            out_.put(fmt::format(R"({{"name":{}}})", text(name)));
        }
        return found->second;
    }
    /// The outermost frame first.
    std::string numbers(const StackSum &sum) {
        const core::CallStack &stack = profile_.stacks[sum.stack];
        std::vector<std::size_t> all;
        if (const std::string mark = end_mark(stack); !mark.empty()) all.push_back(number_of(mark));
        all.insert(all.end(), stack.frames.rbegin(), stack.frames.rend());
        if (const std::string frame = frame_of(sum.reason); !frame.empty()) all.push_back(number_of(frame));
        return fmt::format("[{}]", fmt::join(all, ","));
    }
    void put_values(std::string_view name, std::int64_t Flow::*value) {
        const auto bytes = [&](const Flow &flow) {
            return core::wrapped_product(flow.*value, facts_.machine.page_size.bytes);
        };
        const auto is_0 = [&bytes](const StackSum &sum) { return bytes(sum.flow) == 0; };
        std::vector<const StackSum *> with;
        for (const StackSum &sum : sums_)
            if (!is_0(sum)) with.push_back(&sum);
        std::int64_t sum = 0;
        for (const StackSum *const each : with)
            sum = core::wrapped_sum(sum, bytes(each->flow));
        const bool rest = !is_0(rest_);
        if (rest) sum = core::wrapped_sum(sum, bytes(rest_.flow));
        const std::string_view comma = with.empty() ? "" : ",";
        out_.put(fmt::format(
            R"({{"type":"sampled","name":"{}","unit":"bytes","startValue":0,"endValue":{},"samples":[)", name, sum));
        out_.put_list(with, [this](const StackSum *each) { return numbers(*each); });
        if (rest) out_.put(fmt::format("{}[{}]", comma, number_of(std::string(kNoSample))));
        out_.put(R"(],"weights":[)");
        out_.put_list(with, [&bytes](const StackSum *each) { return fmt::to_string(bytes(each->flow)); });
        if (rest) out_.put(fmt::format("{}{}", comma, bytes(rest_.flow)));
        out_.put("]}");
    }

    const Profile &profile_;
    const exporters::Facts &facts_;
    exporters::Pieces out_;
    std::vector<StackSum> sums_;
    StackSum rest_;
    std::map<std::string, std::size_t> more_;  ///< numbers of frames that are no functions
};

using Writer = core::Status (*)(const Profile &, const exporters::Facts &, const exporters::Write &);

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
    Status end(const exporters::Ending & /*ending*/) override { return writer_(collector_.take(), facts_, write_); }

  private:
    Writer writer_;
    exporters::Write write_;
    exporters::Facts facts_;
    Collector collector_;
};

}  // namespace

core::Status folded(const Profile &profile, const exporters::Facts &facts, const exporters::Write &write) {
    exporters::Pieces out(write);
    const auto put = [&](std::string_view direction, std::int64_t Flow::*value, const ThreadFlow *thread,
                         const std::string &frames, const Flow &flow) {
        const std::string comm = thread == nullptr || thread->comm.empty() ? "(unknown)" : part(thread->comm);
        out.put(fmt::format("{};{}{} {}\n", direction, comm, frames, facts.machine.page_size.kb({flow.*value}).n));
    };
    for (const auto &[name, value] :
         {std::pair("came", &Flow::came), std::pair("went", &Flow::went), std::pair("resident", &Flow::resident)}) {
        for (const StackFlow &each : profile.flows) {
            if (each.flow.*value <= 0) continue;
            put(name, value, profile.thread(each.pid, each.tid), stack_parts(profile, each), each.flow);
        }
        for (const ThreadFlow &thread : profile.threads)
            if (thread.unexplained.*value > 0) put(name, value, &thread, ";(no sample)", thread.unexplained);
    }
    return out.end();
}

core::Status speedscope(const Profile &profile, const exporters::Facts &facts, const exporters::Write &write) {
    return Speedscope(profile, facts, write).put();
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
