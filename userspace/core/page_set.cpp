// SPDX-License-Identifier: BSD-2-Clause
#include "page_set.h"

#include <algorithm>
#include <cstdlib>

namespace rsslag::core {
namespace {

/// If there are more numbers than this, their hulls are used, because there would be too many choices of ranges.
constexpr std::size_t kMostExact = 3;

PageRange widened(const PageRange &a, const PageRange &b) {
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

/// All choices of one range for each number.
class Choices {
  public:
    Choices(std::span<const PageSet *const> numbers, std::int64_t sum) : sum_(sum), chosen_(numbers.size()) {
        for (const PageSet *const number : numbers) {
            if (numbers.size() <= kMostExact) {
                ranges_.emplace_back(number->ranges().begin(), number->ranges().end());
            } else {
                ranges_.push_back({number->hull()});
            }
        }
    }

    /// Calls `use` with each choice that allows the sum, and with its least and its greatest sum.
    template <class Use>
    void each(Use &&use) {
        next(0, 0, 0, use);
    }

  private:
    template <class Use>
    void next(std::size_t index, std::int64_t least, std::int64_t most, Use &use) {
        if (index == chosen_.size()) {
            if (sum_ >= least && sum_ <= most) use(std::span<const PageRange>(chosen_), least, most);
            return;
        }
        for (const PageRange &range : ranges_[index]) {
            chosen_[index] = range;
            next(index + 1, least + range.least, most + range.most, use);
        }
    }

    std::int64_t sum_;
    std::vector<std::vector<PageRange>> ranges_;
    std::vector<PageRange> chosen_;
};

}  // namespace

bool PageSet::has(std::int64_t pages) const {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [pages](const PageRange &range) { return pages >= range.least && pages <= range.most; });
}

std::optional<std::int64_t> PageSet::single() const {
    if (ranges_.empty()) return std::nullopt;
    const PageRange all = hull();
    return all.least == all.most ? std::optional(all.least) : std::nullopt;
}

PageRange PageSet::hull() const {
    PageRange all = ranges_.front();
    for (const PageRange &range : ranges_)
        all = widened(all, range);
    return all;
}

std::int64_t PageSet::nearest(std::int64_t pages) const {
    std::int64_t best = ranges_.front().least;
    for (const PageRange &range : ranges_) {
        const std::int64_t here = std::clamp(pages, range.least, range.most);
        if (std::abs(here - pages) < std::abs(best - pages)) best = here;
    }
    return best;
}

std::vector<PageRange> share_of_sum(std::span<const PageSet *const> numbers, std::span<const int> groups,
                                    int group_count, std::int64_t sum) {
    std::vector<PageRange> found;
    const std::size_t size = numbers.size();
    std::vector<PageRange> of_group(static_cast<std::size_t>(group_count));
    Choices(numbers, sum).each([&](std::span<const PageRange> chosen, std::int64_t least, std::int64_t most) {
        const bool first = found.empty();
        if (first) found.resize(size + of_group.size());
        const auto narrowed = [&](const PageRange &range) {
            return PageRange{std::max(range.least, sum - (most - range.most)),
                             std::min(range.most, sum - (least - range.least))};
        };
        std::fill(of_group.begin(), of_group.end(), PageRange{});
        for (std::size_t i = 0; i < size; ++i) {
            PageRange &group = of_group[static_cast<std::size_t>(groups[i])];
            group = {group.least + chosen[i].least, group.most + chosen[i].most};
            found[i] = first ? narrowed(chosen[i]) : widened(found[i], narrowed(chosen[i]));
        }
        for (std::size_t g = 0; g < of_group.size(); ++g) {
            PageRange &group = found[size + g];
            group = first ? narrowed(of_group[g]) : widened(group, narrowed(of_group[g]));
        }
    });
    return found;
}

std::vector<std::int64_t> choose_with_sum(std::span<const PageSet *const> numbers,
                                          std::span<const std::int64_t> preferred, std::int64_t sum) {
    std::vector<std::int64_t> best;
    std::int64_t least_off = 0;
    Choices(numbers, sum).each([&](std::span<const PageRange> chosen, std::int64_t least, std::int64_t most) {
        std::vector<std::int64_t> pages(chosen.size());
        std::int64_t left = sum;
        std::int64_t off = 0;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            least -= chosen[i].least;
            most -= chosen[i].most;
            // Limited by the part of the rest that the numbers after it can take.
            const std::int64_t lower = std::max(chosen[i].least, left - most);
            const std::int64_t upper = std::min(chosen[i].most, left - least);
            pages[i] = std::clamp(preferred[i], lower, upper);
            left -= pages[i];
            off += std::abs(pages[i] - preferred[i]);
        }
        if (!best.empty() && off >= least_off) return;
        least_off = off;
        best = std::move(pages);
    });
    return best;
}

}  // namespace rsslag::core
