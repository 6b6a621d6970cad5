// SPDX-License-Identifier: BSD-2-Clause
// A reading of one process before reconcile(), so that a recording can reconcile it later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/reading.h"
#include "core/reconcile.h"

namespace rsslag::core {

/// A change at most this many nanoseconds before or after a reading may still be part of it.
inline constexpr std::uint64_t kReadingMarginNs = 1'000'000;

/// One pass of the iterator.
struct TimedCounters {
    CounterReading counters;
    std::uint64_t begin_ns = 0;  ///< CLOCK_MONOTONIC before the pass
    std::uint64_t end_ns = 0;
};

/// The result of Snapshotter::take_raw().
struct RawReading {
    int pid = 0;
    std::uint64_t start_ticks = 0;
    std::uint64_t started_ns = 0;  ///< CLOCK_MONOTONIC, as of records; 0: not recorded
    std::uint32_t uid = 0;         ///< real
    std::string comm;              ///< raw bytes
    int ppid = 0;  ///< of the parent process; 0: it is not visible in rsslag's PID namespace, or not recorded
    std::string command_line;  ///< raw bytes, arguments separated by spaces; empty: not read, or not recorded
    std::int64_t threads_count = 0;
    int cpus_online = 0;       ///< at the time of the reading; 0: not recorded
    bool leader_gone = false;  ///< the main thread has ended: /proc/PID/stat, statm and status show no memory
    ReaderValues readers;
    std::optional<Kilobytes> hugetlb;  ///< not part of RSS; recordings do not contain it
    Bracket bracket;                   ///< at least one reading
    Evidence evidence;                 ///< empty if counters and walk agree
    std::uint64_t begin_ns = 0;        ///< CLOCK_MONOTONIC before the last reading of the bracket
    std::uint64_t end_ns = 0;
    std::uint64_t bracket_ns = 0;  ///< CLOCK_MONOTONIC before the first reading of the bracket

    /// The last reading of the bracket.
    const CounterReading &counters() const { return bracket.readings.back(); }
};

}  // namespace rsslag::core
