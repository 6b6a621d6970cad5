// SPDX-License-Identifier: BSD-2-Clause
// What a trace reports: ticks, lines of single records, and a summary at its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/growth.h"
#include "core/ledger.h"
#include "core/losses.h"
#include "core/own_cost.h"
#include "core/process_reading.h"
#include "core/totals.h"
#include "rsslag/abi.h"

namespace rsslag::core {

/// Which threads a tick lists. The sums always include all threads.
struct ThreadChoice {
    enum class Which : std::uint8_t { All, Changed, Top, None };
    Which which = Which::Changed;
    std::size_t top = 0;
};

/// A flush or fold, as the log of flushes shows it.
struct LoggedFlush {
    std::uint64_t t_ns = 0;  ///< since the attach
    int tid = 0;
    int cpu = 0;
    std::string comm;  ///< raw bytes
    Member member = Member::File;
    std::optional<Pages> pages;  ///< added to the mm's counter; nullopt: not settled when it was logged
    FlushReason reason = FlushReason::Fold;
    FlushCause cause = FlushCause::None;
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
    /// For a process that has ended, only its names as of its last reading are valid.
    ProcessReading process;
    bool read = true;         ///< false: the process or the trace has ended, with records after the last reading
    bool stale_walk = false;  ///< the walk is from an earlier tick (process.walk_age_ms)
    MmView ledger;
    /// The extremes of that program of the process that had the highest peak. They do not include what a fork held
    /// before its first exec, since that is its parent's program. Times are since the attach.
    Extremes extremes;
    std::uint64_t window_updates = 0;              ///< updates of the mm while it was read
    std::uint64_t faults = 0;                      ///< of all its threads, ended ones included, counted in the kernel
    std::uint64_t lost = 0;                        ///< lost records of all processes
    std::map<std::string, std::uint64_t> lost_by;  ///< as Losses::by_cause
    /// Records were lost, and no reading has replaced the counters since.
    bool needs_resync = false;
    ThreadChoice threads;
    /// For ThreadChoice::Changed: the update count of each thread at the previous tick, by host TID.
    std::map<int, std::uint64_t> updates_before;
    OwnCost own;
    std::uint64_t emitted = 0;           ///< records of all processes, lost ones included, counted in the kernel
    std::optional<RecentGrowth> recent;  ///< only for a screen
    /// The extremes so far of the sum of all mms, as Summary::all; only for a screen, with a reading.
    std::optional<Extremes> all;
    /// What all mms held, since the last moment with ticks; in the first tick of a moment. Times since the attach.
    std::vector<CourseSpan> course_of_all{};
    std::size_t all_processes = 0;          ///< traced processes that were running; only for a screen, with a reading
    std::vector<LoggedFlush> last_flushes;  ///< of this mm since the last tick, ascending; only for a screen
};

/// The whole trace, at its end.
struct Summary : Totals {
    std::chrono::system_clock::time_point time;
    std::uint64_t duration_ns = 0;
    Scheme scheme = Scheme::Plain;
    PageSize page_size;
    std::string kernel;
    std::uint64_t ticks = 0;
    std::uint64_t lines_dropped = 0;  ///< lines of output dropped because they were not read in time
    std::uint64_t ended_mms = 0, ended_not_at_zero = 0;
    std::uint64_t readings_failed = 0;  ///< number of readings of living processes that failed
    struct Process {
        int pid = 0;
        int host_pid = 0;
        std::string comm;
        State state = State::Running;
        Extremes extremes;  ///< as of its last tick
        Members baseline, final;
        Members at_start;  ///< of its last program, at the end of its exec; growth counts from here
        Members last;      ///< of its last program, before the teardown if it has ended
        // Records that these values depend on were lost, so the values may be wrong. final_approximate also applies to
        // `last`: no reading came after the loss.
        bool start_approximate = false, baseline_approximate = false, final_approximate = false;
        /// The number of its last program, from 1 on; 0: what a fork held before its first exec.
        int image = 1;
        std::uint64_t mm = 0;  ///< MmView::generation of its last program; the same for processes that share one
        std::optional<EndFigures> end;  ///< only in a live trace; a recording does not contain it
        std::map<std::string, std::uint64_t> verdicts;
    };
    std::vector<Process> processes;
    Extremes all;  ///< of the sum of all mms; an mm that several processes share counts once
    /// Of the processes that have ended, `processes` lists only those that rank highest by lag, peak, cache or growth.
    /// The others:
    struct LeftOut {
        std::uint64_t processes = 0;
        std::uint64_t programs = 0;  ///< the number of their programs, without image 0
        Pages peak_lag;              ///< the largest of all
        Pages peak, peaks;           ///< of the highest peaks of all: the largest, and the sum
        bool approximate = false;    ///< Extremes::approximate() of one of them
        std::map<std::string, std::uint64_t> verdicts;
    } left_out;
    OwnCost own;
};

/// One update, as a line of --events.
struct EventLine {
    std::uint64_t t_ns = 0;  ///< since the attach
    int pid = 0;             ///< of the mm's process; 0: unknown
    int tid = 0;
    std::string comm;
    int cpu = 0;
    rsslag_update update{};
    Applied applied;
    PageSize page_size;
};
/// An exec, a fork, the start or end of a thread or a rename, as a line of --events.
struct TaskLine {
    std::uint64_t t_ns = 0;
    rsslag_task task{};
};

}  // namespace rsslag::core
