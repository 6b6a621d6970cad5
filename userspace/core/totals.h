// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace rsslag::core {

/// Totals of a trace over all mms. The summary, the end of a recording and a report contain them.
struct Totals {
    std::uint64_t records = 0;  ///< received by rsslag
    std::uint64_t emitted = 0;  ///< counted in the kernel: records + lost
    std::uint64_t lost = 0;
    std::map<std::string, std::uint64_t> lost_by;
    std::uint64_t updates = 0, updates_by_others = 0, faults = 0, flushes = 0;
    std::map<std::string, std::uint64_t> flush_reasons;
    std::uint64_t resyncs = 0, disagreements = 0;
    /// Processes that matched a pattern by an exec during the trace: those whose first reading came after updates, and
    /// those that ended before it. What they held and did until then is not known.
    std::uint64_t processes_read_late = 0, processes_unread = 0;
};

/// "the first reading of 2 processes came after the exec, 1 process ended before the first reading"; empty if neither.
std::string missed_text(const Totals &totals);

}  // namespace rsslag::core
