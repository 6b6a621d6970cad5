// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rsslag::core {

/// A closed range of pages.
struct PageRange {
    std::int64_t least = 0, most = 0;

    friend bool operator==(const PageRange &, const PageRange &) = default;
};

/// The possible values of a number of pages: closed ranges, in the order in which they were added.
class PageSet {
  public:
    PageSet() = default;
    PageSet(std::initializer_list<PageRange> ranges) : ranges_(ranges) {}
    /// The set of this number only.
    static PageSet only(std::int64_t pages) { return {{pages, pages}}; }

    void add(PageRange range) {
        if (range.least <= range.most) ranges_.push_back(range);
    }
    bool has(std::int64_t pages) const;
    bool empty() const { return ranges_.empty(); }
    /// The only number in the set; nullopt if there are several or none.
    std::optional<std::int64_t> single() const;
    /// The range from the least to the most number. The set must not be empty.
    PageRange hull() const;
    /// The number in the set that is nearest to `pages`. The set must not be empty.
    std::int64_t nearest(std::int64_t pages) const;
    std::span<const PageRange> ranges() const { return ranges_; }

  private:
    std::vector<PageRange> ranges_;
};

/// The range of each of several numbers whose sum is known; empty if no choice of numbers has that sum. `groups`: the
/// group of each number. The result also contains the range of each group's sum, at index numbers.size() + group.
std::vector<PageRange> share_of_sum(std::span<const PageSet *const> numbers, std::span<const int> groups,
                                    int group_count, std::int64_t sum);

/// One choice of numbers with that sum, close to the preferred numbers; empty if there is none.
std::vector<std::int64_t> choose_with_sum(std::span<const PageSet *const> numbers,
                                          std::span<const std::int64_t> preferred, std::int64_t sum);

}  // namespace rsslag::core
