// SPDX-License-Identifier: BSD-2-Clause
// The peak memory of a command: `rsslag peak`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tick.h"
#include "report/report.h"

namespace rsslag::report {

struct PeakReport {
    std::vector<std::string> command;
    int pid = 0;                             ///< of the command
    std::optional<int> status;               ///< as shells show it; nullopt: rsslag was stopped before it ended
    std::optional<int> signal;               ///< the signal that killed it
    std::optional<std::int64_t> max_rss_kb;  ///< ru_maxrss of wait4(2): sampled, includes waited-for children
    core::Summary summary;
    std::vector<ClaimResult> claims;
};

/// A Report with the figures of a trace that was not recorded, for --assert. `follow`: children were traced too.
Report report_of(const core::Summary &summary, bool follow);

/// rsslag.peak/1, see docs/schema/peak.schema.json: one line with a newline.
std::string peak_json(const PeakReport &peak);
/// `tree`: with a line for each process.
std::string peak_text(const PeakReport &peak, const ReportStyle &style, bool tree);

}  // namespace rsslag::report
