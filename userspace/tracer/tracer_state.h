// SPDX-License-Identifier: BSD-2-Clause
// The state of a live trace; for tracer*.cpp only.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "analysis/mapping_table.h"
#include "analysis/started.h"
#include "at_exec.h"
#include "sampled_pages.h"
#include "system/unreadable.h"
#include "tracer/tracer.h"
#include "unwind_process.h"
#include "unwinding.h"

namespace rsslag::tracer {

/// A record is assumed to be in its ring this long after its time. Usually it is there much sooner, unless its CPU was
/// interrupted or stolen.
inline constexpr std::uint64_t kLateNs = 2'000'000;

/// The time of the next walk of a process.
struct WalkPlan {
    int pid = 0;
    std::uint64_t next_ns = 0;
    std::uint64_t last_ns = 0;  ///< start of the reading with the last walk; 0: none
    std::uint64_t cost_ns = 0;  ///< duration of the last walk
};

/// A recording in progress.
struct Recording {
    recording::Writer writer;
    recording::Header header;  ///< of the segment being written

    void put(std::vector<event::Event> events);
};

/// Since when a process is at rest.
struct Rest {
    std::uint64_t mm = 0, changes = 0;  ///< changes: updates of the mm and losses
    std::uint64_t since_ns = 0;         ///< the first tick with these
    std::uint64_t read_ns = 0;          ///< its last reading
};

struct Tracer::State {
    State(std::unique_ptr<Source> kernel, Options chosen, std::optional<UnwindProcess> process = std::nullopt);

    Options options;
    std::unique_ptr<Source> source;
    analysis::Analyzer analyzer;
    std::list<Recording> recordings;
    std::map<int, WalkPlan> walks;         ///< by host TGID
    std::map<int, Rest> rests;             ///< by host TGID; Options::many
    pid_t shown_pid = 0;                   ///< show()
    std::uint64_t last_read_ns = 0;        ///< time of the last tick with a reading; Options::many
    std::optional<core::Losses> reported;  ///< in the last Losses event, and so in the recordings
    std::uint64_t folded_cpus = 0;         ///< as of the last CpusFolded event
    std::uint64_t folds_looked_ns = 0;     ///< time of the last call of the source's folded_cpus()
    core::OwnCost own;                     ///< at the last tick
    probe::Pattern pattern;                ///< of attach_matching()
    bool matching = false;                 ///< attach_matching() was called
    AtExecRecords at_exec;
    std::optional<std::uint64_t> cgroup;  ///< inode of the pattern's cgroup that the source has
    system::Unreadable unreadable;        ///< processes without ticks for a time

    /// By PID: matching processes that are not traced, with the reason.
    std::map<int, core::Error> not_attached;

    std::vector<int> started;                      ///< PIDs of processes whose trace has started
    std::set<int> named;                           ///< PIDs of living processes whose mappings are traced
    analysis::MappingTable mappings;               ///< the state after all changes and listings fed so far
    std::vector<core::MappingChange> unmatched;    ///< of processes that a later record may show to be traced
    std::map<int, std::uint64_t> next_listing_ns;  ///< by host TGID

    std::optional<UnwindProcess> unwind_process;  ///< nullopt: of a test
    std::unique_ptr<Unwinding> unwinding;         ///< null: no samples
    Unwinding::Batch batch;                       ///< the next one
    std::set<int> with_code;                      ///< PIDs whose code `unwinding` knows
    std::set<int> untraced;                       ///< PIDs of changes that were dropped at the last call
    std::uint64_t samples = 0;                    ///< taken so far
    std::uint64_t samples_lost = 0;               ///< until the last batch
    SampledPages sampled_pages;

    /// Passes the event to the recordings and to the analyzer.
    void feed(event::Event event);
    event::Moment moment();
    bool take_records();
    void emit_losses();
    void emit_folds();
    void emit_faults(std::span<const int> host_tids);
    void take_mappings();
    void take_samples();
    void note_forks(std::span<const analysis::Started> processes);
    void know_code_of_execs(std::span<const core::MappingChange> changes);
    void know_code_of_forks();
    void list_unknown_code();
    void know_code(const core::MappingListing &listing);
    void forget_code_of_untraced(std::span<const core::MappingChange> changes);
    void unwind(std::span<const core::MappingChange> changes);
    void feed_stacks(Unwinding::Result ready);
    std::uint64_t look_up_pages(const core::GroupView &group, std::uint64_t mm);
    void look_up_all_pages();
    void forget_pages();
    bool apply_if_new(const core::MappingChange &change);
    void list(int host_tgid, int pid, bool walk);
    void list_due(const std::unordered_set<int> &read);
    void list_all();
    void take_in();
    void collect();
    void trace_adopted(int host_tgid, std::uint64_t mm);
    core::Result<core::TimedCounters> read_counters(const core::GroupView &group);
    core::Result<core::RawReading> read(const core::GroupView &group);
    bool many_on_screen() const;
    bool may_rest(const core::GroupView &group, std::uint64_t now_ns);
    std::vector<core::GroupView> due(std::uint64_t now_ns);
    void stop();

    // Functions that start a recording while the trace is running.
    using Events = std::vector<event::Event>;
    std::optional<Events> known(bool all);
    Events unattached();
    void begin_header(recording::Header &header, bool running);
    core::Losses losses_so_far();
    void put_end(recording::Writer &writer, core::Losses until_now);
    void begin_while_running(Recording &recording, const std::function<void(const core::Losses &until_now)> &begin);
    Recording &find(const recording::Writer &writer);
    void forget_walks();
};

/// The fault counts of these tasks as an event.
event::Faults faults_of(Source &source, std::span<const int> host_tids);
/// Host TIDs of the tasks in a reading, ascending.
std::vector<int> host_tids(const core::CounterReading &counters);

}  // namespace rsslag::tracer
