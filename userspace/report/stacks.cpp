// SPDX-License-Identifier: BSD-2-Clause
#include "stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "core/text.h"

namespace rsslag::report {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kUnknown = "(unknown)";

std::string_view name(core::StackEnd end) {
    switch (end) {
        case core::StackEnd::Outermost: return "outermost";
        case core::StackEnd::Cut: return "cut";
        case core::StackEnd::NoRules: return "no_rules";
        case core::StackEnd::Implausible: return "implausible";
        case core::StackEnd::TooDeep: return "too_deep";
        case core::StackEnd::NoCopy: return "no_copy";
        case core::StackEnd::Dropped: return "dropped";
    }
    return "";
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// The function, or the file if its name is not known.
std::string name_of(const core::StackFrame &frame) {
    if (!frame.function.empty()) return frame.function;
    if (!frame.file.empty()) return fmt::format("[{}]", last_part(frame.file));
    return std::string(kUnknown);
}

double weight(const Flow &flow) {
    return flow.came + flow.went;
}

double ratio(double exact, double estimated) {
    return estimated > 0 ? exact / estimated : 0;
}

std::int64_t kb(double pages, const core::PageSize &page_size) {
    return std::llround(pages * static_cast<double>(page_size.bytes) / 1024);
}

}  // namespace

void StackShares::samples(const core::event::Samples &samples) {
    std::uint64_t number = samples.first;
    for (const core::Sample &sample : samples.samples)
        waiting_[number++].believed = sample.believed;
    report_.samples += samples.samples.size();
}

void StackShares::note(const exporters::UpdateRow &row) {
    if (report_.period == 0) return;
    if (row.member && !core::in_rss(*row.member)) {
        if (row.sample >= 0) waiting_.erase(static_cast<std::uint64_t>(row.sample));
        return;
    }
    if (row.pages) {
        StackThread &thread = threads_[{row.at.pid, row.at.tid}];
        thread.pid = row.at.pid;
        thread.tid = row.at.tid;
        thread.comm = row.at.comm;
        thread.exact.add(static_cast<double>(row.pages->n));
    }
    if (row.sample < 0) return;
    const auto found = waiting_.find(static_cast<std::uint64_t>(row.sample));
    if (found == waiting_.end() || !row.pages || found->second.believed == 0) return;
    Waiting &sample = found->second;
    sample.pages = static_cast<double>(row.pages->n) / core::inclusion(sample.believed, report_.period);
    sample.pid = row.at.pid;
    sample.tid = row.at.tid;
    complete(found);
}

void StackShares::complete(std::unordered_map<std::uint64_t, Waiting>::iterator at) {
    const Waiting &sample = at->second;
    if (!sample.pages || !sample.stack) return;
    Flow &flow = flows_[{*sample.stack, {sample.pid, sample.tid}}];
    flow.add(*sample.pages);
    flow.samples++;
    waiting_.erase(at);
}

std::uint32_t StackShares::frame_number(const core::StackFrame &frame) {
    const auto [found, is_new] = frames_.try_emplace(frame, static_cast<std::uint32_t>(report_.frames.size()));
    if (is_new) report_.frames.push_back(frame);
    return found->second;
}

std::size_t StackShares::stack_number(const core::CallStack &stack, const std::vector<core::StackFrame> &frames) {
    core::CallStack own{{}, stack.end};
    for (const std::uint32_t frame : stack.frames)
        own.frames.push_back(frame_number(frames[frame]));
    const auto [found, is_new] = stacks_.try_emplace(own, report_.stacks.size());
    if (is_new) report_.stacks.push_back(std::move(own));
    return found->second;
}

void StackShares::stacks(const core::event::Stacks &stacks) {
    report_.lost = stacks.lost;
    std::vector<std::size_t> numbers;
    for (const core::CallStack &stack : stacks.stacks)
        numbers.push_back(stack_number(stack, stacks.frames));
    for (std::size_t i = 0; i < stacks.of.size(); ++i) {
        const auto found = waiting_.find(stacks.first + i);
        if (found == waiting_.end()) continue;
        found->second.stack = numbers[stacks.of[i]];
        complete(found);
    }
}

StackReport StackShares::take() {
    report_.unmatched = waiting_.size();
    std::map<Task, Flow> estimated;
    for (const auto &[key, flow] : flows_)
        estimated[key.second] += flow;
    for (auto &[task, thread] : threads_) {
        const Flow &sum = estimated[task];
        if (sum.came <= 0) thread.unexplained.came = thread.exact.came;
        if (sum.went <= 0) thread.unexplained.went = thread.exact.went;
        report_.threads.push_back(thread);
    }
    for (const auto &[key, flow] : flows_) {
        const auto &[stack, task] = key;
        const Flow &exact = threads_[task].exact;
        const Flow &sum = estimated[task];
        report_.flows.push_back(
            {stack,
             task.first,
             task.second,
             {flow.came * ratio(exact.came, sum.came), flow.went * ratio(exact.went, sum.went), flow.samples}});
    }
    std::stable_sort(report_.flows.begin(), report_.flows.end(),
                     [](const StackFlow &a, const StackFlow &b) { return weight(a.flow) > weight(b.flow); });
    return std::move(report_);
}

std::vector<StackLine> lines(const StackReport &report, StacksBy by) {
    std::map<std::string, StackLine> found;
    const auto add = [&found](const std::string &key, const Flow &flow, bool is_self) {
        StackLine &line = found[key];
        line.name = key;
        line.all += flow;
        if (is_self) line.self += flow;
    };
    std::map<std::pair<int, int>, const StackThread *> threads;
    for (const StackThread &thread : report.threads) {
        threads[{thread.pid, thread.tid}] = &thread;
        if (weight(thread.unexplained) > 0) add("(no sample)", thread.unexplained, true);
    }
    for (const StackFlow &each : report.flows) {
        if (by == StacksBy::Thread) {
            const StackThread *const thread = threads[{each.pid, each.tid}];
            add(fmt::format("{} {}", each.tid, thread == nullptr ? "" : thread->comm), each.flow, true);
            continue;
        }
        std::set<std::string> seen;  // a recursive function counts once
        const core::CallStack &stack = report.stacks[each.stack];
        for (std::size_t i = 0; i < stack.frames.size(); ++i) {
            const core::StackFrame &frame = report.frames[stack.frames[i]];
            const std::string key = by == StacksBy::Function ? name_of(frame)
                                    : frame.file.empty()     ? std::string(kUnknown)
                                                             : frame.file;
            if (seen.insert(key).second) add(key, each.flow, i == 0);
        }
        if (stack.frames.empty()) add("(no stack)", each.flow, true);
    }
    std::vector<StackLine> sorted;
    for (auto &[key, line] : found)
        sorted.push_back(std::move(line));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const StackLine &a, const StackLine &b) { return weight(a.all) > weight(b.all); });
    return sorted;
}

std::string stacks_text(const StackReport &report, StacksBy by, std::size_t most, const core::PageSize &page_size,
                        bool utf8) {
    if (report.period == 0) return "no stacks were recorded: use rsslag record --stacks\n";
    std::string text =
        fmt::format("{} samples, one in {} pages, scaled to what the records say", report.samples, report.period);
    if (report.lost > 0) text += fmt::format("; {} more were lost", report.lost);
    if (report.unmatched > 0) text += fmt::format("; {} belong to updates of unknown amount", report.unmatched);
    constexpr std::array<std::string_view, 3> kHeadings{"FUNCTION", "FILE", "THREAD"};
    text += fmt::format("\n\n{:>12}{:>12}{:>12}{:>12}{:>9}  {}\n", "CAME kB", "WENT kB", "NET kB", "SELF kB", "SAMPLES",
                        kHeadings[static_cast<std::size_t>(by)]);
    const std::vector<StackLine> all = lines(report, by);
    for (const StackLine &line : all) {
        if (most-- == 0) {
            text += fmt::format("and {} more\n", all.size() - static_cast<std::size_t>(&line - all.data()));
            break;
        }
        text += fmt::format("{:>12}{:>12}{:>12}{:>12}{:>9}  {}\n", kb(line.all.came, page_size),
                            kb(line.all.went, page_size), kb(line.all.net(), page_size), kb(line.self.came, page_size),
                            line.all.samples, core::printable(line.name, utf8));
    }
    return text;
}

std::string stacks_shown(const StackReport &report, const StacksStyle &style) {
    if (style.json) return stacks_json(report, style.page_size);
    constexpr std::size_t kSome = 40;
    const StacksBy by = style.by == "file"     ? StacksBy::File
                        : style.by == "thread" ? StacksBy::Thread
                                               : StacksBy::Function;
    return stacks_text(report, by, style.all ? SIZE_MAX : kSome, style.page_size, style.utf8);
}

std::string stacks_json(const StackReport &report, const core::PageSize &page_size) {
    const auto flow = [](const Flow &each) {
        return ordered_json{
            {"came", std::round(each.came)}, {"went", std::round(each.went)}, {"samples", each.samples}};
    };
    ordered_json object{{"schema", "rsslag.stacks/1"}, {"page_size", page_size.bytes}, {"period", report.period},
                        {"samples", report.samples},   {"lost", report.lost},          {"unmatched", report.unmatched}};
    ordered_json &threads = object["threads"] = ordered_json::array();
    for (const StackThread &thread : report.threads) {
        threads.push_back({{"pid", thread.pid},
                           {"tid", thread.tid},
                           {"comm", core::printable(thread.comm)},
                           {"came", thread.exact.came},
                           {"went", thread.exact.went},
                           {"unexplained", {{"came", thread.unexplained.came}, {"went", thread.unexplained.went}}}});
    }
    ordered_json &stacks = object["stacks"] = ordered_json::array();
    for (const StackFlow &each : report.flows) {
        const core::CallStack &stack = report.stacks[each.stack];
        ordered_json one{{"pid", each.pid}, {"tid", each.tid}, {"end", name(stack.end)}};
        one.update(flow(each.flow));
        ordered_json &frames = one["frames"] = ordered_json::array();
        for (const std::uint32_t number : stack.frames) {
            const core::StackFrame &frame = report.frames[number];
            frames.push_back({{"function", core::printable(frame.function)},
                              {"file", core::printable(frame.file)},
                              {"build_id", core::hex(frame.build_id)},
                              {"address", fmt::format("{:#x}", frame.address)}});
        }
        stacks.push_back(std::move(one));
    }
    return object.dump() + "\n";
}

}  // namespace rsslag::report
