// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"

namespace rsslag::report {

/// Charts of rss and lag over time, each in a few rows of characters; empty for an empty course.
std::string text_charts(const std::vector<core::CourseSpan> &course, std::uint64_t duration_ns,
                        const ReportStyle &style, const core::PageSize &page_size);

}  // namespace rsslag::report
