// SPDX-License-Identifier: BSD-2-Clause
#include "lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace rsslag::profile {
namespace {

constexpr std::string_view kNoSample = "(no sample)";

bool is_larger(const Line &a, const Line &b) {
    return a.all.size() > b.all.size();
}

/// A line, and the threads that it counts.
struct Summed {
    Line line;
    std::set<int> tids;

    void add(const StackSum &sum, bool is_self) {
        line.all += sum.flow;
        if (is_self) line.self += sum.flow;
        tids.insert(sum.tids.begin(), sum.tids.end());
        line.threads = tids.size();
    }
};

class Lines {
  public:
    void add(const std::string &name, const StackSum &sum, bool is_self) {
        Summed &summed = lines_[name];
        summed.line.name = name;
        summed.add(sum, is_self);
    }
    std::vector<Line> sorted() {
        std::vector<Line> sorted;
        for (auto &[name, summed] : lines_)
            sorted.push_back(std::move(summed.line));
        std::stable_sort(sorted.begin(), sorted.end(), is_larger);
        return sorted;
    }

  private:
    std::map<std::string, Summed> lines_;
};

std::string key_of(const core::StackFrame &frame, By by) {
    if (by == By::Function || by == By::Kernel) return name_of(frame);
    if (by == By::File && !frame.source.empty()) return frame.source;
    return frame.file.empty() ? "(unknown)" : frame.file;
}

void add_stack(Lines &lines, const StackSum &sum, const Profile &profile, By by) {
    if (by == By::Reason) return lines.add(std::string(name(sum.reason)), sum, true);
    const core::CallStack &stack = profile.stacks[sum.stack];
    const std::vector<std::uint32_t> &frames = by == By::Kernel ? stack.kernel : stack.frames;
    std::set<std::string> seen;  // a recursive function counts once
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const std::string key = key_of(profile.frames[frames[i]], by);
        if (seen.insert(key).second) lines.add(key, sum, i == 0);
    }
    if (frames.empty()) lines.add(by == By::Kernel ? fmt::format("({})", name(sum.reason)) : "(no stack)", sum, true);
}

void add_threads(Lines &lines, const Profile &profile, const Of &of) {
    for (const StackFlow &each : profile.flows) {
        if (!of.includes(each.pid, each.tid)) continue;
        const ThreadFlow *const thread = profile.thread(each.pid, each.tid);
        lines.add(fmt::format("{} {}", each.tid, thread == nullptr ? "" : thread->comm),
                  {each.stack, each.reason, each.flow, {each.tid}}, true);
    }
}

struct Node {
    Summed summed;
    std::map<std::string, std::unique_ptr<Node>> callees;

    Node &callee(const std::string &name) {
        std::unique_ptr<Node> &node = callees[name];
        if (node == nullptr) node = std::make_unique<Node>();
        node->summed.line.name = name;
        return *node;
    }
};

void grow(Node &root, const StackSum &sum, const Profile &profile) {
    const core::CallStack &stack = profile.stacks[sum.stack];
    std::vector<std::string> names;  // the outermost first
    if (stack.end != core::StackEnd::Outermost) names.push_back(fmt::format("({})", name(stack.end)));
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
        names.push_back(name_of(profile.frames[*frame]));
    if (std::string reason = frame_of(sum.reason); !reason.empty()) names.push_back(std::move(reason));
    if (names.empty()) names.emplace_back("(no stack)");
    Node *node = &root;
    for (std::size_t i = 0; i < names.size(); ++i) {
        node = &node->callee(names[i]);
        node->summed.add(sum, i + 1 == names.size());
    }
}

/// Appends the callees of a node, each followed by its own. Not recursive, as stacks may be deep.
void flatten(const Node &root, std::vector<Line> &lines) {
    std::vector<std::pair<const Node *, int>> left{{&root, -1}};  // the next one at the end
    while (!left.empty()) {
        const auto [node, depth] = left.back();
        left.pop_back();
        if (depth >= 0) {
            lines.push_back(node->summed.line);
            lines.back().depth = depth;
        }
        const auto first = static_cast<std::ptrdiff_t>(left.size());
        for (const auto &[name, callee] : node->callees)
            left.emplace_back(callee.get(), depth + 1);
        std::stable_sort(left.begin() + first, left.end(), [](const auto &a, const auto &b) {
            return is_larger(b.first->summed.line, a.first->summed.line);
        });
    }
}

}  // namespace

By by_of(std::string_view what) {
    if (what == "thread") return By::Thread;
    if (what == "reason") return By::Reason;
    if (what == "kernel") return By::Kernel;
    if (what == "file") return By::File;
    return what == "function" ? By::Function : By::Module;
}

std::vector<Line> lines(const Profile &profile, By by, const Of &of) {
    Lines lines;
    if (by == By::Thread) {
        add_threads(lines, profile, of);
    } else {
        for (const StackSum &sum : by_stack(profile, of))
            add_stack(lines, sum, profile, by);
    }
    if (const StackSum rest = unexplained(profile, of); rest.flow.size() > 0)
        lines.add(std::string(kNoSample), rest, true);
    return lines.sorted();
}

std::vector<Line> tree(const Profile &profile, const Of &of) {
    Node root;
    for (const StackSum &sum : by_stack(profile, of))
        grow(root, sum, profile);
    if (const StackSum rest = unexplained(profile, of); rest.flow.size() > 0)
        root.callee(std::string(kNoSample)).summed.add(rest, true);
    std::vector<Line> lines;
    flatten(root, lines);
    return lines;
}

}  // namespace rsslag::profile
