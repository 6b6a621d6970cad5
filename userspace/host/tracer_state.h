// SPDX-License-Identifier: BSD-2-Clause
// What a live trace is made of; for tracer*.cpp only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rsslag/host/tracer.h"
#include "rsslag/trace/mapping_table.h"

namespace rsslag::host {

/// A record is in its ring this long after its time, and sooner unless its CPU was taken away.
inline constexpr std::uint64_t kLateNs = 2'000'000;

/// When a process is to be walked.
struct WalkPlan {
    int pid = 0;
    std::uint64_t next_ns = 0;
    std::uint64_t last_ns = 0;  ///< when the last one began, 0: never
    std::uint64_t cost_ns = 0;  ///< of that
};

struct Tracer::State {
    State(std::unique_ptr<Source> kernel, Options chosen);

    Options options;
    std::unique_ptr<Source> source;
    trace::Analyzer analyzer;
    std::optional<recording::Writer> writer;
    recording::Header recorded;            ///< of the segment that is written
    std::map<int, WalkPlan> walks;         ///< by the kernel's TGID
    std::optional<core::Losses> reported;  ///< the last that an event, and with it the recording, has
    std::uint64_t folded_cpus = 0;         ///< likewise
    std::uint64_t folds_looked_ns = 0;     ///< when that was looked at last
    core::OwnCost own;                     ///< at the last tick
    std::vector<core::Tick> ticks;         ///< that came of events since they were last handed out
    std::set<int> unreadable;              ///< PIDs of processes that are there; each is told of once

    std::set<int> named;                           ///< PIDs whose mappings are told of, as far as they live
    trace::MappingTable told;                      ///< by changes and listings
    std::vector<core::MappingChange> unclaimed;    ///< of others, who may begin to be traced by what is to come
    std::map<int, std::uint64_t> next_listing_ns;  ///< by the kernel's TGID

    /// To the recording and to the analyzer.
    void feed(event::Event event);
    std::vector<core::Tick> take_ticks() { return std::exchange(ticks, {}); }
    event::Moment moment();
    bool take_records();
    void emit_losses();
    void emit_folds();
    void emit_faults(std::span<const int> host_tids);
    void take_mappings();
    bool is_news(const core::MappingChange &change);
    void list(int host_tgid, int pid, bool walk);
    void list_due();
    void list_all();
    void take_in();
    void collect();
    core::Result<core::RawReading> read(const core::GroupView &group);
    void note_unreadable(int pid, const std::string &comm, const core::Error &why);
    void stop();

    // How a recording begins in the midst of a trace.
    using Events = std::vector<event::Event>;
    std::optional<Events> known(bool all);
    void begin_header(bool amid);
    core::Losses losses_so_far();
    void put(Events events);
    void put_end(core::Losses until_now);
    void begin_amid(const std::function<void(const core::Losses &until_now)> &begin);
    void forget_walks();
};

/// The counts of these tasks as an event has them.
event::Faults faults_of(Source &source, std::span<const int> host_tids);
/// The kernel's TIDs of the tasks in a reading, ascending.
std::vector<int> host_tids(const core::CounterReading &counters);

}  // namespace rsslag::host
