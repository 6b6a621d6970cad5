// SPDX-License-Identifier: BSD-2-Clause
// What a trace tells: ticks, lines of single records, and the whole of it at its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/abi.h"
#include "rsslag/core/growth.h"
#include "rsslag/core/ledger.h"
#include "rsslag/core/losses.h"
#include "rsslag/core/own_cost.h"
#include "rsslag/core/process_reading.h"
#include "rsslag/core/totals.h"

namespace rsslag::core {

/// Which threads a tick lists. All of them always count in the sums.
struct ThreadChoice {
    enum class Which : std::uint8_t { All, Changed, Top, None };
    Which which = Which::Changed;
    std::size_t top = 0;
};

/// A flush or fold as the log of them shows it.
struct LoggedFlush {
    std::uint64_t t_ns = 0;  ///< since the attach
    int tid = 0;
    int cpu = 0;
    std::string comm;  ///< raw bytes
    Member member = Member::File;
    std::optional<Pages> pages;  ///< nullopt: still open when it was logged
    FlushReason reason = FlushReason::Fold;
};

/// One process at one tick. Counts are totals since the attach.
struct Tick {
    std::uint64_t seq = 0;
    std::chrono::system_clock::time_point time;
    std::uint64_t t_ns = 0;  ///< since the attach
    PageSize page_size;
    Scheme scheme = Scheme::Plain;
    Calibration calibration;
    State state = State::Running;
    /// As a snapshot's reading. Of a process that has ended: what was last known of its names; nothing is read any
    /// more.
    ProcessReading process;
    bool read = true;         ///< false: it has ended, or could not be read at this tick
    bool stale_walk = false;  ///< the walk is of an earlier tick (process.walk_age_ms)
    MmView ledger;
    /// Of the process: of the program with the highest peak among those that it has run. What a fork held before its
    /// first exec is its parent's program, and not among them. Times are since the attach.
    Extremes extremes;
    std::uint64_t window_updates = 0;              ///< updates of the mm while it was read
    std::uint64_t faults = 0;                      ///< of all its threads, ended ones too, counted in the kernel
    std::uint64_t lost = 0;                        ///< records, of all processes
    std::map<std::string, std::uint64_t> lost_by;  ///< every cause that there is, also at 0
    bool needs_resync = false;                     ///< something was lost and no reading has put it right yet
    ThreadChoice threads;
    /// Net of each listed thread at the previous tick, for ThreadChoice::Changed: host TID to updates.
    std::map<int, std::uint64_t> updates_before;
    OwnCost own;
    std::uint64_t emitted = 0;              ///< records of all processes, lost ones included, counted in the kernel
    std::optional<RecentGrowth> recent;     ///< only where a screen shows it
    std::vector<LoggedFlush> last_flushes;  ///< of this mm since the last tick, ascending; only where they are logged
};

/// The whole trace at its end.
struct Summary : Totals {
    std::chrono::system_clock::time_point time;
    std::uint64_t duration_ns = 0;
    Scheme scheme = Scheme::Plain;
    PageSize page_size;
    std::string kernel;
    std::uint64_t ticks = 0;
    std::uint64_t lines_dropped = 0;  ///< of the output, where nobody read them in time
    std::uint64_t ended_mms = 0, ended_not_at_zero = 0;
    std::uint64_t readings_failed = 0;  ///< of processes that were there: a tick of each is missing
    struct Process {
        int pid = 0;
        int host_pid = 0;
        std::string comm;
        State state = State::Running;
        Extremes extremes;  ///< as of its last tick
        Members baseline, final;
        Members begin;  ///< of its last program, as its exec was done: what growth counts from
        Members last;   ///< … and before its teardown, where it has ended
        // Records were lost, and what they told of is in these: they may have been more, or less. Final, and with it
        // last, where no reading came after the loss.
        bool begin_in_doubt = false, baseline_in_doubt = false, final_in_doubt = false;
        int image = 1;                  ///< the number of that program
        std::optional<EndFigures> end;  ///< as the kernel told at once; a recording has none
        std::map<std::string, std::uint64_t> verdicts;
    };
    std::vector<Process> processes;
    Extremes all;  ///< of all of them together, an mm that several share once
    /// Of processes that have ended only those that lagged most are among these, and who held, cached or grew by most.
    /// The others:
    struct LeftOut {
        std::uint64_t processes = 0;
        std::uint64_t programs = 0;  ///< of these, those that had run one of their own
        Pages peak_lag;              ///< the largest of theirs
        std::map<std::string, std::uint64_t> verdicts;
    } left_out;
    OwnCost own;
};

/// One record a line, as strace would: for --events.
struct EventLine {
    std::uint64_t t_ns = 0;  ///< since the attach
    int pid = 0;             ///< of the mm's process, 0 unknown
    int tid = 0;
    std::string comm;
    int cpu = 0;
    rsslag_update update{};
    Applied applied;
    PageSize page_size;
};
/// Exec, fork, thread start and end, rename.
struct TaskLine {
    std::uint64_t t_ns = 0;
    rsslag_task task{};
};

}  // namespace rsslag::core
