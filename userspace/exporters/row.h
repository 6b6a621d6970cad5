// SPDX-License-Identifier: BSD-2-Clause
// The contents of a recording as rows: its facts, one row per record in the order of time, then its ending. Pure data.
// Names are raw bytes; printers must escape them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ledger.h"
#include "core/mapping.h"
#include "core/reading.h"
#include "core/reconcile.h"
#include "core/scheme.h"
#include "core/tick_columns.h"
#include "core/totals.h"
#include "core/units.h"

namespace rsslag::exporters {

/// The machine and the options of a recording.
struct Facts {
    std::string kernel;    ///< uname -r
    std::string arch;      ///< uname -m
    std::string host;      ///< empty: not recorded
    std::string boot_id;   ///< of the recorded kernel; empty: not recorded
    std::string trace_id;  ///< identifies the recording, the same in all of its segments; empty: not recorded
    std::uint64_t segment = 0;
    std::string command_line;         ///< of the rsslag process that made the recording; empty: not recorded
    std::string mode;                 ///< "events" or "counts"
    bool follow = true;               ///< children were traced too
    std::uint32_t sample_period = 0;  ///< pages to a sample, on average; 0: no samples
    core::Machine machine;
    core::Calibration calibration;
    std::chrono::system_clock::time_point time;  ///< of the attach
};

/// Fields of all rows. PIDs and TIDs are in the PID namespace of the rsslag that made the recording; 0: unknown or
/// none.
struct Stamp {
    std::uint64_t t_ns = 0;  ///< since the attach
    int pid = 0;
    int tid = 0;
    std::optional<int> cpu;
    std::string_view comm;  ///< valid during the call that passes the row
    std::uint64_t mm = 0;   ///< unique in the recording, unlike the address; 0: unknown
};

/// The page fault that caused a row.
struct FaultCause {
    std::optional<bool> kernel;  ///< in kernel mode; nullopt: no exception, the kernel requested the page (mm/gup.c)
    std::uint64_t address = 0;
};

/// A change of a counter of an mm: an update, a flush or a fold.
struct UpdateRow {
    enum class Type : std::uint8_t { Update, Flush, Fold };
    Stamp at;
    Type type = Type::Update;
    std::optional<core::Member> member = core::Member::File;  ///< nullopt: a counter that this version does not know
    std::optional<core::Pages> pages;    ///< nullopt: the amount is unknown, or the mm is not traced
    std::optional<core::Pages> cached;   ///< what the thread or CPU caches after the update
    std::optional<core::Pages> flushed;  ///< the mm's own counter after the update; nullopt: the member is unknown
    std::optional<core::FlushReason> reason;
    std::optional<FaultCause> fault;
    bool by_other = false;           ///< made by a task that does not live in the mm
    bool newborn = false;            ///< an exec or fork is still building the mm
    bool teardown = false;           ///< the mm is being torn down
    bool known = true;               ///< the mm is traced
    std::optional<core::Held> held;  ///< what the mm holds after the update
    std::string_view mapping;        ///< the mapping of the fault's address; empty: no fault
    std::int64_t sample = -1;        ///< the number of its sample; -1: not sampled
    core::Pages from_faults;         ///< of a flush: pages that fault records have reported already
};

/// What a thread caches at a page fault; `thread` scheme.
struct FaultRow {
    Stamp at;
    FaultCause fault;
    core::Members cached;
    core::Members came;  ///< the change of `cached` since the thread's last record
    static constexpr std::array<std::int64_t, core::kMembers> kNoSamples = [] {
        std::array<std::int64_t, core::kMembers> none{};
        none.fill(-1);
        return none;
    }();
    std::array<std::int64_t, core::kMembers> samples = kNoSamples;  ///< by member of `came`; as UpdateRow::sample
    int faults_since_flush = 0;
    bool after = false;  ///< the record was taken after the fault, not at its entry
    std::optional<core::Held> held;
    std::string_view mapping;
};

/// --mode counts on the `cpu` scheme: consecutive updates by one task on one CPU.
struct SumRow {
    Stamp at;
    std::uint64_t updates = 0;
    int of_cpu = 0;
    std::array<std::optional<core::Pages>, core::kMembers> cached;  ///< by member; nullopt: not updated
    std::optional<core::Held> held;
};

/// An event in the life of a task.
struct TaskRow {
    enum class Type : std::uint8_t { ThreadStart, ThreadEnd, Rename, Exec, Fork, Exit, Seen };
    Stamp at;
    Type type = Type::Seen;
    int host_pid = 0, host_tid = 0;
    int parent_host_tid = 0;  ///< of the creator
    int old_host_tid = 0;     ///< before the exec
    bool shares_mm = false;
    std::uint64_t user_faults = 0, kernel_faults = 0;  ///< since its start or the attach; only ThreadEnd and Exit
};

/// The counters of a process in a reading, and what its files in /proc showed.
struct ReadingRow {
    Stamp at;
    core::Members flushed, cached;
    core::ReaderValues readers;
    std::int64_t tasks = 0;
    std::int64_t took_us = 0;
    std::uint64_t start_ticks = 0;  ///< since the boot, of the process
};

/// A walk of a process's page tables.
struct WalkRow {
    Stamp at;
    core::Walk walk;
};

/// A change of a mapping, or one mapping of a listing.
struct MappingRow {
    enum class Type : std::uint8_t { Mapped, Moved, Named, Listed };
    Stamp at;
    Type type = Type::Mapped;
    std::string_view mapping;  ///< its name from now on; raw bytes, valid as long as the row's maker
    std::uint64_t from = 0, to = 0;
    std::optional<std::uint8_t> flags;    ///< core::MappingFlag; nullopt: unknown
    std::uint64_t old_from = 0;           ///< Moved
    std::uint64_t old_to = 0;             ///< Moved: `old_from` if the old range stays, too
    std::uint64_t moved_ns = 0;           ///< Moved: CLOCK_MONOTONIC, as event::AbsentPages::t_ns
    std::optional<core::Kilobytes> held;  ///< Listed: rss by smaps; nullopt: not walked
    core::BuildId build_id;               ///< Mapped: of the file
};

/// LossRow::cause for lost changes of mappings. These do not count as records, but later names may be outdated.
inline constexpr std::string_view kMappingsLost = "mappings";

/// Records that are missing.
struct LossRow {
    Stamp at;
    std::string_view cause;
    std::optional<std::uint64_t> records;  ///< nullopt: unknown
};

/// One process at one tick.
struct TickRow : core::TickFigures {
    Stamp at;
    bool read = true;  ///< false: the process has ended, or could not be read at this tick
    core::Members baseline;
    bool needs_resync = false;  ///< after a loss, until the resync
    core::Extremes extremes;    ///< of the process so far
    /// Exact at the end of its exec, when its process was born, or when it was first read.
    core::Members at_start;
    bool start_approximate = false;        ///< earlier records were lost
    bool baseline_approximate = false;     ///< a resync has changed the baseline, or will change it
    core::Members last;                    ///< exact, before the teardown if it has started
    const core::MmView *ledger = nullptr;  ///< the mm in the ledger; valid during the call that passes the row
};

using Row = std::variant<UpdateRow, FaultRow, SumRow, TaskRow, ReadingRow, WalkRow, MappingRow, LossRow, TickRow>;

/// The type of a row, as in docs/schema/record.schema.json.
std::string_view type_name(const Row &row);

/// A part of the file that could not be read or was never written.
struct MissingPart {
    std::string reason;
    std::uint64_t from_ns = 0, to_ns = 0;  ///< since the attach
    std::optional<std::uint64_t> records;
};

/// The end of a recording. Totals::records counts the records that were sent and are in the file.
struct Ending : core::Totals {
    bool complete = true;  ///< the recording was ended properly, and all of it was read
    std::vector<MissingPart> missing;
    std::uint64_t duration_ns = 0;
    core::Extremes all;  ///< of the sum of all mms
};

}  // namespace rsslag::exporters
