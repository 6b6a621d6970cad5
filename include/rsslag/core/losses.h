// SPDX-License-Identifier: BSD-2-Clause
// Counts that the kernel side keeps, as whoever judges the stream is told them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/units.h"

namespace rsslag::core {

/// Why something was lost: all causes that there are. "other" is what a recording names that this version does not
/// know.
inline constexpr std::array<std::string_view, 7> kLossCauses{"ring_full",  "recursion", "no_room", "malformed",
                                                             "unreadable", "recording", "other"};

/// The cause of that name, else "other": names come from files, and are printed.
inline std::string_view loss_cause(std::string_view name) {
    const auto *const found = std::find(kLossCauses.begin(), kLossCauses.end(), name);
    return found == kLossCauses.end() ? kLossCauses.back() : *found;
}

/// What has been sent and lost since the attach, all CPUs together. sent == received + lost(), always, once everything
/// has been drained.
struct Losses {
    std::uint64_t sent = 0;  ///< records that programs sent, traced to send, or would have sent
    /// By cause, of kLossCauses; those of the kernel side are there also at 0: "ring_full", "recursion" (a program was
    /// skipped because it was preempted by itself: counted as one record), "no_room" (a process or thread could not be
    /// followed: counted as one record), "malformed" (what came is no record that this version knows). "unreadable" is
    /// added where the kernel does not tell how much was lost, "recording" by a recording that lacks something.
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

/// What the kernel took for the most that a process held, as it ended: sampled, of counters that lag.
struct EndFigures {
    Pages max_rss;                    ///< as ru_maxrss: of all programs that it has run, and of who made it
    std::optional<Pages> high_water;  ///< as VmHWM: of the last mm; nullopt: it had left that
};

}  // namespace rsslag::core
