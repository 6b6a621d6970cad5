// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace rsslag::analysis {

/// When a loop over records looks for a signal, a reader or the time, which takes system calls: at its first step, and
/// then after 64 steps or after some work.
class CheckInterval {
  public:
    /// `work`: as Replay::work().
    bool is_due(std::uint64_t work) {
        constexpr unsigned kSteps = 64;
        constexpr std::uint64_t kWork = 64 * 1024;
        if (steps_++ % kSteps != 0 && work < work_ + kWork) return false;
        work_ = work;
        return true;
    }

  private:
    unsigned steps_ = 0;
    std::uint64_t work_ = 0;
};

}  // namespace rsslag::analysis
