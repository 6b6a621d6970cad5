// SPDX-License-Identifier: BSD-2-Clause
#include "profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace rsslag::profile {
namespace {

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

void Flow::add(core::Pages pages) {
    const std::int64_t n = std::clamp(pages.n, -core::kMostPagesOfMm, core::kMostPagesOfMm);
    (n < 0 ? went : came) += std::abs(n);
}

Flow &Flow::operator+=(const Flow &other) {
    came += other.came;
    went += other.went;
    resident += other.resident;
    unknown += other.unknown;
    samples += other.samples;
    return *this;
}

const ThreadFlow *Profile::thread(int pid, int tid) const {
    const auto found = std::lower_bound(
        threads.begin(), threads.end(), std::pair(pid, tid),
        [](const ThreadFlow &each, const std::pair<int, int> &key) { return std::pair(each.pid, each.tid) < key; });
    return found != threads.end() && found->pid == pid && found->tid == tid ? &*found : nullptr;
}

const MappingStack *Profile::mapping(std::uint64_t mm, std::string_view name) const {
    const std::pair<std::uint64_t, std::string_view> key{mm, name};
    const auto key_of = [](const MappingStack &each) {
        return std::pair<std::uint64_t, std::string_view>(each.mm, each.mapping);
    };
    const auto found = std::ranges::lower_bound(mappings, key, {}, key_of);
    return found != mappings.end() && key_of(*found) == key ? &*found : nullptr;
}

std::vector<StackSum> by_stack(const Profile &profile, const Of &of) {
    struct Parts {
        Flow flow;
        std::set<int> tids;
    };
    std::map<std::pair<std::size_t, Reason>, Parts> all;
    for (const StackFlow &each : profile.flows) {
        if (!of.includes(each.pid, each.tid)) continue;
        Parts &parts = all[{each.stack, each.reason}];
        parts.flow += each.flow;
        parts.tids.insert(each.tid);
    }
    std::vector<StackSum> sums;
    sums.reserve(all.size());
    for (const auto &[key, parts] : all)
        sums.push_back({key.first, key.second, parts.flow, {parts.tids.begin(), parts.tids.end()}});
    std::stable_sort(sums.begin(), sums.end(),
                     [](const StackSum &a, const StackSum &b) { return a.flow.size() > b.flow.size(); });
    return sums;
}

StackSum unexplained(const Profile &profile, const Of &of) {
    StackSum sum;
    std::set<int> tids;
    for (const ThreadFlow &thread : profile.threads) {
        if (!of.includes(thread.pid, thread.tid)) continue;
        sum.flow += thread.unexplained;
        if (thread.unexplained.size() > 0) tids.insert(thread.tid);
    }
    sum.tids.assign(tids.begin(), tids.end());
    return sum;
}

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

std::string frame_of(Reason reason) {
    if (reason == Reason::PageFault || reason == Reason::Unknown) return "";
    return fmt::format("[{}]", name(reason));
}

std::string name_of(const core::StackFrame &frame) {
    if (!frame.function.empty()) return frame.function;
    if (!frame.file.empty()) return fmt::format("[{}]", last_part(frame.file));
    return "(unknown)";
}

std::string resident_text(const Flow &flow, const std::string &amount, bool utf8) {
    if (flow.unknown == 0) return amount;
    if (flow.unknown == flow.came) return utf8 ? "–" : "-";
    return (utf8 ? "≥" : ">=") + amount;
}

std::string innermost(const Profile &profile, std::size_t stack, std::size_t most) {
    const std::vector<std::uint32_t> &frames = profile.stacks[stack].frames;
    std::string text;
    for (std::size_t i = 0; i < frames.size() && i < most; ++i)
        text += (i == 0 ? "" : " < ") + name_of(profile.frames[frames[i]]);
    return text.empty() ? "(no stack)" : text;
}

std::string most_by(const Profile &profile, const MappingStack &mapping) {
    constexpr std::size_t kFrames = 4;
    return fmt::format("{:.0f} % by {}", 100 * mapping.share, innermost(profile, mapping.stack, kFrames));
}

/// Each part is rounded down; the rest goes, one each, to those that lost most by this.
std::vector<std::int64_t> apportion(std::int64_t whole, const std::vector<double> &weights) {
    std::vector<std::int64_t> parts(weights.size());
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (sum <= 0) return parts;
    std::int64_t left = whole;
    std::vector<std::pair<double, std::size_t>> remainders;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double exact = static_cast<double>(whole) * (weights[i] / sum);
        parts[i] = std::min(left, static_cast<std::int64_t>(std::floor(exact)));
        left -= parts[i];
        remainders.emplace_back(exact - std::floor(exact), i);
    }
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const auto &a, const auto &b) { return a.first > b.first; });
    for (std::size_t i = 0; i < remainders.size() && left > 0; ++i, --left)
        parts[remainders[i].second]++;
    parts[remainders.front().second] += left;  // not 0 only if a double cannot represent `whole`
    return parts;
}

}  // namespace rsslag::profile
