// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
    /// those without any reading. What they held and did until then is not known.
    std::uint64_t processes_read_late = 0, processes_unread = 0;
    /// Processes that matched a pattern and were not traced for a time, although they existed.
    std::uint64_t processes_not_traced = 0;
    /// Why not, of the first of them, or why a search for such processes failed.
    std::optional<std::string> not_traced_reason;

    /// Whether these totals and the figures of processes may be too low for another reason than lost records.
    bool missed() const { return processes_read_late + processes_unread > 0 || not_traced_reason; }
    /// Whether the counts are lower bounds.
    bool at_least() const { return lost > 0 || missed(); }
};

/// "the first reading of 2 processes came after the exec, there is no reading of 1 process, 3 processes were traced
/// for only a part of the time: cannot ..."; empty if nothing was missed.
std::string missed_text(const Totals &totals);

}  // namespace rsslag::core
