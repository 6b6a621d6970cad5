// SPDX-License-Identifier: BSD-2-Clause
// What a process grew by, by the names of its mappings and by its threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/units.h"

namespace rsslag::core {

/// What came, less what went, with no fault of the process.
enum class NoFault : std::uint8_t {
    Populated,  ///< came: MAP_POPULATE, mlock, a read of the kernel's
    GivenUp,    ///< went: munmap, madvise, exit
    ByOthers,   ///< by tasks that are not of the process: reclaim, ptrace, KSM
    NotTold,    ///< what the records do not tell of: losses, amounts that stayed open, --mode counts
};
inline constexpr std::size_t kNoFaults = 4;
std::string_view name(NoFault why);
/// "by no fault: populated", as tables call it.
std::string_view describe(NoFault why);

/// Of the last seconds, as a screen shows it. Pages of rss: file, anon, shmem.
struct RecentGrowth {
    struct Mapping {
        std::string name;  ///< raw
        Pages came;        ///< at faults, less what went at them
    };
    struct Thread {
        int tid = 0;
        std::string comm;  ///< raw
        Pages came;        ///< at faults
    };
    std::uint64_t from_ns = 0;            ///< since the attach
    bool any_names = false;               ///< mappings are told of at all
    std::vector<Mapping> mappings;        ///< largest first
    std::vector<Thread> threads;          ///< likewise
    Pages other_mappings, other_threads;  ///< for which there is no row
    std::array<Pages, kNoFaults> no_fault{};

    /// The sum of all mappings, or of all threads, and of what came by no fault.
    Pages grew() const {
        Pages sum = other_mappings;
        for (const Mapping &each : mappings)
            sum += each.came;
        for (const Pages &pages : no_fault)
            sum += pages;
        return sum;
    }
};

}  // namespace rsslag::core
