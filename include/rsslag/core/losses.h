// SPDX-License-Identifier: BSD-2-Clause
// Losses and other counts that the kernel side keeps, as the analyzer gets them.
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

/// All causes of a loss. "other": a cause in a recording that this version has no name for.
inline constexpr std::array<std::string_view, 7> kLossCauses{"ring_full",  "recursion", "no_room", "malformed",
                                                             "unreadable", "recording", "other"};

/// The cause with this name, else "other": names come from files and are printed.
inline std::string_view loss_cause(std::string_view name) {
    const auto *const found = std::find(kLossCauses.begin(), kLossCauses.end(), name);
    return found == kLossCauses.end() ? kLossCauses.back() : *found;
}

/// What was sent and lost since the attach, on all CPUs. Once everything has been drained, sent == received + lost().
struct Losses {
    std::uint64_t sent = 0;  ///< records that programs sent or failed to send
    /// By cause, of kLossCauses. Always present, even if 0: "ring_full"; "recursion" (a run was skipped, since another
    /// run of the same program was under way on that CPU; counted as one record); "no_room" (a process or thread could
    /// not be followed; counted as one record); "malformed" (a record that this version does not understand). Present
    /// only if it occurs: "unreadable" (the kernel does not report how much was lost), "recording" (the recording lacks
    /// something).
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

/// The kernel's own figures for the highest rss of a process, read as it ended. They are sampled from lagging counters.
struct EndFigures {
    /// Like ru_maxrss: of all its programs, and of what it had from its parent before its first exec (fs/exec.c
    /// setmax_mm_hiwater_rss).
    Pages max_rss;
    std::optional<Pages> high_water;  ///< like VmHWM, of its last mm; nullopt: the process had left its mm by then
};

}  // namespace rsslag::core
