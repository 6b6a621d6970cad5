// SPDX-License-Identifier: BSD-2-Clause
// What a trace is made of: events, each of which says all that it says by itself. A live trace makes them, a recording
// keeps them, a test writes them down; whoever judges them asks nothing back. Times named t_ns or until_ns are
// CLOCK_MONOTONIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "rsslag/core/losses.h"
#include "rsslag/core/mapping.h"
#include "rsslag/core/own_cost.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/result.h"

namespace rsslag::core::event {

/// Both clocks at once.
struct Moment {
    std::uint64_t t_ns = 0;
    std::int64_t unix_ns = 0;  ///< CLOCK_REALTIME
};

/// Wire records (abi.h) of one ring have come, as the programs wrote them.
struct Records {
    std::uint32_t ring = 0;
    std::vector<std::byte> bytes;
};

/// All records from before that time have come. Processes that have ended by then are told of as of `at`.
struct Watermark {
    std::uint64_t until_ns = 0;
    Moment at;
};

/// What has been sent and lost since the attach, as counted then.
struct Losses {
    std::uint64_t t_ns = 0;
    core::Losses counts;
};

/// CPUs went offline between these times: what each cached of a process is part of its counts now, of which no record
/// tells. Each process is to be read again.
struct CpusFolded {
    std::uint64_t since_ns = 0;
    std::uint64_t until_ns = 0;
};

/// Faults of tasks, counted in the kernel; they hold until they are told again.
struct Faults {
    struct Task {
        int host_tid = 0;
        core::FaultCounts counts;
    };
    std::vector<Task> tasks;
};

/// A process is traced from here on: what it holds, read with the probes in place, and what its tasks' faults had been
/// counted to by then.
struct Attach {
    int host_tgid = 0;
    core::TimedCounters counters;
    Faults faults;
};

/// What this process will exec is traced; its program until then is not.
struct ExecAwaited {
    int host_tgid = 0;
    int tgid = 0;          ///< in rsslag's PID namespace
    std::uint64_t mm = 0;  ///< that it leaves
};

/// The counters of a process whose baseline is not known, or whose exec may have been lost. An error: it is gone.
struct Counters {
    int pid = 0;
    core::Result<core::TimedCounters> reported;
};

/// A reading of a traced process, to be compared with the records at the next TickEnd. An error: it could not be read.
struct Reading {
    int host_tgid = 0;
    core::Result<core::RawReading> reported;
};

/// The readings since the last one make a tick: all records up to 1 ms after each of them have come.
struct TickEnd {
    /// Instead of each reading's own end: all records from before that time have come (sums are told as they are then).
    std::optional<std::uint64_t> until_ns;
    Moment at;
    core::OwnCost own;  ///< since the last one
};

/// The probes are off, and all that was sent has come.
struct Stop {
    Moment at;
};

/// The trace is over, after its Stop.
struct End {
    Moment at;
    core::OwnCost own;  ///< of the whole trace
};

/// Here is missing what a writer could not take or a reader cannot give.
struct Gap {
    std::uint64_t records = 0;  ///< at least
    std::uint64_t events = 0;   ///< likewise
};

/// A recording begins here. It has no walk from before, so none is told any more.
struct FreshStart {};

/// Mappings of traced processes have changed; in the order of their times.
struct MappingChanges {
    std::vector<core::MappingChange> changes;
};

/// All mappings of a traced process.
struct MappingListing {
    core::MappingListing listing;
};

using Event = std::variant<Records, Watermark, Losses, Faults, Attach, ExecAwaited, Counters, Reading, TickEnd, Stop,
                           End, Gap, FreshStart, CpusFolded, MappingChanges, MappingListing>;

/// When it was told; nullopt where it does not say.
inline std::optional<std::uint64_t> time_of(const Event &event) {
    struct TimeOf {
        using Time = std::optional<std::uint64_t>;
        Time operator()(const Records & /*event*/) const { return std::nullopt; }
        Time operator()(const Watermark &event) const { return event.at.t_ns; }
        Time operator()(const Losses &event) const { return event.t_ns; }
        Time operator()(const Faults & /*event*/) const { return std::nullopt; }
        Time operator()(const Attach &event) const { return event.counters.end_ns; }
        Time operator()(const ExecAwaited & /*event*/) const { return std::nullopt; }
        Time operator()(const Counters &event) const {
            return event.reported ? Time(event.reported->end_ns) : std::nullopt;
        }
        Time operator()(const Reading &event) const {
            return event.reported ? Time(event.reported->end_ns) : std::nullopt;
        }
        Time operator()(const TickEnd &event) const { return event.at.t_ns; }
        Time operator()(const Stop &event) const { return event.at.t_ns; }
        Time operator()(const End &event) const { return event.at.t_ns; }
        Time operator()(const Gap & /*event*/) const { return std::nullopt; }
        Time operator()(const FreshStart & /*event*/) const { return std::nullopt; }
        Time operator()(const CpusFolded &event) const { return event.until_ns; }
        Time operator()(const MappingChanges & /*event*/) const { return std::nullopt; }
        Time operator()(const MappingListing & /*event*/) const { return std::nullopt; }
    };
    return std::visit(TimeOf{}, event);
}

}  // namespace rsslag::core::event

namespace rsslag {
namespace event = core::event;
}
