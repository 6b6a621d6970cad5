// SPDX-License-Identifier: BSD-2-Clause
// The highest that a command's memory was: rsslag peak. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/tick.h"
#include "rsslag/report/report.h"

namespace rsslag::report {

struct PeakReport {
    std::vector<std::string> command;
    int pid = 0;                             ///< of CMD
    int status = 0;                          ///< as shells give it
    std::optional<int> signal;               ///< that ended it
    std::optional<std::int64_t> max_rss_kb;  ///< ru_maxrss of its wait4(2): sampled, and of its children, too
    core::Summary summary;
    std::vector<ClaimResult> claims;
};

/// What a trace came to without a recording of it: figures, and what --assert may demand of them.
/// `follow`: children were traced, too.
Report report_of(const core::Summary &summary, bool follow);

/// rsslag.peak/1 as docs/schema/peak.schema.json has it, one line, with a newline.
std::string peak_json(const PeakReport &peak);
/// `tree`: a line for each process, too.
std::string peak_text(const PeakReport &peak, const ReportStyle &style, bool tree);

}  // namespace rsslag::report
