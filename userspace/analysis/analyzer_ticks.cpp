// SPDX-License-Identifier: BSD-2-Clause
// Makes ticks: a reading, the ledger's state, and the verdict from comparing them.
#include <algorithm>
#include <utility>

#include "analyzer_state.h"
#include "core/process_reading.h"
#include "core/reading_figures.h"
#include "fault_cause.h"

namespace rsslag::analysis {
namespace {

std::uint64_t all_updates(const core::MmView &mm) {
    return mm.updates + mm.updates_by_others;
}

}  // namespace

/// The part of a tick that does not depend on a reading.
core::Tick Analyzer::State::tick_of(const core::GroupView &group, const core::MmView &mm) const {
    core::Tick tick;
    tick.seq = seq;
    tick.time = time_of(now);
    tick.t_ns = since_start(now.t_ns);
    tick.page_size = facts.machine.page_size;
    tick.scheme = facts.machine.scheme;
    tick.calibration = facts.calibration;
    tick.state = group.state;
    tick.ledger = mm;
    tick.ledger.extremes = since_start(mm.extremes);
    tick.faults = mm.exited.faults;
    for (core::TaskNet &task : tick.ledger.tasks) {
        const auto found = faults.find(task.host_tid);
        const std::uint64_t counted_now = found == faults.end() ? 0 : found->second.user + found->second.kernel;
        if (!task.left) task.faults = counted_now - std::min(counted_now, task.faults_before);
        tick.faults += task.faults;
        task.last_flush_ns = since_start(task.last_flush_ns);
    }
    tick.lost = losses.lost();
    tick.lost_by = losses.by_cause;
    tick.needs_resync = mm.needs_resync;
    tick.threads = options.threads;
    tick.own = own;
    tick.emitted = std::max(losses.sent, order.records() + tick.lost);  // a count may come before or after its records
    tick.last_flushes = flushes_of(mm);
    return tick;
}

core::RecentGrowth Analyzer::State::recent_of(const core::MmView &mm) {
    core::RecentGrowth growth = recent->of(mm, now.t_ns);
    growth.from_ns = since_start(growth.from_ns);
    growth.course = since_start(std::move(growth.course));
    return growth;
}

namespace {

core::FlushCause cause_of_flush(std::uint16_t flags) {
    using enum core::FlushCause;
    if ((flags & (RSSLAG_TEARDOWN | RSSLAG_EXITING)) != 0) return Exit;
    if ((flags & RSSLAG_EXECVE) != 0) return Exec;
    if (const auto kernel = in_kernel_mode(flags)) return *kernel ? KernelFault : UserFault;
    return (flags & RSSLAG_BY_OTHER) != 0 ? Other : None;
}

}  // namespace

std::vector<core::LoggedFlush> Analyzer::State::flushes_of(const core::MmView &mm) const {
    std::vector<core::LoggedFlush> flushes;
    for (const auto &[update, applied] : flush_log) {
        const auto member = core::member_of(update.member);
        if (update.mm != mm.mm || !member) continue;
        core::LoggedFlush flush;
        flush.t_ns = since_start(update.t_ns);
        flush.cpu = update.cpu;
        flush.member = *member;
        flush.pages = *applied.reason == core::FlushReason::Fold ? applied.folded : applied.pages;
        flush.reason = *applied.reason;
        flush.cause = cause_of_flush(update.flags);
        flush.comm = ledger.comm_of(update.tid);
        const auto task = std::lower_bound(mm.tasks.begin(), mm.tasks.end(), update.tid,
                                           [](const core::TaskNet &net, int tid) { return net.host_tid < tid; });
        flush.tid = task != mm.tasks.end() && task->host_tid == update.tid ? task->tid : update.tid;
        flushes.push_back(std::move(flush));
    }
    return flushes;
}

void Analyzer::State::add_totals(const core::Tick &tick) {
    totals.updates += tick.ledger.updates;
    totals.updates_by_others += tick.ledger.updates_by_others;
    totals.faults += tick.faults;
    totals.resyncs += tick.ledger.resyncs;
    totals.disagreements += tick.ledger.disagreements;
    for (std::size_t i = 0; i < core::kFlushReasons; ++i) {
        const auto reason = static_cast<core::FlushReason>(i);
        if ((reason == core::FlushReason::Fold) != core::cpus_cache(facts.machine.scheme)) continue;
        totals.flush_reasons[std::string(core::name(reason))] += tick.ledger.flushes[i];
        if (reason != core::FlushReason::Direct) totals.flushes += tick.ledger.flushes[i];
    }
}

/// Keeps a bounded number of ended tasks per mm; the rest are only in the sum of ended tasks.
void Analyzer::State::take_ended_tasks() {
    constexpr std::size_t kMost = 4096;
    const auto weightier = [](const core::EndedTask &a, const core::EndedTask &b) {
        return std::pair(std::abs(a.task.net.rss().n), a.task.updates) >
               std::pair(std::abs(b.task.net.rss().n), b.task.updates);
    };
    for (core::EndedTask &each : ledger.take_ended_tasks()) {
        std::vector<core::EndedTask> &all = ended_tasks[each.generation];
        all.push_back(std::move(each));
        if (all.size() < 2 * kMost) continue;
        std::nth_element(all.begin(), all.begin() + kMost, all.end(), weightier);
        all.resize(kMost);
    }
}

std::vector<core::EndedTask> Analyzer::State::ended_tasks_of(const core::MmView &mm) {
    if (!options.ended_tasks) return {};
    take_ended_tasks();
    auto found = ended_tasks.extract(mm.generation);
    if (found.empty()) return {};
    for (core::EndedTask &each : found.mapped())
        each.task.uncertain += mm.possible_error - each.possible_error;
    return std::move(found.mapped());
}

/// Last ticks of ended processes; `all`: even if records of their end may be missing.
void Analyzer::State::finish_all(bool all) {
    for (const core::Ended &each : stop ? std::vector<core::Ended>() : ledger.take_ended(all))
        finish(each);
}

core::Tick Analyzer::State::unread_tick(const Traced &entry, const core::GroupView &group, const core::MmView &mm) {
    core::Tick tick = tick_of(group, mm);
    tick.read = false;
    tick.process = entry.last;
    tick.process.pid = group.tgid;
    tick.process.host_pid = group.host_tgid;
    tick.process.comm = group.comm;
    // The last reading may be of the previous program.
    tick.process.mm_id = core::mm_id(facts.id_key, mm.mm, mm.generation);
    tick.process.threads_count = static_cast<std::int64_t>(mm.tasks.size());
    tick.updates_before = entry.updates_before;
    tick.ledger.ended = ended_tasks_of(mm);
    if (recent) tick.recent = recent_of(mm);
    return tick;
}

/// The last tick of a process, or of a program that an exec has replaced.
void Analyzer::State::finish(const core::Ended &over) {
    Traced &entry = traced[over.group.host_tgid];
    core::Tick tick = unread_tick(entry, over.group, over.mm);
    if (recent && over.last) recent->forget(over.mm);
    const bool forked = over.group.forked && over.group.state == core::State::Exec;
    if (forked) entry.image = 0;
    count(entry, tick);
    if (over.last) add_totals(tick);  // otherwise the mm counts for another process that uses it
    reported.push_back(std::move(tick));
    entry.summary.state = over.group.state;
    if (over.group.state == core::State::Exited) {
        gone.add(std::move(entry.summary), over.group.host_tgid == command);
        traced.erase(over.group.host_tgid);
        forked_by.erase(over.group.host_tgid);
    } else {
        finish_image(entry, forked);
    }
}

/// The last ticks of processes that run on. Without them the records after the last reading would be in the totals of
/// the trace, but in no process.
void Analyzer::State::close_running() {
    for (const core::GroupView &group : ledger.groups()) {
        const auto mm = ledger.view(group.mm, group.host_tgid);
        if (!mm) continue;
        const auto known = traced.find(group.host_tgid);
        const bool any = known != traced.end() && known->second.summary.mm == mm->generation;
        const std::uint64_t updates = any ? known->second.updates : 0;
        const bool newly_lossy = any && mm->needs_resync != known->second.summary.final_approximate;
        // `thread` scheme: faults change it without an update.
        const bool changed = any && mm->exact() != known->second.summary.final;
        if (all_updates(*mm) == updates && !newly_lossy && !changed) continue;
        Traced &entry = traced[group.host_tgid];
        core::Tick tick = unread_tick(entry, group, *mm);
        count(entry, tick);
        reported.push_back(std::move(tick));
    }
}

/// What a fork held before its first exec belongs to its parent's program: it gets a summary row of its own.
void Analyzer::State::finish_image(Traced &entry, bool forked) {
    entry.walked.reset();
    entry.last.command_line.clear();
    entry.updates_before.clear();
    entry.image++;
    if (forked) {
        gone.add(std::exchange(entry.summary, {}));
    } else {
        entry.before = entry.summary.extremes;
    }
}

/// Reuses the walk of an earlier tick if the mm has had no update and no fault since.
void Analyzer::State::keep_walk(Traced &entry, core::Tick &tick) const {
    const std::uint64_t updates = all_updates(tick.ledger);
    if (tick.process.walk) {
        entry.walked = tick.process;
        entry.walked_ns = now.t_ns;
        entry.walked_updates = updates;
        entry.walked_faults = tick.faults;
        return;
    }
    const bool same = entry.walked && entry.walked_updates == updates && entry.walked_faults == tick.faults &&
                      entry.walked->verdict.exact == tick.process.verdict.exact;
    if (!same || tick.process.verdict.verdict != core::Verdict::Unwalked) return;
    constexpr std::uint64_t kMillisecond = 1'000'000;
    tick.stale_walk = true;
    tick.process.walk_state = entry.walked->walk_state;
    tick.process.walk = entry.walked->walk;
    tick.process.walk_age_ms = static_cast<std::int64_t>((now.t_ns - entry.walked_ns) / kMillisecond);
    tick.process.verdict = entry.walked->verdict;
}

core::Extremes Analyzer::State::since_start(core::Extremes extremes) const {
    for (std::uint64_t *const t_ns : {&extremes.most.t_ns, &extremes.least.t_ns, &extremes.lag_t_ns})
        *t_ns = since_start(*t_ns);
    for (core::Instants *const each : {&extremes.each_most_at, &extremes.each_least_at, &extremes.cached_most_at})
        for (core::Instant &at : *each)
            at.t_ns = since_start(at.t_ns);
    return extremes;
}

std::vector<core::CourseSpan> Analyzer::State::since_start(std::vector<core::CourseSpan> course) const {
    for (core::CourseSpan &span : course)
        span.t_ns = since_start(span.t_ns);
    return course;
}

/// And the course of all.
void Analyzer::State::add_extremes_of_all() {
    const auto read = [](const core::Tick &tick) { return tick.read; };
    const auto first = std::find_if(reported.begin(), reported.end(), read);
    if (first == reported.end()) return;
    first->course_of_all = since_start(recent->take_course_of_all());
    const core::Extremes all = since_start(ledger.extremes());
    for (core::Tick &tick : reported) {
        if (!tick.read) continue;
        tick.all = all;
        tick.all_processes = groups.size() + newcomers.size();
    }
}

void Analyzer::State::count(Traced &entry, core::Tick &tick) {
    core::Summary::Process &process = entry.summary;
    tick.ledger.extremes.image = entry.image;
    tick.ledger.extremes.comm = tick.process.comm;
    tick.ledger.extremes.grown = tick.ledger.last - tick.ledger.at_start;
    tick.ledger.extremes.grown_rss = tick.ledger.extremes.grown.rss();
    tick.extremes = entry.before ? core::highest(*entry.before, tick.ledger.extremes) : tick.ledger.extremes;
    process.extremes = tick.extremes;
    process.image = entry.image;
    process.mm = tick.ledger.generation;
    process.pid = tick.process.pid;
    process.host_pid = tick.process.host_pid.value_or(0);
    process.at_start = tick.ledger.at_start;
    process.start_approximate = tick.ledger.start_approximate;
    process.baseline_approximate = tick.ledger.baseline_approximate;
    process.final_approximate = tick.needs_resync;
    process.comm = tick.process.comm;
    process.baseline = tick.ledger.baseline;
    process.final = tick.ledger.exact();
    process.last = tick.ledger.last;
    entry.updates = all_updates(tick.ledger);
    if (tick.state != core::State::Running) return;
    const core::Verdict verdict = core::figures_of(tick).verdict;  // the one that the tick shows
    process.verdicts[std::string(core::name(verdict))]++;
}

/// `until_ns`: records of everything in the reading's window are from before that time.
std::optional<core::Tick> Analyzer::State::compared(Taken &taken, std::uint64_t until_ns) {
    const core::GroupView &group = taken.group;
    const core::RawReading &reading = taken.reading;
    const core::CounterReading &counters = reading.counters();
    const std::uint64_t before = ledger.updates(group.mm);
    apply_until(until_ns);
    if (stop) return std::nullopt;  // records from before the reading are missing
    if (ledger.ended_since(counters.mm, reading.begin_ns)) return std::nullopt;  // its last tick has the final numbers
    if (ledger.being_built(counters.mm)) return std::nullopt;                    // its EXEC record is still to come
    const bool alive = traced.count(group.host_tgid) != 0 && ledger.group(group.host_tgid);
    const bool start_lost = alive && !ledger.has(counters.mm);
    if (start_lost) take_up(group.host_tgid, counters, reading.comm, reading.begin_ns, reading.end_ns);
    ledger.compare(counters, reading.begin_ns, reading.end_ns);
    const auto found = traced.find(group.host_tgid);
    if (found == traced.end()) return std::nullopt;  // it has ended, and its last tick is out
    Traced &entry = found->second;
    const auto mm = ledger.view(counters.mm, group.host_tgid);
    if (!mm) return std::nullopt;
    core::Tick tick = tick_of(group, *mm);
    tick.ledger.ended = ended_tasks_of(*mm);
    if (recent) tick.recent = recent_of(*mm);
    tick.window_updates = tick.ledger.updates - std::min(before, tick.ledger.updates);
    tick.process = core::process_reading_of(reading, facts.machine, facts.id_key);
    const bool chosen = options.for_screen && core::tasks_cache(facts.machine.scheme);
    if (!chosen) tick.process.unlisted_tasks = std::exchange(tick.process.tasks, {}).size();  // the ledger lists them
    tick.process.mm_id = core::mm_id(facts.id_key, mm->mm, mm->generation);
    if (const auto parent = forked_by.find(group.host_tgid); tick.process.ppid == 0 && parent != forked_by.end())
        tick.process.ppid = parent->second;
    if (tick.process.command_line.empty() && tick.process.comm == entry.last.comm)
        tick.process.command_line = entry.last.command_line;
    keep_walk(entry, tick);
    tick.updates_before = std::move(entry.updates_before);
    entry.updates_before.clear();
    if (options.threads.which == core::ThreadChoice::Which::Changed) {
        for (const core::TaskNet &task : tick.ledger.tasks)
            entry.updates_before[task.host_tid] = task.updates;
    }
    entry.last = tick.process;
    count(entry, tick);
    return tick;
}

}  // namespace rsslag::analysis
