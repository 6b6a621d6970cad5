// SPDX-License-Identifier: BSD-2-Clause
// The RSS of a process over time, from every record. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ledger.h"

namespace rsslag::core {

/// What a process held during a span of time, computed from every record in it.
struct CourseSpan {
    std::uint64_t t_ns = 0;  ///< of its first record
    Pages least, most;       ///< of the exact rss
    Pages lag;               ///< the largest
    Held last;               ///< after its last record
};

/// Keeps the lowest and the highest rss of each span of time. The width of the spans doubles as needed.
class CourseBuilder {
  public:
    /// `width_ns`: of the spans at first; not 0. `most`: spans.
    explicit CourseBuilder(std::uint64_t width_ns = 1024, std::size_t most = 2048)
        : first_width_ns_(width_ns), most_(most) {}

    /// Values must come in order of time.
    void add(std::uint64_t t_ns, const Held &held);
    /// Joins spans until there are at most that many.
    void limit(std::size_t most);
    std::size_t size() const { return spans_.size(); }
    /// The spans since the last call. Later ones have the first width again.
    std::vector<CourseSpan> take();

  private:
    std::uint64_t first_width_ns_;
    std::size_t most_;
    std::uint64_t width_ns_ = first_width_ns_;
    std::vector<CourseSpan> spans_;
};

/// One column of a chart over time.
struct CourseColumn {
    Pages least, most, lag;  ///< lowest and highest rss, largest lag
};
/// An element is nullopt if the values of that time are unknown.
using CourseColumns = std::vector<std::optional<CourseColumn>>;

/// Divides the time into `count` columns. A column between two records has the values of the earlier one; columns
/// before the first and after the last record are nullopt.
CourseColumns course_columns(const std::vector<CourseSpan> &course, std::uint64_t duration_ns, std::size_t count);

}  // namespace rsslag::core
