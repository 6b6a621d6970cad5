// SPDX-License-Identifier: BSD-2-Clause
// The events of a trace. A live trace makes them, a recording stores them, tests construct them. The analyzer processes
// them in order and never queries their source. Times named t_ns, since_ns or until_ns are CLOCK_MONOTONIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/losses.h"
#include "core/mapping.h"
#include "core/own_cost.h"
#include "core/raw_reading.h"
#include "core/result.h"
#include "core/samples.h"

namespace rsslag::core::event {

/// One moment, in both clocks.
struct Moment {
    std::uint64_t t_ns = 0;
    std::int64_t unix_ns = 0;  ///< CLOCK_REALTIME
};

/// Wire records (abi.h) of one ring, as the BPF programs wrote them.
struct Records {
    std::uint32_t ring = 0;
    std::vector<std::byte> bytes;
};

/// All records from before until_ns have come. Processes that have ended by then get their last ticks, with the time
/// `at`.
struct Watermark {
    std::uint64_t until_ns = 0;
    Moment at;
};

/// Counts of what was sent and lost since the attach.
struct Losses {
    std::uint64_t t_ns = 0;
    core::Losses counts;
};

/// CPUs went offline between these times. The kernel folded what each had cached into the counters without a record, so
/// every process must be read again.
struct CpusFolded {
    std::uint64_t since_ns = 0;
    std::uint64_t until_ns = 0;
};

/// Faults of tasks, counted by the BPF programs since the attach. A count is valid until the next one of that task.
struct Faults {
    struct Task {
        int host_tid = 0;
        core::FaultCounts counts;
    };
    std::vector<Task> tasks;
};

/// A process is traced from here on: its counters, read after the probes were attached, and how many faults of its
/// tasks had been counted by then.
struct Attach {
    int host_tgid = 0;
    core::TimedCounters counters;
    Faults faults;
};

/// The process will be traced from its next exec on.
struct ExecAwaited {
    int host_tgid = 0;
    int tgid = 0;          ///< in rsslag's PID namespace
    std::uint64_t mm = 0;  ///< address of the mm_struct that the exec leaves
};

/// The counters of a process whose baseline is unknown, or whose exec may have been lost. An error: the process is
/// gone; or it matches a pattern and cannot be traced. PID 0: processes that match could not be searched.
struct Counters {
    int pid = 0;
    core::Result<core::TimedCounters> reported;
};

/// The counters of a process at the exec from which on it is traced because it matches a pattern. They were read within
/// the exec, when nothing but reclaim changes them. Comes before the records of that exec.
struct AtExec {
    core::TimedCounters counters;
};

/// A reading of a traced process, compared with the records at the next TickEnd. An error: it could not be read.
struct Reading {
    int host_tgid = 0;
    core::Result<core::RawReading> reported;
};

/// Ends a tick, which consists of the readings since the last TickEnd. All records up to 1 ms after each of these
/// readings have come.
struct TickEnd {
    /// If set, all records from before this time have come instead, and sums are as of this time.
    std::optional<std::uint64_t> until_ns;
    Moment at;
    core::OwnCost own;  ///< since the last one
};

/// The probes are detached, and all that was sent has come.
struct Stop {
    Moment at;
};

/// The end of the trace, after its Stop.
struct End {
    Moment at;
    core::OwnCost own;  ///< of the whole trace
};

/// Records or events are missing here: the writer of the recording had no space for them, or the reader cannot read
/// them.
struct Gap {
    std::uint64_t records = 0;  ///< at least
    std::uint64_t events = 0;   ///< at least
};

/// A recording starts here. It contains no earlier walk, so ticks must not repeat one.
struct FreshStart {};

/// Changes of mappings of traced processes, ascending by time.
struct MappingChanges {
    std::vector<core::MappingChange> changes;
};

/// All mappings of a traced process.
struct MappingListing {
    core::MappingListing listing;
};

/// Samples of updates whose records have come, or come before the next Watermark. They are numbered in order,
/// from 0 at the start of the trace.
struct Samples {
    std::uint64_t first = 0;  ///< number of the first one
    std::vector<core::Sample> samples;
};

/// The stacks of the samples from number `first` on. `lost`: samples until now for which the ring had no space.
struct Stacks {
    std::uint64_t first = 0;
    std::vector<core::StackFrame> frames;
    std::vector<core::CallStack> stacks;
    std::vector<std::uint32_t> of;  ///< for each sample: the index of its stack
    std::uint64_t lost = 0;
};

/// Samples with the numbers `from` to `before` - 1 own pages of an mm (core::owns_page). `pages` lists those of them
/// that are not resident. All others are resident.
struct AbsentPages {
    std::uint64_t t_ns = 0;  ///< CLOCK_MONOTONIC, after the pages were looked up
    int pid = 0;
    std::uint64_t mm = 0;    ///< address of the mm_struct
    std::uint64_t from = 0;  ///< samples below this number may belong to an earlier mm at this address
    std::uint64_t before = 0;
    std::vector<std::uint64_t> pages;  ///< addresses, ascending
};

using Event =
    std::variant<Records, Watermark, Losses, Faults, Attach, ExecAwaited, Counters, Reading, TickEnd, Stop, End, Gap,
                 FreshStart, CpusFolded, MappingChanges, MappingListing, AtExec, Samples, Stacks, AbsentPages>;

/// The time of the event; nullopt if it has none.
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
        Time operator()(const AtExec &event) const { return event.counters.end_ns; }
        Time operator()(const Samples & /*event*/) const { return std::nullopt; }
        Time operator()(const Stacks & /*event*/) const { return std::nullopt; }
        Time operator()(const AbsentPages &event) const { return event.t_ns; }
    };
    return std::visit(TimeOf{}, event);
}

}  // namespace rsslag::core::event

namespace rsslag {
namespace event = core::event;
}
