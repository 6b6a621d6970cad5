// SPDX-License-Identifier: BSD-2-Clause
#include "growth.h"

#include <algorithm>
#include <cstdlib>

namespace rsslag::report {

std::vector<Growth> GrowthByAddress::ranges(const core::PageSize &page_size) const {
    // Thread stacks and malloc arenas are closer to each other than this; mappings of different kinds rarely are.
    constexpr std::uint64_t kGap = std::uint64_t{64} << 20;
    const auto within = static_cast<std::uint64_t>(page_size.bytes) - 1;
    std::vector<Growth> ranges;
    std::vector<Growth> steps;
    for (const auto &[step, growth] : steps_)
        steps.push_back(growth);
    std::sort(steps.begin(), steps.end(), [](const Growth &a, const Growth &b) { return a.from < b.from; });
    for (Growth &growth : steps) {
        growth.from &= ~within;
        growth.to = (growth.to | within) + 1;
        if (!ranges.empty() && growth.from - ranges.back().to < kGap) {
            ranges.back().to = growth.to;
            ranges.back().pages += growth.pages;
            ranges.back().updates += growth.updates;
        } else {
            ranges.push_back(growth);
        }
    }
    std::stable_sort(ranges.begin(), ranges.end(), [](const Growth &a, const Growth &b) { return a.pages > b.pages; });
    return ranges;
}

}  // namespace rsslag::report
