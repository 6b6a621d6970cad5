// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/extreme_processes.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace rsslag::exporters {
namespace {

/// A figure of a process. The process with the largest value is kept. The memory of a fork before its first exec (image
/// 0) belonged to its parent's program, so own_amount() ranks it last.
using Rank = double (*)(const core::Extremes &);
using MemberRank = double (*)(const core::Extremes &, core::Member);

double own_amount(const core::Extremes &extremes, core::Pages pages) {
    constexpr double kLess = -1e18;
    return extremes.image == 0 ? kLess : static_cast<double>(pages.n);
}

double grown(const core::Extremes &extremes, core::Member member) {
    return own_amount(extremes, extremes.grown[member]);
}

double cached(const core::Extremes &extremes, core::Member member) {
    return static_cast<double>(extremes.cached_most[member].n);
}

double lag_share(const core::Extremes &extremes) {
    // lag% is not evaluated below 1 MiB of RSS: 256 pages on x86.
    constexpr std::int64_t kLeastPages = 256;
    if (extremes.lag_rss.n < kLeastPages) return 0;
    return static_cast<double>(extremes.lag.n) / static_cast<double>(extremes.lag_rss.n);
}

constexpr std::array<Rank, 5> kRanks{
    [](const core::Extremes &extremes) { return own_amount(extremes, extremes.most.to); },
    [](const core::Extremes &extremes) { return own_amount(extremes, extremes.most.from); },
    [](const core::Extremes &extremes) { return own_amount(extremes, extremes.grown_rss); }, lag_share,
    [](const core::Extremes &extremes) { return extremes.lossy ? 1.0 : 0.0; }};
/// The processes of a table.
constexpr std::size_t kHighestPeaks = 10;
/// Figures of each member.
constexpr std::array<MemberRank, 2> kMemberRanks{grown, cached};

}  // namespace

std::set<std::size_t> extreme_processes(const std::vector<const core::Extremes *> &all) {
    std::set<std::size_t> positions;
    const auto mark = [&](const auto &rank) {
        const auto most =
            std::max_element(all.begin(), all.end(),
                             [&rank](const core::Extremes *a, const core::Extremes *b) { return rank(*a) < rank(*b); });
        positions.insert(static_cast<std::size_t>(most - all.begin()));
    };
    std::ranges::for_each(kRanks, mark);
    for (const MemberRank rank : kMemberRanks) {
        for (const core::Member member : core::kAllMembers)
            mark([rank, member](const core::Extremes &extremes) { return rank(extremes, member); });
    }
    // A table has those with the highest peaks.
    std::vector<std::size_t> by_peak;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i]->image != 0) by_peak.push_back(i);
    const auto rest = by_peak.begin() + static_cast<std::ptrdiff_t>(std::min(kHighestPeaks, by_peak.size()));
    std::partial_sort(by_peak.begin(), rest, by_peak.end(), [&all](std::size_t a, std::size_t b) {
        return std::tie(all[b]->most.to, a) < std::tie(all[a]->most.to, b);
    });
    positions.insert(by_peak.begin(), rest);
    return positions;
}

}  // namespace rsslag::exporters
