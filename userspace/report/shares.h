// SPDX-License-Identifier: BSD-2-Clause
// Whose pages the pages of an mm are: of threads that live, of each that has ended, of other processes' tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "rsslag/report/report.h"
#include "rsslag/sinks/row.h"

namespace rsslag::report {

/// Of one mm, tick by tick. Threads that have ended are kept one by one up to a number, those that did most; the rest
/// is what is left of the sum of all.
class MmShares {
  public:
    void note(const sinks::TickRow &row);
    /// Adds to the uncertainty of ended threads and sums that no tick with a reading has followed yet.
    void lost(std::uint64_t records);
    /// All losses up to this tick are known.
    void certify(std::uint64_t seq);
    /// Whether lost() may concern anything of it.
    bool open() const { return !fresh_.empty() || sums_open_; }

    /// Appends to the process's threads and others; the rest as sums.
    MmReport take_into(ReportProcess &process) const;

  private:
    struct Ended {
        ReportThread thread;
        std::uint64_t seq = 0;  ///< of the tick that listed it
    };
    using PeakCached = std::pair<std::optional<core::Pages>, std::uint64_t>;

    void note_living(const core::TaskNet &task, const sinks::TickRow &row);
    void note_ended(const core::EndedTask &ended, const sinks::TickRow &row);
    void keep(std::vector<ReportThread> &all, ReportThread thread) const;

    MmReport sums_;            ///< as of the last tick; `exited` is of all that have ended
    core::Pages others_more_;  ///< uncertainty from losses after the last tick
    std::vector<ReportThread> living_;
    std::vector<ReportThread> others_;  ///< as of the last tick
    std::vector<ReportThread> ended_, ended_others_;
    std::vector<Ended> fresh_;               ///< reported by last ticks since the last tick with a reading
    std::map<int, PeakCached> peak_cached_;  ///< by the kernel's TID, `thread` scheme
    bool sums_open_ = false;
    std::uint64_t sums_seq_ = 0;
};

/// Threads in the order in which they are listed: largest peak of what they cached first, then most changed.
void sort_by_weight(std::vector<ReportThread> &threads);

}  // namespace rsslag::report
