// SPDX-License-Identifier: BSD-2-Clause
// What a tracer tells at each tick: a reading, what the ledger says, and how the two go together.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "judged.h"
#include "rsslag/view/judgement.h"
#include "tracer_state.h"

namespace rsslag::cli {

using core::Status;

/// What every tick of a process has, whether it could be read or not.
view::Tick Tracer::State::tick_of(const core::GroupView &group, const core::MmView &mm) {
    view::Tick tick;
    tick.seq = seq;
    tick.time = source->time();
    tick.t_ns = source->now_ns() - start_ns;
    tick.page_size = facts.machine.page_size;
    tick.scheme = facts.machine.scheme;
    tick.calibration = facts.calibration;
    tick.state = group.state;
    tick.ledger = mm;
    tick.faults = mm.exited.faults;
    std::vector<int> tids;
    tids.reserve(tick.ledger.tasks.size());
    for (const core::TaskNet &task : tick.ledger.tasks)
        tids.push_back(task.host_tid);
    const std::vector<core::FaultCounts> faults = source->faults(tids);
    for (std::size_t i = 0; i < tids.size(); ++i) {
        core::TaskNet &task = tick.ledger.tasks[i];
        const std::uint64_t counted = faults[i].user + faults[i].kernel;
        task.faults = counted - std::min(counted, task.faults_before);
        tick.faults += task.faults;
        task.last_flush_ns = task.last_flush_ns > start_ns ? task.last_flush_ns - start_ns : 0;
    }
    tick.lost = losses.lost();
    tick.lost_by = losses.by_cause;
    tick.doubtful = ledger->doubtful(mm.mm);
    tick.threads = options.threads;
    tick.own = own;
    tick.emitted = losses.sent;
    tick.last_flushes = flushes_of(mm);
    return tick;
}

std::vector<view::LoggedFlush> Tracer::State::flushes_of(const core::MmView &mm) const {
    std::vector<view::LoggedFlush> flushes;
    for (const auto &[update, applied] : flush_log) {
        if (update.mm != mm.mm) continue;
        view::LoggedFlush flush;
        flush.t_ns = update.t_ns > start_ns ? update.t_ns - start_ns : 0;
        flush.cpu = update.cpu;
        flush.member = static_cast<core::Member>(update.member);
        flush.pages = applied.pages;
        flush.reason = *applied.reason;
        flush.comm = ledger->comm_of(update.tid);
        const auto task = std::lower_bound(mm.tasks.begin(), mm.tasks.end(), update.tid,
                                           [](const core::TaskNet &net, int tid) { return net.host_tid < tid; });
        flush.tid = task != mm.tasks.end() && task->host_tid == update.tid ? task->tid : update.tid;
        flushes.push_back(std::move(flush));
    }
    return flushes;
}

void Tracer::State::add_totals(const view::Tick &tick) {
    totals.updates += tick.ledger.updates;
    totals.updates_by_others += tick.ledger.updates_by_others;
    totals.faults += tick.faults;
    totals.resyncs += tick.ledger.resyncs;
    totals.disagreements += tick.ledger.disagreements;
    for (std::size_t i = 0; i < core::kFlushReasons; ++i) {
        const auto reason = static_cast<core::FlushReason>(i);
        if ((reason == core::FlushReason::Fold) != (facts.machine.scheme == core::Scheme::Cpu)) continue;
        totals.flush_reasons[std::string(core::name(reason))] += tick.ledger.flushes[i];
        if (reason != core::FlushReason::Direct) totals.flushes += tick.ledger.flushes[i];
    }
}

/// The last tick of a process, or of a program that another one took the place of.
void Tracer::State::finish(const core::Ended &over) {
    take_losses();
    Traced &entry = traced[over.group.host_tgid];
    view::Tick tick = tick_of(over.group, over.mm);
    tick.read = false;
    tick.process = entry.last;
    tick.process.pid = over.group.tgid;
    tick.process.host_pid = over.group.host_tgid;
    tick.process.comm = over.group.comm;
    tick.process.mm_id =
        mm_id(id_key, over.mm.mm, over.mm.generation);  // the last reading may be of the program before
    tick.process.threads_count = static_cast<std::int64_t>(over.mm.tasks.size());
    tick.updates_before = entry.updates_before;
    count(entry, tick);
    if (over.mm.torn_down) add_totals(tick);  // else another process lives on in it, and counts it
    ended.push_back(std::move(tick));
    entry.summary.state = over.group.state;
    if (over.group.state == core::State::Exited) {
        gone.push_back(entry.summary);
        traced.erase(over.group.host_tgid);
        source->forget(over.group.host_tgid);
    } else {
        entry.walked.reset();
        entry.updates_before.clear();
    }
}

std::optional<core::RawReading> Tracer::State::read(const core::GroupView &group) {
    Traced &entry = traced[group.host_tgid];
    const bool walk = options.walk && source->now_ns() >= entry.next_walk_ns;
    auto taken = source->read(group.host_tgid, group.tgid, walk);
    if (!taken) {
        // It has ended: its last tick comes with its exit, unless that is among what was lost.
        const core::Kind kind = taken.error().kind;
        if (kind == core::Kind::Gone || kind == core::Kind::Unsupported) {  // a zombie has no memory
            if (entry.gone && losses.lost() > 0) ledger->vanished(group.host_tgid);
            entry.gone = true;
        }
        return std::nullopt;
    }
    entry.gone = false;
    if (walk) {
        constexpr std::uint64_t kLeast = 1'000'000'000;
        const auto cost = static_cast<std::uint64_t>(taken->bracket.walk ? taken->bracket.walk->took_us : 0) * 1000;
        // A tick that comes a little early still walks.
        entry.next_walk_ns = taken->bracket_ns + std::max(kLeast * 19 / 20, kWalkCostsAtMost * cost);
    }
    if (options.on_reading) options.on_reading(*taken);
    return std::move(*taken);
}

/// A walk of an earlier tick still holds as long as nothing has happened to the mm since.
void Tracer::State::keep_walk(Traced &entry, view::Tick &tick) {
    const std::uint64_t updates = tick.ledger.updates + tick.ledger.updates_by_others;
    if (tick.process.walk) {
        entry.walked = tick.process;
        entry.walked_ns = source->now_ns();
        entry.walked_updates = updates;
        entry.walked_faults = tick.faults;
        return;
    }
    const bool same = entry.walked && entry.walked_updates == updates && entry.walked_faults == tick.faults &&
                      entry.walked->verdict.exact == tick.process.verdict.exact;
    if (!same || tick.process.verdict.verdict != core::Verdict::Unwalked) return;
    tick.stale_walk = true;
    tick.process.walk_state = entry.walked->walk_state;
    tick.process.walk = entry.walked->walk;
    tick.process.walk_age_ms = static_cast<std::int64_t>((source->now_ns() - entry.walked_ns) / 1'000'000);
    tick.process.verdict = entry.walked->verdict;
}

void Tracer::State::count(Traced &entry, const view::Tick &tick) {
    view::Summary::Process &summary = entry.summary;
    summary.pid = tick.process.pid;
    summary.comm = tick.process.comm;
    summary.baseline = tick.ledger.baseline;
    summary.final = tick.ledger.exact();
    if (!tick.read) return;
    const core::Verdict verdict = view::judge(tick).verdict;  // as the tick tells it
    summary.verdicts[std::string(core::name(verdict))]++;
    if (!tick.process.readers.stat) return;
    const core::Pages lag = tick.ledger.exact().rss() - *tick.process.readers.stat;
    if (lag > summary.peak_lag) {
        summary.peak_lag = lag;
        summary.peak_lag_t_ns = tick.t_ns;
        summary.peak_approximate = tick.doubtful || verdict == core::Verdict::Moving;
    }
}

/// `until_ns`: all that happened in the reading's window has been told by then.
std::optional<view::Tick> Tracer::State::compared(const core::GroupView &group, const core::RawReading &taken,
                                                  std::uint64_t until_ns) {
    const core::CounterReading &counters = taken.counters();
    const std::uint64_t before = ledger->updates(group.mm);
    apply_until(until_ns);
    if (ledger->ended_since(counters.mm, taken.begin_ns)) return std::nullopt;  // its last tick tells all
    if (ledger->in_the_making(counters.mm)) return std::nullopt;                // what it leaves is told by its EXEC
    if (!ledger->knows(counters.mm) && traced.count(group.host_tgid) != 0) {
        adopt(group.host_tgid, counters, taken.begin_ns, taken.end_ns);  // its beginning was lost
        if (const Status wanted = source->want(group.host_tgid, counters.mm); !wanted) {
            spdlog::warn("{} cannot be traced on: {}", group.tgid, wanted.error().what);
        }
    }
    ledger->compare(counters, taken.begin_ns, taken.end_ns);
    const auto found = traced.find(group.host_tgid);
    if (found == traced.end()) return std::nullopt;  // it has ended, and its last tick is told
    Traced &entry = found->second;
    const auto mm = ledger->view(counters.mm);
    if (!mm) return std::nullopt;
    view::Tick tick = tick_of(group, *mm);
    tick.window_updates = tick.ledger.updates - std::min(before, tick.ledger.updates);
    tick.process = judged(taken, facts.machine, id_key);
    const bool wanted = options.for_screen && facts.machine.scheme == core::Scheme::Thread;
    if (!wanted) tick.process.tasks = {};  // the ledger lists them
    tick.process.mm_id = mm_id(id_key, mm->mm, mm->generation);
    keep_walk(entry, tick);
    tick.updates_before = std::move(entry.updates_before);
    entry.updates_before.clear();
    if (options.threads.which == view::ThreadChoice::Which::Changed) {
        for (const core::TaskNet &task : tick.ledger.tasks)
            entry.updates_before[task.host_tid] = task.updates;
    }
    entry.last = tick.process;
    count(entry, tick);
    return tick;
}

}  // namespace rsslag::cli
