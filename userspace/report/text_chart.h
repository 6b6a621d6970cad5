// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rsslag/report/report.h"

namespace rsslag::report {

/// Rss and lag over time in a few rows of characters each; nothing where nothing is known.
std::string text_charts(const std::vector<CourseSpan> &course, std::uint64_t duration_ns, const ReportStyle &style,
                        const core::PageSize &page_size);

}  // namespace rsslag::report
