// SPDX-License-Identifier: BSD-2-Clause
// What a process held over time, record by record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rsslag/report/report.h"

namespace rsslag::report {

/// Keeps the least and the most of each span of time; spans grow as the recording does, so that few are kept.
class CourseBuilder {
  public:
    /// In the order of time.
    void add(std::uint64_t t_ns, const core::Held &held);
    std::vector<CourseSpan> take();

  private:
    void halve();

    std::uint64_t width_ns_ = 1024;
    std::vector<CourseSpan> spans_;
};

/// One of the columns into which a picture divides the time; nullopt: nothing is known then.
struct Column {
    core::Pages least, most, lag;  ///< of the rss, of the rss, the most
};
using Columns = std::vector<std::optional<Column>>;

/// Where no record comes, what was held before it holds.
Columns columns(const std::vector<CourseSpan> &course, std::uint64_t duration_ns, std::size_t count);

}  // namespace rsslag::report
