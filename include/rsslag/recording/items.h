// SPDX-License-Identifier: BSD-2-Clause
// What a recording is made of: calls, and the answers that the tracer got from then on, in the order they were given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "rsslag/core/losses.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/result.h"
#include "rsslag/core/units.h"
#include "rsslag/recording/calls.h"

namespace rsslag::recording {

/// Wire records of one ring, as the programs wrote them.
struct Records {
    std::uint32_t ring = 0;
    std::vector<std::byte> bytes;
};
/// The records before it, since the last one, all came at once.
struct Collected {};
/// CLOCK_MONOTONIC.
struct Now {
    std::uint64_t t_ns = 0;
};
/// CLOCK_REALTIME.
struct Time {
    std::int64_t unix_ns = 0;
};
struct Faults {
    struct Task {
        int host_tid = 0;
        core::FaultCounts counts;
    };
    std::vector<Task> tasks;
};
struct Counters {
    int pid = 0;
    core::Result<core::TimedCounters> told;
};
struct Reading {
    int host_tgid = 0;
    int pid = 0;
    core::Result<core::RawReading> told;
};
struct Wanted {
    core::Status told;
};
/// rsslag's own cost.
struct Cost {
    bool whole = false;  ///< since the begin, else since the last one
    double cpu_percent = 0;
    std::optional<double> bpf_ns_per_event;
    core::Kilobytes rss;
};
/// The writer could not keep up.
struct Overflow {
    std::uint64_t records = 0;
    std::uint64_t items = 0;
};

/// Where a trace hid most: a cache, that nothing needs to be true.
struct Peak {
    std::uint64_t t_ns = 0;  ///< since Header::start_ns
    int pid = 0;
    core::Pages lag;  ///< exact - what stat said; 0: nothing ever lagged
};

using Item =
    std::variant<Call, Records, Collected, Now, Time, core::Losses, Faults, Counters, Reading, Wanted, Cost, Overflow>;

}  // namespace rsslag::recording
