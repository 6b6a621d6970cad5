// SPDX-License-Identifier: BSD-2-Clause
// Counts that the kernel side keeps, as whoever judges the stream is told them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace rsslag::core {

/// What has been sent and lost since the attach, all CPUs together. sent == received + lost, once everything has been
/// drained.
struct Losses {
    std::uint64_t sent = 0;  ///< records that programs wanted to send
    /// By cause; every cause is there, also at 0: "ring_full", "recursion" (a program was skipped because it was
    /// preempted by itself; what it would have sent is in no count), "no_room" (a process or thread could not be
    /// followed). A recording that lacks something adds "recording".
    std::map<std::string, std::uint64_t> by_cause;

    std::uint64_t lost() const {
        std::uint64_t sum = 0;
        for (const auto &[cause, count] : by_cause)
            sum += count;
        return sum;
    }
};

struct FaultCounts {
    std::uint64_t user = 0;    ///< exceptions:page_fault_user
    std::uint64_t kernel = 0;  ///< exceptions:page_fault_kernel
};

}  // namespace rsslag::core
