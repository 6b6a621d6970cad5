// SPDX-License-Identifier: BSD-2-Clause
#include "core/process_reading.h"

#include <algorithm>
#include <set>

namespace rsslag::core {

Finding ProcessReading::finding() const {
    const auto hides = [](const auto &cacher) { return caches_rss(cacher.cached); };
    const auto cachers =
        std::count_if(tasks.begin(), tasks.end(), hides) + std::count_if(cpus.begin(), cpus.end(), hides);
    Finding finding;
    finding.pid = pid;
    finding.stat = readers.stat;
    finding.cached = verdict.cached;
    finding.flushed = verdict.flushed;
    finding.leader_gone = leader_gone;
    finding.exact_rss = verdict.exact.rss();
    finding.cachers = static_cast<std::size_t>(cachers);
    finding.bound = bound;
    finding.verdict = verdict.verdict;
    return finding;
}

ProcessReading process_reading_of(const RawReading &raw, const Machine &machine, const IdKey &id_key) {
    ProcessReading out;
    const CounterReading &reading = raw.counters();
    out.pid = raw.pid;
    out.start_ticks = raw.start_ticks;
    out.uid = raw.uid;
    out.comm = raw.comm;
    out.ppid = raw.ppid;
    out.command_line = raw.command_line;
    out.threads_count = raw.threads_count;
    out.leader_gone = raw.leader_gone;
    out.mm_id = mm_id(id_key, reading.mm);
    std::set<int> pids;
    for (const TaskReading &task : reading.tasks) {
        if (task.tgid > 0) pids.insert(task.tgid);
        if (task.tgid == raw.pid) out.host_pid = task.host_tgid;
    }
    out.mm_pids.assign(pids.begin(), pids.end());
    out.readers = raw.readers;
    out.hugetlb = raw.hugetlb;
    out.walk_state = raw.bracket.walk_state;
    out.walk = raw.bracket.walk;
    out.verdict = reconcile(raw.bracket, machine.page_size, raw.evidence);
    Machine then = machine;
    if (raw.cpus_online > 0) {
        then.cpus_present = std::max(machine.cpus_present, machine.cpus_online);
        then.cpus_online = raw.cpus_online;
    }
    out.bound = bound(then, static_cast<std::int64_t>(reading.tasks.size()));
    out.snapshot_us = reading.took_us;
    out.cpus = reading.last.cpus;
    out.tasks = reading.tasks;
    return out;
}

}  // namespace rsslag::core
