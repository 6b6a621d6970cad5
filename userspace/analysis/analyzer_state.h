// SPDX-License-Identifier: BSD-2-Clause
// The state of an Analyzer; for analyzer*.cpp only.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/analyzer.h"
#include "analysis/settled_queue.h"
#include "analysis/time_order.h"
#include "gone.h"
#include "recent_growth.h"

namespace rsslag::analysis {

/// The state of a traced process between ticks.
struct Traced {
    core::ProcessReading last;  ///< names and numbers of the last reading
    // The last walk, and the mm's counts at that time.
    std::optional<core::ProcessReading> walked;
    std::uint64_t walked_ns = 0, walked_updates = 0, walked_faults = 0;
    std::map<int, std::uint64_t> updates_before;
    std::uint64_t updates = 0;  ///< of its mm, at its last tick
    bool gone = false;          ///< the last reading found no process, or one without memory
    core::Summary::Process summary;
    std::optional<core::Extremes> before;  ///< of the programs that it ran before the current one
    int image = 1;                         ///< number of the current program
};

/// Approximate size in memory.
inline std::size_t bytes_of(const core::MappingChange &change) {
    return sizeof(change) + change.range.name.size();
}
inline std::size_t bytes_of(const core::MappingListing &listing) {
    std::size_t bytes = sizeof(listing);
    for (const core::MappingListing::Entry &entry : listing.entries)
        bytes += sizeof(entry) + entry.range.name.size();
    return bytes;
}

struct Analyzer::State {
    State(Facts given, AnalyzerOptions chosen);

    Facts facts;
    AnalyzerOptions options;
    TraceObserver *records;  ///< the observer, if it needs more than ticks; else null
    core::Ledger ledger;
    TimeOrder order;
    std::map<int, Traced> traced;  ///< by the kernel's TGID
    Gone gone;
    core::Totals totals;       ///< of processes that have left an mm
    std::set<int> not_traced;  ///< PIDs of existing processes that could not be attached
    int command = 0;           ///< the TGID of CMD, from ExecAwaited on
    core::OwnCost own;
    std::uint64_t seq = 0;
    std::uint64_t work = 0;
    std::uint64_t steps = 0;           ///< calls of stopped()
    bool stop = false;                 ///< options.stop has returned true
    std::uint64_t complete_until = 0;  ///< of the last watermark
    core::Losses counted;              ///< the kernel's last counts
    core::Losses losses;               ///< since the first event, including malformed records and gaps
    std::uint64_t lost_before = 0;     ///< records that were already reported to the ledger as lost
    std::uint64_t missing_records = 0;
    std::uint64_t readings_failed = 0;                  ///< of processes that existed
    std::uint64_t malformed_rest = 0;                   ///< records after malformed ones in their spans
    std::unordered_map<int, core::FaultCounts> faults;  ///< by the kernel's TID
    std::map<int, Awaited> awaited;                     ///< by the kernel's TGID
    /// Of these: the PID in rsslag's PID namespace and the kernel's TGID.
    std::set<std::pair<int, int>> awaited_pids;
    /// By host TID: counters at execs whose records are still to come.
    std::map<int, core::TimedCounters> at_exec;
    std::vector<std::pair<int, std::uint64_t>> adopted;
    std::vector<EndedProcess> ended;
    std::unordered_map<std::uint64_t, std::vector<core::EndedTask>>
        ended_tasks;                   ///< by the mm's generation, for its next tick
    std::vector<core::Tick> reported;  ///< ticks of the event that is being applied
    event::Moment now;                 ///< the latest moment of all events
    std::optional<core::Summary> summary;
    std::deque<std::pair<rsslag_update, core::Applied>> flush_log;  ///< since the last tick
    std::unordered_map<std::uint64_t, rsslag_update> open;  ///< updates with unsettled amounts, by ticket; for_screen
    SettledQueue<std::variant<core::EventLine, core::TaskLine>> lines;
    std::optional<RecentGrowth> recent;  ///< for_screen
    std::map<int, int> forked_by;        ///< by host TGID: the PID of the parent, of living processes; for_screen
    /// By time: changes and listings that are not emitted yet, because no later record was applied.
    std::multimap<std::uint64_t, std::variant<core::MappingChange, core::MappingListing>> mappings;
    std::size_t mapping_bytes = 0;  ///< approximate size of these

    /// A reading of the current tick.
    struct Taken {
        core::GroupView group;
        core::RawReading reading;
    };
    bool in_tick = false;
    bool cut_off = false;                      ///< readings of the current tick may be missing
    std::vector<core::GroupView> groups;       ///< at the start of the tick
    std::map<int, core::GroupView> newcomers;  ///< by host TGID: adopted during the tick
    std::vector<Taken> readings;

    void operator()(event::Records &event);
    void operator()(event::Watermark &event);
    void operator()(event::Losses &event);
    void operator()(event::Faults &event);
    void operator()(event::Attach &event);
    void operator()(event::ExecAwaited &event);
    void operator()(event::Counters &event);
    void operator()(event::AtExec &event);
    void operator()(event::Reading &event);
    void operator()(event::TickEnd &event);
    void operator()(event::Stop &event);
    void operator()(event::End &event);
    void operator()(event::Gap &event);
    void operator()(event::FreshStart &event);
    void operator()(event::CpusFolded &event);
    void operator()(event::MappingChanges &event);
    void operator()(event::MappingListing &event);
    void operator()(event::Samples &event);
    void operator()(event::Stacks &event);
    void operator()(event::AbsentPages &event);

    std::uint64_t since_start(std::uint64_t t_ns) const { return t_ns - std::min(t_ns, facts.start.t_ns); }
    static std::chrono::system_clock::time_point time_of(const event::Moment &at) {
        return std::chrono::system_clock::time_point(
            std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(at.unix_ns)));
    }
    void moment(const event::Moment &at) {
        if (at.t_ns >= now.t_ns) now = at;
    }
    std::uint64_t all_work() const {
        constexpr std::uint64_t kOfVisit = 5;
        return work + kOfVisit * ledger.visited();
    }
    /// Whether the caller asks the analyzer to stop. Called at each step of an event that may have many steps.
    bool stopped() {
        constexpr std::uint64_t kSteps = 1024;
        if (!stop && options.stop && ++steps % kSteps == 0) stop = options.stop(all_work());
        return stop;
    }
    template <class Record>
    void apply_next(const Record &record) {
        if (!stopped()) apply(record);
    }
    void apply(const rsslag_update &update);
    void apply(const rsslag_fault &fault);
    void apply(const rsslag_sum &sum);
    void apply(const rsslag_task &task);
    void apply_until(std::uint64_t t_ns);
    void emit_mappings(std::uint64_t until_ns);
    bool keeps_mappings() const { return records != nullptr || recent; }
    core::RecentGrowth recent_of(const core::MmView &mm);
    void add_extremes_of_all();
    /// Emits mapping changes up to `t_ns`. They must come before a record of that time.
    void catch_up_mappings(std::uint64_t t_ns) {
        if (!mappings.empty() && mappings.begin()->first <= t_ns) emit_mappings(t_ns);
    }
    void take_settled();
    void take_renumbered();
    void emit_update(const rsslag_update &update, const core::Applied &applied);
    void log_flush(const rsslag_update &update, const core::Applied &applied);
    std::vector<core::LoggedFlush> flushes_of(const core::MmView &mm) const;
    void count_losses(std::uint64_t t_ns);
    void adopt(int host_tgid, const core::CounterReading &counters, const std::string &comm, std::uint64_t begin_ns,
               std::uint64_t end_ns);
    void start_at_exec(const rsslag_task &exec);
    void take_up(int host_tgid, const core::CounterReading &counters, const std::string &comm, std::uint64_t begin_ns,
                 std::uint64_t end_ns);
    void note_not_traced(int pid, const core::Error &why);
    void stop_awaiting(int host_tgid);
    void begin_tick();
    void end_tick();
    const core::GroupView *group_of(int host_tgid) const;
    core::Tick tick_of(const core::GroupView &group, const core::MmView &mm) const;
    core::Tick unread_tick(const Traced &entry, const core::GroupView &group, const core::MmView &mm);
    void finish(const core::Ended &over);
    void close_running();
    void finish_image(Traced &entry, bool forked);
    void finish_all(bool all);
    void take_ended_tasks();
    std::vector<core::EndedTask> ended_tasks_of(const core::MmView &mm);
    std::optional<core::Tick> compared(Taken &taken, std::uint64_t until_ns);
    void keep_walk(Traced &entry, core::Tick &tick) const;
    core::Extremes since_start(core::Extremes extremes) const;
    std::vector<core::CourseSpan> since_start(std::vector<core::CourseSpan> course) const;
    void count(Traced &entry, core::Tick &tick);
    void add_totals(const core::Tick &tick);
};

}  // namespace rsslag::analysis
