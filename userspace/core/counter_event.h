// SPDX-License-Identifier: BSD-2-Clause
// One record's evidence about one counter of an mm.
#pragma once

#include <cstdint>
#include <optional>

#include "page_set.h"

namespace rsslag::core {

/// Numbers in place of a TID. No task has such a TID. The first stands for all ended tasks together, the second for
/// updates by an mm's own tasks during its teardown. The numbers from kFirstFormerTask downwards stand for ended tasks
/// with open updates, one for each.
inline constexpr int kEndedTid = 0, kTeardownTid = -1, kFirstFormerTask = -2;

/// The longest time from an update to its record on the `cpu` scheme. The kernel makes both while it holds the lock of
/// a page table (mm/memory.c), so only interrupts come between, which take 20 us. Not taken into account: a hypervisor
/// that takes the CPU away just then, and softirqs that take longer.
inline constexpr std::uint64_t kLongestDelayNs = 1'000'000;

/// How a record's count was taken.
enum class CountRead : std::uint8_t {
    Later,   ///< `cpu` scheme: read by the BPF program after the update; other CPUs may have folded in between
    AtOnce,  ///< `thread` scheme: returned by the atomic add itself
};

/// Times are bounds, not estimates: a CPU may be interrupted or stolen between any two steps.
struct CounterEvent {
    std::uint64_t begin_ns = 0;  ///< the update took effect at this time or later
    std::uint64_t t_ns = 0;      ///< the update took effect by this time; the count was read at this time or later
    std::uint64_t end_ns = 0;    ///< the count was read by this time
    int cpu = 0;
    int tid = 0;
    std::int64_t count = 0;             ///< the mm's own counter, as read
    bool update = false;                ///< may have moved that counter; false: only the count is evidence
    PageSet moved;                      ///< of an update: the possible moves of the counter
    std::optional<std::int64_t> usual;  ///< of an update: the move of nearly all such updates
    std::int64_t before = 0;    ///< pages that the CPU cached before; the update's own pages are moved − before
    std::uint64_t ticket = 0;   ///< of an update: the number by which its amount is reported
    std::uint64_t number = 0;   ///< among this counter's events, from 1
    std::uint64_t follows = 0;  ///< number of the task's previous event, 0: none
};

/// Pages that moved the counter, or that an update brought: the bounds and the most likely number.
struct Amount {
    std::int64_t least = 0, most = 0;
    std::int64_t likely = 0;
};

}  // namespace rsslag::core
