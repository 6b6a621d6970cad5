// SPDX-License-Identifier: BSD-2-Clause
#include "gone.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace rsslag::analysis {
namespace {

constexpr std::size_t kMostKept = 2000;

using Process = core::Summary::Process;

/// A figure of a process. The process with the largest value is kept. The memory of a fork before its first exec (image
/// 0) belonged to its parent's program, so own() ranks it last.
using Rank = double (*)(const Process &);
using MemberRank = double (*)(const Process &, core::Member);

double own(const Process &process, core::Pages pages) {
    constexpr double kLess = -1e18;
    return process.extremes.image == 0 ? kLess : static_cast<double>(pages.n);
}

double grown(const Process &process, core::Member member) {
    return own(process, process.extremes.grown[member]);
}

double cached(const Process &process, core::Member member) {
    return static_cast<double>(process.extremes.cached_most[member].n);
}

double lag_share(const Process &process) {
    const core::Extremes &extremes = process.extremes;
    // lag% is not evaluated below 1 MiB of RSS; a page has at least 4 KiB.
    constexpr std::int64_t kLeastPages = 256;
    if (extremes.lag_rss.n < kLeastPages) return 0;
    return static_cast<double>(extremes.lag.n) / static_cast<double>(extremes.lag_rss.n);
}

constexpr std::array<Rank, 5> kRanks{[](const Process &process) { return own(process, process.extremes.most.to); },
                                     [](const Process &process) { return own(process, process.extremes.most.from); },
                                     [](const Process &process) { return own(process, process.extremes.grown_rss); },
                                     lag_share,
                                     [](const Process &process) { return process.extremes.lossy ? 1.0 : 0.0; }};
/// Figures of each member.
constexpr std::array<MemberRank, 2> kMemberRanks{grown, cached};

}  // namespace

void Gone::add(core::Summary::Process process, bool always) {
    kept_.push_back({std::move(process), added_++, always, false});
    if (kept_.size() >= 2 * kMostKept) leave_out(kMostKept);
}

void Gone::find_foremost() {
    for (Ended &each : kept_)
        each.foremost = false;
    const auto mark = [this](const auto &rank) {
        std::max_element(kept_.begin(), kept_.end(), [&rank](const Ended &a, const Ended &b) {
            return rank(a.process) < rank(b.process);
        })->foremost = true;
    };
    std::ranges::for_each(kRanks, mark);
    for (const MemberRank rank : kMemberRanks) {
        for (const core::Member member : core::kAllMembers)
            mark([rank, member](const Process &process) { return rank(process, member); });
    }
}

void Gone::leave_out(std::size_t most) {
    if (kept_.size() <= most) return;
    find_foremost();
    const auto rest = kept_.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(kept_.begin(), rest, kept_.end(), [](const Ended &a, const Ended &b) {
        const bool keep_a = a.always || a.foremost;
        const bool keep_b = b.always || b.foremost;
        return std::tie(keep_b, b.process.extremes.lag, b.number) < std::tie(keep_a, a.process.extremes.lag, a.number);
    });
    for (auto each = rest; each != kept_.end(); ++each) {
        left_out_.processes++;
        left_out_.programs += each->process.extremes.image != 0 ? 1 : 0;
        left_out_.peak_lag = std::max(left_out_.peak_lag, each->process.extremes.lag);
        left_out_.approximate = left_out_.approximate || each->process.extremes.approximate();
        for (const auto &[verdict, ticks] : each->process.verdicts)
            left_out_.verdicts[verdict] += ticks;
    }
    kept_.erase(rest, kept_.end());
}

void Gone::put(core::Summary &summary) {
    leave_out(kMostKept);
    std::sort(kept_.begin(), kept_.end(), [](const Ended &a, const Ended &b) { return a.number < b.number; });
    for (Ended &each : kept_)
        summary.processes.push_back(std::move(each.process));
    summary.left_out = left_out_;
    kept_.clear();
}

}  // namespace rsslag::analysis
