// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tick.h"

namespace rsslag::analysis {

/// Keeps a bounded number of ended processes, those with the largest peak lag (among equals the latest), and sums up
/// the others. A condition of --assert applies to all processes. So the process with the maximum of each figure is
/// kept, too. The ten with the highest peaks are kept as well.
class Gone {
  public:
    /// `always`: keeps the process even if its lag was small.
    void add(core::Summary::Process process, bool always = false);
    /// Moves the processes to the summary, in the order in which they ended.
    void put(core::Summary &summary);

  private:
    struct Ended {
        core::Summary::Process process;
        std::uint64_t number = 0;
        bool always = false;
        bool extreme = false;  ///< has one of the highest peaks, or the maximum of a figure that --assert can use
    };
    void leave_out(std::size_t most);
    void mark_extreme();

    std::vector<Ended> kept_;
    std::uint64_t added_ = 0;
    core::Summary::LeftOut left_out_;
};

}  // namespace rsslag::analysis
