// SPDX-License-Identifier: BSD-2-Clause
// What a recording tells when it is asked: its facts, then one row a record, in the order of their time, then how it
// ended. Pure data; names are raw bytes, and whoever prints them makes them harmless.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rsslag/core/ledger.h"
#include "rsslag/core/mapping.h"
#include "rsslag/core/reading.h"
#include "rsslag/core/reconcile.h"
#include "rsslag/core/scheme.h"
#include "rsslag/core/totals.h"
#include "rsslag/core/units.h"

namespace rsslag::sinks {

/// Where and how it was recorded.
struct Facts {
    std::string kernel;    ///< uname -r
    std::string arch;      ///< uname -m
    std::string host;      ///< empty: not recorded
    std::string boot_id;   ///< of the kernel that ran then; empty: not recorded
    std::string trace_id;  ///< that no other recording has, but all of its segments; empty: not recorded
    std::uint64_t segment = 0;
    std::string command_line;  ///< of the rsslag that recorded, empty: not recorded
    std::string mode;          ///< events or counts
    bool follow = true;        ///< children were traced, too
    core::Machine machine;
    core::Calibration calibration;
    std::chrono::system_clock::time_point time;  ///< of the attach
};

/// Of every row. Numbers are those of the PID namespace it was recorded in; 0: unknown, or of nobody in particular.
struct Stamp {
    std::uint64_t t_ns = 0;  ///< since the attach
    int pid = 0;
    int tid = 0;
    std::optional<int> cpu;
    std::string_view comm;  ///< lives as long as the call that hands the row on
    std::uint64_t mm = 0;   ///< a number that no other mm of the recording has; 0: unknown
};

/// A page fault as the cause of a row.
struct FaultCause {
    std::optional<bool> kernel;  ///< in kernel mode; nullopt: no exception, the kernel asked for the page (mm/gup.c)
    std::uint64_t address = 0;
};

/// A counter of an mm has changed: an update, a flush or a fold.
struct UpdateRow {
    enum class Type : std::uint8_t { Update, Flush, Fold };
    Stamp at;
    Type type = Type::Update;
    std::optional<core::Member> member = core::Member::File;  ///< nullopt: a counter that this rsslag does not know
    std::optional<core::Pages> pages;    ///< nullopt: a fold whose amount stayed open, or an mm that nobody asked for
    std::optional<core::Pages> cached;   ///< what the thread or CPU caches after it
    std::optional<core::Pages> flushed;  ///< the mm's counter after it; nullopt: it is not known, either
    std::optional<core::FlushReason> reason;
    std::optional<FaultCause> fault;
    bool by_other = false;           ///< by a task that is not of the process
    bool newborn = false;            ///< of an mm that is being made
    bool teardown = false;           ///< of an mm that is coming to its end
    bool known = true;               ///< its mm is one that was asked for
    std::optional<core::Held> held;  ///< the mm, after it
    std::string_view mapping;        ///< what the fault's address is in; empty: no fault
    core::Pages from_faults;         ///< Flush: what of it faults have told of already
};

/// What a thread caches at a page fault, `thread` scheme.
struct FaultRow {
    Stamp at;
    FaultCause fault;
    core::Members cached;
    core::Members came;  ///< less what it was known to cache before
    int faults_since_flush = 0;
    bool after = false;  ///< taken after the fault, not at its entry
    std::optional<core::Held> held;
    std::string_view mapping;
};

/// --mode counts on the `cpu` scheme: updates of one task on one CPU, one after another.
struct SumRow {
    Stamp at;
    std::uint64_t updates = 0;
    int of_cpu = 0;
    std::optional<core::Pages> cached[core::kMembers];  ///< by member, those that were updated
    std::optional<core::Held> held;
};

/// The life of a task.
struct TaskRow {
    enum class Type : std::uint8_t { ThreadStart, ThreadEnd, Rename, Exec, Fork, Exit, Seen };
    Stamp at;
    Type type = Type::Seen;
    int host_pid = 0, host_tid = 0;
    int parent_host_tid = 0;  ///< of who made it
    int old_host_tid = 0;     ///< of an exec: before it
    bool shares_mm = false;
    std::uint64_t user_faults = 0, kernel_faults = 0;  ///< over its life in the trace; of an end only
};

/// The counters of a process as they were read, and what its files said just then.
struct ReadingRow {
    Stamp at;
    core::Members flushed, cached;
    core::ReaderValues readers;
    std::int64_t tasks = 0;
    std::int64_t took_us = 0;
};

/// The page tables of a process as they were walked.
struct WalkRow {
    Stamp at;
    core::Walk walk;
};

/// A mapping has changed, or is one of a listing of all.
struct MappingRow {
    enum class Type : std::uint8_t { Mapped, Moved, Named, Listed };
    Stamp at;
    Type type = Type::Mapped;
    std::string_view mapping;  ///< what it is called from now on; raw, lives as long as its maker
    std::uint64_t from = 0, to = 0;
    std::uint8_t flags = 0;               ///< core::MappingFlag
    std::uint64_t old_from = 0;           ///< Moved
    std::optional<core::Kilobytes> held;  ///< Listed, where the page tables were walked
    core::BuildId build_id;               ///< Mapped: of the file
};

/// Cause of the loss of changes of mappings, which no count of records has: names may be old ones from then on.
inline constexpr std::string_view kMappingsLost = "mappings";

/// Records that are not here.
struct LossRow {
    Stamp at;
    std::string_view cause;
    std::optional<std::uint64_t> records;  ///< nullopt: nobody knows how many
};

/// What one process came to at one tick. Counts are totals since the attach.
struct TickRow {
    Stamp at;
    std::uint64_t seq = 0;
    std::chrono::system_clock::time_point time;
    core::State state = core::State::Running;
    bool read = true;  ///< it was read at this tick
    core::ReaderValues readers;
    std::optional<core::Walk> walk;
    std::int64_t walk_age_ms = 0;
    core::Members flushed, cached, exact, baseline;
    std::optional<core::Pages> lag, behind;  ///< less than exact: what is flushed; what stat said
    std::optional<core::Pages> residual;
    core::Verdict verdict = core::Verdict::Unwalked;
    bool needs_resync = false;  ///< after a loss and before the resync
    std::uint64_t updates = 0, updates_by_others = 0, faults = 0, flushes = 0;
    std::uint64_t lost = 0, disagreements = 0, resyncs = 0;
    core::Extremes extremes;               ///< of the process until then
    core::Members begin;                   ///< exact, as its exec was done, or as it was first read
    bool begin_in_doubt = false;           ///< records from before it were lost
    bool baseline_in_doubt = false;        ///< a loss has gone into the baseline
    core::Members last;                    ///< exact, before the teardown where it has begun
    const core::MmView *ledger = nullptr;  ///< who holds what; lives as long as the call that hands the row on
};

using Row = std::variant<UpdateRow, FaultRow, SumRow, TaskRow, ReadingRow, WalkRow, MappingRow, LossRow, TickRow>;

/// What a row is, as docs/schema/record.schema.json calls it.
std::string_view type_name(const Row &row);

/// A piece of the file that could not be read, or that was never written.
struct MissingPart {
    std::string reason;
    std::uint64_t from_ns = 0, to_ns = 0;  ///< since the attach
    std::optional<std::uint64_t> records;
};

/// How the recording ended; its records are those that the probe sent and that are here.
struct Ending : core::Totals {
    bool complete = true;  ///< it was ended cleanly and every part of it was read
    std::vector<MissingPart> missing;
    std::uint64_t duration_ns = 0;
    core::Extremes all;  ///< of all processes together
};

}  // namespace rsslag::sinks
