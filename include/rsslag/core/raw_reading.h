// SPDX-License-Identifier: BSD-2-Clause
// A reading of one process as it was taken, so that it can be judged again at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rsslag/core/reading.h"
#include "rsslag/core/reconcile.h"

namespace rsslag::core {

/// One pass of the iterator.
struct TimedCounters {
    CounterReading counters;
    std::uint64_t begin_ns = 0;  ///< CLOCK_MONOTONIC around it
    std::uint64_t end_ns = 0;
};

struct RawReading {
    int pid = 0;
    std::uint64_t start_ticks = 0;
    std::uint32_t uid = 0;  ///< real
    std::string comm;       ///< raw bytes
    std::int64_t threads_count = 0;
    int cpus_online = 0;       ///< then; 0: not told
    bool leader_gone = false;  ///< the main thread has ended: /proc/PID/stat, statm and status see no memory
    ReaderValues readers;
    std::optional<Kilobytes> hugetlb;  ///< which RSS does not count; of no recording
    Bracket bracket;                   ///< at least one reading
    Evidence evidence;                 ///< empty where nothing had to be explained
    std::uint64_t begin_ns = 0;        ///< CLOCK_MONOTONIC around the last reading of the bracket
    std::uint64_t end_ns = 0;
    std::uint64_t bracket_ns = 0;  ///< when the first one began

    /// The last of the bracket.
    const CounterReading &counters() const { return bracket.readings.back(); }
};

}  // namespace rsslag::core
