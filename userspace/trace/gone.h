// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rsslag/core/tick.h"

namespace rsslag::trace {

/// Processes that have ended: those that lagged most, the latest of equals, however many there were, and of the others
/// what they come to. The most that any held, cached or grew by is demanded of all (--assert), so whoever has it stays.
class Gone {
  public:
    /// `always`: it is kept however little it lagged.
    void add(core::Summary::Process process, bool always = false);
    /// To the summary, in the order in which they ended.
    void put(core::Summary &summary);

  private:
    struct Ended {
        core::Summary::Process process;
        std::uint64_t number = 0;
        bool always = false;
        bool foremost = false;  ///< in what somebody may demand something of
    };
    void leave_out(std::size_t most);
    void find_foremost();

    std::vector<Ended> kept_;
    std::uint64_t added_ = 0;
    core::Summary::LeftOut left_out_;
};

}  // namespace rsslag::trace
