// SPDX-License-Identifier: BSD-2-Clause
// Losses and other counts that the BPF programs keep.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace rsslag::core {

/// All causes of a loss. "other": a cause in a recording whose name this version does not have.
inline constexpr std::array<std::string_view, 7> kLossCauses{"ring_full",  "recursion", "no_room", "malformed",
                                                             "unreadable", "recording", "other"};

/// The cause with this name, else "other". Names from files must not be printed unchecked.
inline std::string_view loss_cause(std::string_view name) {
    const auto *const found = std::find(kLossCauses.begin(), kLossCauses.end(), name);
    return found == kLossCauses.end() ? kLossCauses.back() : *found;
}

/// Records sent and lost since the attach, on all CPUs. When all rings are empty, sent == received + lost().
struct Losses {
    std::uint64_t sent = 0;  ///< records that BPF programs sent or failed to send
    /// Lost records by cause, one of kLossCauses. Always present, even if 0: "ring_full"; "recursion" (the kernel
    /// skipped a run of a program, since another run of it was active on that CPU; counted as one record); "no_room" (a
    /// map had no space to follow a process or thread; counted as one record); "malformed" (a record that this version
    /// cannot parse, or of a counter that it does not know). Present only if they occur: "unreadable" (the kernel did
    /// not return a program's recursion_misses), "recording" (the recording lacks records).
    std::map<std::string, std::uint64_t> by_cause;

    std::uint64_t lost() const {
        std::uint64_t sum = 0;
        for (const auto &[cause, count] : by_cause)
            sum += count;
        return sum;
    }
};

/// Faults of a task, by the tracepoint that counted them.
struct FaultCounts {
    std::uint64_t user = 0;    ///< exceptions:page_fault_user
    std::uint64_t kernel = 0;  ///< exceptions:page_fault_kernel
};

/// The kernel's own figures for the highest rss of a process, read when it ended. The kernel samples lagging counters
/// for them.
struct EndFigures {
    /// As ru_maxrss: the highest rss of all its programs, including what a fork held before its first exec (fs/exec.c
    /// setmax_mm_hiwater_rss).
    Pages max_rss;
    std::optional<Pages> high_water;  ///< as VmHWM, of its last mm; nullopt: the process had left its mm by then
};

}  // namespace rsslag::core
