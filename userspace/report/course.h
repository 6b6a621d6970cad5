// SPDX-License-Identifier: BSD-2-Clause
// The RSS of a process over time, from every record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "report/report.h"

namespace rsslag::report {

/// Keeps the lowest and the highest rss of each span of time. There are at most 2048 spans; their width doubles as
/// needed.
class CourseBuilder {
  public:
    /// Values must come in order of time.
    void add(std::uint64_t t_ns, const core::Held &held);
    /// Joins spans until there are at most that many.
    void limit(std::size_t most);
    std::size_t size() const { return spans_.size(); }
    std::vector<CourseSpan> take();

  private:
    std::uint64_t width_ns_ = 1024;
    std::vector<CourseSpan> spans_;
};

/// One column of a chart over time.
struct Column {
    core::Pages least, most, lag;  ///< lowest and highest rss, largest lag
};
/// An element is nullopt if the values of that time are unknown.
using Columns = std::vector<std::optional<Column>>;

/// Divides the time into `count` columns. A column between two records has the values of the earlier one; columns
/// before the first and after the last record are nullopt.
Columns columns(const std::vector<CourseSpan> &course, std::uint64_t duration_ns, std::size_t count);

}  // namespace rsslag::report
