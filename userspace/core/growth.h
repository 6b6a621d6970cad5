// SPDX-License-Identifier: BSD-2-Clause
// The growth of a process, by the names of its mappings and by its threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/course.h"
#include "core/units.h"

namespace rsslag::core {

/// Why pages came or went without a page fault of the process.
enum class NoFault : std::uint8_t {
    Populated,    ///< came: MAP_POPULATE, mlock, access by the kernel
    GivenUp,      ///< went: munmap, madvise, exit
    ByOthers,     ///< by tasks of other processes: reclaim, ptrace, KSM
    NotRecorded,  ///< records do not determine it: losses, updates whose amount is unknown, --mode counts
};
inline constexpr std::size_t kNoFaults = 4;
/// As in JSON.
std::string_view name(NoFault why);
/// "no fault: populated", as tables print it.
std::string_view describe(NoFault why);

/// Growth in the last seconds, for a screen. Pages of rss: file, anon, shmem.
struct RecentGrowth {
    struct Mapping {
        std::string name;  ///< raw bytes
        Pages came;        ///< pages that faults added, minus pages that went at faults
    };
    struct Thread {
        int tid = 0;
        std::string comm;  ///< raw bytes
        Pages came;        ///< as Mapping::came, at faults of this thread
    };
    std::uint64_t from_ns = 0;            ///< since the attach
    bool any_names = false;               ///< there is information about mappings
    std::vector<Mapping> mappings;        ///< largest first
    std::vector<Thread> threads;          ///< largest first
    Pages other_mappings, other_threads;  ///< sums of those that have no entry above
    std::array<Pages, kNoFaults> no_fault{};
    std::vector<CourseSpan> course;  ///< since the last tick; times since the attach
    /// Whose pages a CPU caches: those of the threads that have updated the counter there since its last fold.
    struct Owner {
        int cpu = 0;
        int tid = 0;
        std::string comm;  ///< raw bytes
        Pages pages;       ///< of the members of rss
    };
    std::vector<Owner> owners;  ///< `cpu` scheme: by CPU, and of each the three largest

    /// Pages from faults, summed over mappings, plus pages without a fault. The sum over threads is the same.
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
