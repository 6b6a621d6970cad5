// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "rsslag/report/report.h"

namespace rsslag::report {

/// Lag over time in a few rows of characters, the largest of each column; nothing where no lag is known.
std::string lag_chart(const std::vector<LagPoint> &points, std::uint64_t duration_ns, const ReportStyle &style,
                      const core::PageSize &page_size);

}  // namespace rsslag::report
