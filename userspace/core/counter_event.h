// SPDX-License-Identifier: BSD-2-Clause
// What one record says of one counter of an mm, and what it leaves open.
#pragma once

#include <cstdint>
#include <optional>

#include "page_set.h"

namespace rsslag::core {

/// Numbers in place of a TID, which no task has: all ended tasks together, updates by an mm's own tasks during its
/// teardown, and, from kFirstLeaver down, each ended task with open updates.
inline constexpr int kEndedTid = 0, kTeardownTid = -1, kFirstLeaver = -2;

/// How a record's count was taken.
enum class CountRead : std::uint8_t {
    Later,   ///< `cpu` scheme: read by the program after the update; other CPUs may have folded in between
    AtOnce,  ///< `thread` scheme: what the atomic add itself returned
};

/// Times are certain bounds, never estimates: a CPU may be taken away at any moment.
struct CounterEvent {
    std::uint64_t begin_ns = 0;  ///< its update took effect no earlier
    std::uint64_t t_ns = 0;      ///< … and no later; its count was read no earlier
    std::uint64_t end_ns = 0;    ///< its count was read no later
    int cpu = 0;
    int tid = 0;
    std::int64_t count = 0;             ///< the mm's own counter, as read
    bool update = false;                ///< may have moved that counter; else its count is all that it tells
    PageSet moved;                      ///< of an update: what it may have moved the counter by
    std::optional<std::int64_t> usual;  ///< … and what such an update nearly always does
    std::int64_t before = 0;            ///< pages that the CPU cached before it: pages of the update = moved − before
    std::uint64_t ticket = 0;           ///< of an update: by what number its amount is told
    std::uint64_t number = 0;           ///< of this counter's events, from 1
    std::uint64_t follows = 0;          ///< number of the event of the same task that came before it, 0: none
};

/// Pages that moved the counter, or were brought: what is most likely, and the least and most that they may be.
struct Amount {
    std::int64_t least = 0, most = 0;
    std::int64_t likely = 0;
};

}  // namespace rsslag::core
