// SPDX-License-Identifier: BSD-2-Clause
// How a process starts to be traced, and with which counters.
#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "analyzer_state.h"
#include "core/text.h"

namespace rsslag::analysis {

/// `comm`: of the leader, which is not among the tasks if it has ended. Empty: an old recording lacks it.
void Analyzer::State::adopt(int host_tgid, const core::CounterReading &counters, const std::string &comm,
                            std::uint64_t begin_ns, std::uint64_t end_ns) {
    core::GroupView group;
    group.host_tgid = host_tgid;
    group.mm = counters.mm;
    group.comm = comm;
    for (const core::TaskReading &task : counters.tasks) {
        if (task.host_tgid != host_tgid) continue;
        group.tgid = task.tgid;
        if (task.host_tid == host_tgid || group.comm.empty()) group.comm = task.comm;
    }
    ledger.adopt(counters, group, begin_ns, end_ns);
    if (recent) recent->note(group);
    if (records != nullptr) records->on_adopted(group);
}

void Analyzer::State::take_up(int host_tgid, const core::CounterReading &counters, const std::string &comm,
                              std::uint64_t begin_ns, std::uint64_t end_ns) {
    adopt(host_tgid, counters, comm, begin_ns, end_ns);
    ledger.start_lost(counters.mm);
    adopted.emplace_back(host_tgid, counters.mm);
}

/// The kernel counts faults since tracing of the process started, which may be long before a recording starts.
void Analyzer::State::operator()(event::Attach &event) {
    const core::TimedCounters &timed = event.counters;
    adopt(event.host_tgid, timed.counters, timed.counters.comm, timed.begin_ns, timed.end_ns);
    for (const event::Faults::Task &task : event.faults.tasks) {
        faults[task.host_tid] = task.counts;
        ledger.had_faults(task.host_tid, task.counts.user + task.counts.kernel);
    }
}

void Analyzer::State::operator()(event::ExecAwaited &event) {
    command = event.host_tgid;
    stop_awaiting(event.host_tgid);
    awaited[event.host_tgid] = {event.host_tgid, event.tgid, event.mm};
    awaited_pids.emplace(event.tgid, event.host_tgid);
}

void Analyzer::State::stop_awaiting(int host_tgid) {
    const auto known = awaited.extract(host_tgid);
    if (!known.empty()) awaited_pids.erase({known.mapped().tgid, host_tgid});
}

void Analyzer::State::operator()(event::AtExec &event) {
    constexpr std::size_t kMost = 4096;  // execs whose records are lost
    if (event.counters.counters.tasks.size() != 1) return;
    if (at_exec.size() >= kMost) at_exec.clear();
    const int host_tid = event.counters.counters.tasks.front().host_tid;
    at_exec.insert_or_assign(host_tid, std::move(event.counters));
}

/// Starts the account of a process that is traced from this exec on, with the counters at the exec. The mm may have the
/// address of one that has ended.
void Analyzer::State::start_at_exec(const rsslag_task &exec) {
    const auto found = at_exec.find(exec.tid);
    if (found == at_exec.end()) return;
    core::TimedCounters timed = std::move(found->second);
    at_exec.erase(found);
    core::TaskReading &task = timed.counters.tasks.front();
    if (timed.counters.mm != exec.mm || timed.end_ns > exec.t_ns || ledger.group(exec.tgid)) return;
    task.comm = {exec.comm, strnlen(exec.comm, sizeof(exec.comm))};
    adopt(exec.tgid, timed.counters, task.comm, timed.begin_ns, timed.end_ns);
}

/// A process that matches a pattern could not be attached. If it is traced, it was its baseline that could not be read.
void Analyzer::State::note_not_traced(int pid, const core::Error &why) {
    if (why.kind == core::Kind::Gone || why.kind == core::Kind::Unsupported) return;  // a zombie has no memory
    const auto groups_now = ledger.groups();
    if (std::any_of(groups_now.begin(), groups_now.end(), [pid](const auto &group) { return group.tgid == pid; }))
        return;
    if (!totals.not_traced_reason) totals.not_traced_reason = core::harmless(why.what);
    if (pid != 0) totals.processes_not_traced += not_traced.insert(pid).second ? 1 : 0;
}

/// For a traced process without a baseline, for example one that matches since an exec: the counters are its baseline.
/// For a process whose exec is awaited and may be among the lost records: if it has another mm, it is traced from now.
void Analyzer::State::operator()(event::Counters &event) {
    if (event.reported) {
        const core::TimedCounters &timed = *event.reported;
        for (const core::TaskReading &task : timed.counters.tasks) {
            const auto group = task.tgid == event.pid ? ledger.group(task.host_tgid) : std::nullopt;
            if (!group || group->mm != timed.counters.mm || ledger.has(group->mm)) continue;
            adopt(group->host_tgid, timed.counters, timed.counters.comm, timed.begin_ns, timed.end_ns);
            ledger.start_missed(group->mm);
            totals.processes_read_late++;
        }
    }
    const auto found = awaited_pids.lower_bound({event.pid, INT_MIN});
    const bool awaits = found != awaited_pids.end() && found->first == event.pid;
    if (!awaits && !event.reported) note_not_traced(event.pid, event.reported.error());
    if (!awaits) return;
    const int host_tgid = found->second;
    if (event.reported && event.reported->counters.mm == awaited.at(host_tgid).mm) return;
    stop_awaiting(host_tgid);
    if (!event.reported) return;  // the process has ended
    const core::TimedCounters &timed = *event.reported;
    take_up(host_tgid, timed.counters, timed.counters.comm, timed.begin_ns, timed.end_ns);
}

}  // namespace rsslag::analysis
