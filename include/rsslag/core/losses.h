// SPDX-License-Identifier: BSD-2-Clause
// Counts that the kernel side keeps, as whoever judges the stream is told them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rsslag::core {

/// Why something was lost: all causes that there are. "other" is what a recording names that this version does not
/// know.
inline constexpr std::array<std::string_view, 5> kLossCauses{"ring_full", "recursion", "no_room", "recording", "other"};

/// The cause of that name, else "other": names come from files, and are printed.
inline std::string_view loss_cause(std::string_view name) {
    const auto *const found = std::find(kLossCauses.begin(), kLossCauses.end(), name);
    return found == kLossCauses.end() ? kLossCauses.back() : *found;
}

/// What has been sent and lost since the attach, all CPUs together. sent == received + lost, once everything has been
/// drained.
struct Losses {
    std::uint64_t sent = 0;  ///< records that programs wanted to send
    /// By cause, of kLossCauses; those of the kernel side are there also at 0: "ring_full", "recursion" (a program was
    /// skipped because it was preempted by itself; what it would have sent is in no count), "no_room" (a process or
    /// thread could not be followed). A recording that lacks something adds "recording".
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
