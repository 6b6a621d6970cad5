// SPDX-License-Identifier: BSD-2-Clause
// The pages of an mm by task: living threads, ended threads, and tasks of other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "exporters/row.h"
#include "report/report.h"

namespace rsslag::report {

/// The shares of one mm, from its ticks. The ended threads with the largest shares are kept separately, up to a limit;
/// the other ones remain in the sum `exited`.
class MmShares {
  public:
    void note(const exporters::TickRow &row);
    /// To be called after a loss. Widens the uncertainty of ended threads and sums that have had no later tick with a
    /// reading.
    void lost(std::uint64_t records);
    /// To be called when all losses up to this tick are known, so that its figures are final.
    void certify(std::uint64_t seq);
    /// Whether lost() would change anything.
    bool open() const { return !fresh_.empty() || sums_open_; }

    /// Appends to the process's threads and other tasks; returns the sums, without the listed threads.
    MmReport take_into(ReportProcess &process) const;

  private:
    struct Ended {
        ReportThread thread;
        std::uint64_t seq = 0;  ///< of the tick that listed it
    };
    using PeakCached = std::pair<std::optional<core::Pages>, std::uint64_t>;

    void note_living(const core::TaskNet &task, const exporters::TickRow &row);
    void note_ended(const core::EndedTask &ended, const exporters::TickRow &row);
    void keep(std::vector<ReportThread> &all, ReportThread thread) const;

    MmReport sums_;            ///< as of the last tick; `exited` includes all ended threads
    core::Pages others_more_;  ///< uncertainty by losses after the last tick
    std::vector<ReportThread> living_;
    std::vector<ReportThread> others_;  ///< as of the last tick
    std::vector<ReportThread> ended_, ended_others_;
    std::vector<Ended> fresh_;               ///< ended threads of ticks since the last tick with a reading
    std::map<int, PeakCached> peak_cached_;  ///< by host TID, `thread` scheme
    bool sums_open_ = false;
    std::uint64_t sums_seq_ = 0;
};

/// Sorts threads for output: by peak cached amount, then by net change, largest first.
void sort_by_weight(std::vector<ReportThread> &threads);

}  // namespace rsslag::report
