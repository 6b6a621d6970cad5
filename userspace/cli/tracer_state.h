// SPDX-License-Identifier: BSD-2-Clause
// What a tracer is made of; for tracer*.cpp only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "recording_source.h"
#include "rsslag/core/ledger.h"
#include "rsslag/core/time_order.h"
#include "tracer.h"

namespace rsslag::cli {

/// Around a reading, what the ledger held is asked for this much wider.
inline constexpr std::uint64_t kWiderNs = 1'000'000;
/// A record is in its ring this long after its time, and sooner unless its CPU was taken away.
inline constexpr std::uint64_t kLateNs = 2'000'000;
/// Walks take no more than a twentieth of the time.
inline constexpr std::uint64_t kWalkCostsAtMost = 20;

/// What is kept of a traced process from tick to tick.
struct Traced {
    view::ProcessReading last;  ///< names and numbers of the last reading
    // The last walk, and what had happened to the mm until then.
    std::optional<view::ProcessReading> walked;
    std::uint64_t walked_ns = 0, walked_updates = 0, walked_faults = 0;
    std::uint64_t next_walk_ns = 0;
    std::map<int, std::uint64_t> updates_before;
    bool gone = false;  ///< it was no longer there at the last tick
    view::Summary::Process summary;
};

/// The kernel's TIDs of the tasks in a reading, ascending.
inline std::vector<int> host_tids(const core::CounterReading &counters) {
    std::vector<int> tids;
    tids.reserve(counters.tasks.size());
    for (const core::TaskReading &task : counters.tasks)
        tids.push_back(task.host_tid);
    return tids;
}

/// A group whose exec is awaited.
struct AtExec {
    int tgid = 0;
    std::uint64_t mm = 0;  ///< the one that it leaves
};

struct Tracer::State {
    Options options;
    std::unique_ptr<Source> source;
    RecordingSource *recorder = nullptr;  ///< the source, where it is a kernel's
    recording::Header recorded;           ///< of the segment that is written
    view::SnapshotDocument facts;
    std::uint64_t id_key = 0;
    std::unique_ptr<core::Ledger> ledger;
    core::TimeOrder order;
    std::map<int, Traced> traced;  ///< by the kernel's TGID
    std::vector<view::Summary::Process> gone;
    view::Summary totals;  ///< of processes that have left an mm
    view::OwnCost own;
    std::uint64_t start_ns = 0;
    std::uint64_t seq = 0;
    std::uint64_t lost_before = 0;
    core::Losses losses;
    std::map<int, AtExec> at_exec;  ///< by the kernel's TGID
    std::vector<view::Tick> ended;
    std::deque<std::pair<rsslag_update, core::Applied>> flush_log;  ///< since the last tick

    void apply_until(std::uint64_t t_ns);
    void log_flush(const rsslag_update &update, const core::Applied &applied);
    std::vector<view::LoggedFlush> flushes_of(const core::MmView &mm) const;
    void note(const rsslag_update &update, const core::Applied &applied);
    void take_losses();
    void collect();
    void take_in();
    void stop();
    view::Tick tick_of(const core::GroupView &group, const core::MmView &mm);
    void finish(const core::Ended &ended_group);
    void finish_all(bool all);
    std::optional<core::RawReading> read(const core::GroupView &group);
    std::optional<view::Tick> compared(const core::GroupView &group, const core::RawReading &taken,
                                       std::uint64_t until_ns);
    void keep_walk(Traced &traced, view::Tick &tick);
    void count(Traced &traced, const view::Tick &tick);
    void add_totals(const view::Tick &tick);
    void adopt(int host_tgid, const core::CounterReading &counters, std::uint64_t begin_ns, std::uint64_t end_ns);
    void count_faults_from_now(const core::CounterReading &counters);
    void adopt_new();
    void look_for_execs();
    std::optional<KnownState> read_known(bool all);
    void begin_header(bool amid);
    core::Losses losses_so_far();
    void forget_walks();
};

}  // namespace rsslag::cli
