// SPDX-License-Identifier: BSD-2-Clause
// Adds and removes tasks and mms, and finds the account that an update goes to.
#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/raw_reading.h"
#include "ledger_impl.h"

namespace rsslag::core {
namespace {

std::string reported_comm(const rsslag_task &record) {
    return {record.comm, strnlen(record.comm, sizeof(record.comm))};
}

}  // namespace

Ledger::Impl::Impl(const Options &given) : options(given), last_(static_cast<std::size_t>(std::max(given.cpus, 1))) {
    shared.keep_ended = given.ended_tasks;
}

/// Adds a task or replaces it.
Ledger::Impl::Task &Ledger::Impl::put(int tid, Task task) {
    Task &there = tasks[tid];
    tids_of_group.erase({there.host_tgid, tid});
    tids_of_group.emplace(task.host_tgid, tid);
    return there = std::move(task);
}

void Ledger::Impl::erase(std::unordered_map<int, Task>::iterator task) {
    tids_of_group.erase({task->second.host_tgid, task->first});
    tasks.erase(task);
}

/// Adds a group or replaces it.
void Ledger::Impl::put(const GroupView &group) {
    GroupView &there = groups[group.host_tgid];
    groups_of_mm.erase({there.mm, group.host_tgid});
    groups_of_mm.emplace(group.mm, group.host_tgid);
    there = group;
}

/// After a loss the peak of the sum is a lower bound. It is no lower than the peak of any single mm.
void Ledger::Impl::raise_to_one_mm(Extreme &most) const {
    const auto raise = [&most](const Extreme &one) {
        if (one.from <= most.from) return;
        const std::uint64_t processes = std::max<std::uint64_t>(most.processes, 1);
        most = one;
        most.processes = processes;
    };
    raise(highest_ended);
    for (const auto &[address, mm] : mms)
        raise(mm->extremes().most);
}

std::shared_ptr<MmAccount> Ledger::Impl::at(std::uint64_t mm) const {
    const auto found = mms.find(mm);
    return found == mms.end() ? nullptr : found->second;
}

/// Ends an mm: no more of its records follow, or its address belongs to another mm.
void Ledger::Impl::retire(const std::shared_ptr<MmAccount> &mm) {
    mm->finish();
    mm->release_former_tasks(UINT64_MAX);
    mm->close();
    if (const Extreme most = mm->extremes().most; most.from > highest_ended.from) highest_ended = most;
    if (mm->torn_down && !mm->needs_resync()) {
        ended++;
        ended_not_at_zero += mm->empty() ? 0 : 1;
    }
    forget_last();
    retired[mm->mm] = now;
    const auto found = mms.find(mm->mm);
    if (found == mms.end() || found->second != mm) return;
    for (const auto &[tid, account] : mm->others())
        forget_other(tid, mm->mm);
    mms.erase(found);
}

/// The mm of the update. No tracepoint marks the end of an mm: an update at mm_users 0 and a later one above 0 do.
MmAccount *Ledger::Impl::account_for(const rsslag_update &update) {
    const auto found = mms.find(update.mm);
    const bool teardown = (update.flags & RSSLAG_TEARDOWN) != 0;
    const bool newborn = !teardown && (update.flags & RSSLAG_NEWBORN) != 0;
    if (found != mms.end()) {
        const std::shared_ptr<MmAccount> mm = found->second;
        // Reclaim holds no reference to the mm: the BPF program may have read mm_users before the teardown and have
        // sent the record late.
        const bool late = (update.flags & RSSLAG_BY_OTHER) != 0 && !newborn && !mm->empty();
        const auto another = [&] { return mm->bound ? may_have_ended(*mm, update.t_ns) : mm->builder != update.tid; };
        const bool over = mm->torn_down ? !teardown && !late : newborn && another();
        if (!over) return mm.get();
        retire(mm);
    }
    if (!newborn) return nullptr;
    const std::shared_ptr<MmAccount> made = make(update.mm, update.t_ns);
    made->builder = update.tid;
    return made.get();
}

/// Whether an RSSLAG_NEWBORN update means that the mm at its address has ended. An mm whose counters are all 0 emits no
/// teardown record. Its tasks may not have reported leaving it, since exec frees the old mm before sched_process_exec.
/// If a task lives in the mm and the mm is not empty, a task of another mm has updated it, for example by truncating a
/// file that both map.
bool Ledger::Impl::may_have_ended(const MmAccount &mm, std::uint64_t t_ns) const {
    if (t_ns <= mm.bound_ns) return false;
    return mm.may_be_empty() || std::none_of(mm.own_tasks().begin(), mm.own_tasks().end(), [&](const auto &each) {
               const auto task = tasks.find(each.first);
               return task != tasks.end() && task->second.mm.get() == &mm;
           });
}

/// Adds an mm that was created during the trace.
std::shared_ptr<MmAccount> Ledger::Impl::make(std::uint64_t address, std::uint64_t t_ns) {
    auto &made = mms[address];
    made = std::make_shared<MmAccount>(options, address, ++generations, shared);
    made->born_ns = t_ns;
    made->born();
    if (t_ns < lost_records.until_ns) made->lost(lost_records.records);
    if (watching) {
        made->watch();
        watched.push_back(made);
    }
    return made;
}

/// A thread that execs takes the leader's TID once all other threads have exited, and its EXEC record comes later.
/// `may_be_survivor`: the only task left of the group may be that thread.
Ledger::Impl::Task *Ledger::Impl::task_of(int tid, bool may_be_survivor) {
    if (const auto task = tasks.find(tid); task != tasks.end()) return &task->second;
    if (!may_be_survivor || groups.find(tid) == groups.end()) return nullptr;
    const auto first = tids_of_group.lower_bound({tid, INT_MIN});
    const auto last = tids_of_group.upper_bound({tid, INT_MAX});
    if (first == last || std::next(first) != last) return nullptr;
    const int was = first->second;
    Task task = tasks.at(was);
    renumbered_tasks.push_back({tid, name_of(was, task)});
    erase(tasks.find(was));
    task.tid_before = std::exchange(task.tid, task.tgid);
    if (task.mm) task.mm->rename_own(was, tid);
    renumbered(was, tid);
    forget_last();
    return &put(tid, std::move(task));
}

Account &Ledger::Impl::account_of(MmAccount &mm, const rsslag_update &update, bool &lives_here) {
    const bool foreign = (update.flags & RSSLAG_BY_OTHER) != 0;
    const bool exiting = (update.flags & RSSLAG_EXITING) != 0;
    const Task *const task = task_of(update.tid, !foreign && !exiting);
    if (task != nullptr && task->mm.get() == &mm) {
        lives_here = true;
        return mm.own(update.tid);
    }
    // The last task of an untraced process that shares the mm frees it. Of the tasks that do not exit, each keeps its
    // own account: reclaim may update the mm during the teardown, and the order of one task's updates is known.
    lives_here = exiting && (update.flags & RSSLAG_TEARDOWN) != 0;
    if (lives_here) return mm.ended(update.tid);
    // From 6.16 the last task of a group exits before the mm is torn down. A task of this mm that is not known ended
    // before the mm was first read, unless the mm is not bound yet: then it is in an exec, and its EXEC record comes.
    const bool unknown = task == nullptr || task->mm == nullptr;
    const bool own = mm.bound && (update.flags & RSSLAG_OWN) != 0;
    lives_here = unknown && !foreign && ((task == nullptr && exiting) || own);
    if (lives_here) return mm.ended(update.tid);
    others[update.tid].insert(mm.mm);
    return mm.other(update.tid);
}

Ledger::Impl::Entry Ledger::Impl::entry_for(const rsslag_update &update) {
    Entry entry{update.mm, update.tid};
    entry.mm = account_for(update);
    if (entry.mm != nullptr) entry.account = &account_of(*entry.mm, update, entry.own);
    return entry;
}

/// Whether the update certainly bypasses the task's cache. This is so for an mm that no process lives in yet. It is
/// also so for the task's next update, because exec maps an argument page in the new mm and immediately charges it to
/// the old mm.
bool Ledger::Impl::surely_direct(const rsslag_update &update, const MmAccount &mm) {
    if (cpus_cache(options.scheme)) return false;
    if ((update.flags & RSSLAG_NEWBORN) != 0 && !mm.bound) {
        mm_builders.insert(update.tid);
        return true;
    }
    return !mm_builders.empty() && mm_builders.erase(update.tid) != 0 && (update.flags & RSSLAG_THRESHOLD) == 0;
}

Applied Ledger::Impl::apply(const rsslag_update &update) {
    now = std::max<std::uint64_t>(now, update.t_ns);
    Applied unknown;
    unknown.by_other = (update.flags & RSSLAG_BY_OTHER) != 0;
    if (!member_of(update.member)) return unknown;
    const auto applied_to = [&](const Entry &entry) {
        Applied applied = entry.mm->apply(update, *entry.account, entry.own, surely_direct(update, *entry.mm));
        // The task that makes an mm does not live in it yet.
        applied.by_other = !entry.own && (entry.mm->bound || unknown.by_other);
        return applied;
    };
    // With any other flag an mm or a task may start or end, or the task is of another mm: it is looked up each time.
    constexpr unsigned kPlain =
        RSSLAG_OF_USER_FAULT | RSSLAG_OF_KERNEL_FAULT | RSSLAG_OWN | RSSLAG_THRESHOLD | RSSLAG_PROMPT;
    Entry *const last = (update.flags & ~kPlain) == 0 && update.cpu < last_.size() ? &last_[update.cpu] : nullptr;
    if (last != nullptr && last->version == version && last->tid == update.tid && last->mm_address == update.mm &&
        last->mm != nullptr && !last->mm->torn_down) {
        return applied_to(*last);
    }
    const Entry entry = entry_for(update);
    if (entry.mm == nullptr) return unknown;
    const bool torn_down = entry.mm->torn_down;
    if (last != nullptr && !entry.account->tag) {  // the account of a task that has ended is released without notice
        *last = entry;
        last->version = version;
    }
    const Applied applied = applied_to(entry);
    if (entry.mm->torn_down != torn_down) count_processes();
    return applied;
}

void Ledger::Impl::count_processes() {
    shared.peaks.processes(groups.size() + shared.waiting);
}

/// How many updates of this sum have not been applied yet. A sum that was read while it was open (RSSLAG_PARTIAL) is
/// sent again. A sum that another CPU sent may be sent again, too.
std::uint64_t Ledger::Impl::missing_updates(const rsslag_sum &sum) {
    Reported &reported = reported_[sum.of].recent[sum.number % kReportedSums];
    if (static_cast<std::int32_t>(sum.number - reported.number) < 0) return 0;
    if (sum.number != reported.number) reported = {sum.number, 0};
    if (sum.updates <= reported.updates) return 0;
    return sum.updates - std::exchange(reported.updates, sum.updates);
}

/// Whether a later sum of this CPU and mm has been applied: another CPU sent one of the two, and was delayed.
bool Ledger::Impl::overtaken(const rsslag_sum &sum) {
    ReportedByCpu &reported = reported_[sum.of];
    if (static_cast<std::int32_t>(sum.number - reported.last) < 0) return reported.last_mm == sum.mm;
    reported.last = sum.number;
    reported.last_mm = sum.mm;
    return false;
}

void Ledger::Impl::apply(rsslag_sum sum) {
    now = std::max<std::uint64_t>(now, sum.t_ns);
    if (sum.of >= last_.size()) return;
    const std::uint64_t updates = missing_updates(sum);
    const std::shared_ptr<MmAccount> mm = updates == 0 ? nullptr : at(sum.mm);
    if (!mm) return;
    if (overtaken(sum)) {
        sum.members = 0;  // the later sum has what the CPU cached; the share of this sum is unknown
        mm->lost(1);
    }
    const int tid = mm->tid_now(sum.tid);
    // For an mm that no process lives in yet, this TID is that of a thread that execs and has taken it from its leader.
    // For other mms it is the leader's own.
    const bool foreign = (sum.flags & RSSLAG_BY_OTHER) != 0;
    const Task *const task = task_of(tid, !foreign && !mm->bound);
    const bool alive_here = task != nullptr && task->mm == mm;
    if (alive_here || mm->own_tasks().count(tid) != 0) {  // a task that has left by exec still has its account
        mm->apply(sum, mm->own(tid), updates, true);
    } else if (foreign || !mm->bound) {
        others[tid].insert(mm->mm);
        mm->apply(sum, mm->other(tid), updates, false);
    } else {  // the sum came late: the task has ended or left
        mm->apply(sum, mm->ended(tid), updates, true);
    }
}

/// A new task has this TID. The account of the previous task in other mms is kept as that of an ended task.
void Ledger::Impl::tid_reused(int tid) {
    const auto foreign = foreign_tasks.extract(tid);
    const auto updated = others.extract(tid);
    if (updated.empty()) return;
    const TaskName name = foreign.empty() ? TaskName{} : name_of(tid, foreign.mapped());
    for (const std::uint64_t address : updated.mapped())
        if (const auto mm = at(address)) mm->end_other(tid, name, now, MmTasks::End::Known);
}

/// The mm has no account of this foreign task any more.
void Ledger::Impl::forget_other(int tid, std::uint64_t mm) {
    if (const auto other = others.find(tid); other != others.end()) other->second.erase(mm);
    if (const auto task = foreign_tasks.find(tid); task != foreign_tasks.end()) task->second.used = seen_records;
}

TaskName Ledger::Impl::name_of(int host_tid, const Task &task) {
    return {task.tid > 0 ? task.tid : host_tid, task.tgid > 0 ? task.tgid : task.host_tgid, task.comm};
}

/// Forgets foreign tasks that no mm has an account of, whenever their number has doubled. No record shows their end.
/// After that many SEEN records of others the BPF program, which remembers 4,096 tasks, sends one before the next
/// update of such a task.
void Ledger::Impl::forget_foreign_tasks() {
    constexpr std::size_t kMost = 16'384;
    if (others.size() + foreign_tasks.size() <= 2 * foreign_left + kMost) return;
    std::erase_if(others, [](const auto &each) { return each.second.empty(); });
    std::erase_if(foreign_tasks, [this](const auto &each) {
        return others.count(each.first) == 0 && each.second.used + kMost < seen_records;
    });
    foreign_left = others.size() + foreign_tasks.size();
}

/// A thread has taken its leader's TID.
void Ledger::Impl::renumbered(int from, int to) {
    tid_reused(to);
    auto updated = others.extract(from);
    if (updated.empty()) return;
    for (const std::uint64_t address : updated.mapped())
        if (const auto mm = at(address)) mm->rename_other(from, to);
    others[to] = std::move(updated.mapped());
}

void Ledger::Impl::new_task(const rsslag_task &record) {
    mm_builders.erase(record.parent);  // a fork made the mm, not an exec
    const bool same_group = (record.flags & RSSLAG_SAME_GROUP) != 0;
    const bool traced = (record.flags & RSSLAG_TRACED) != 0;
    const bool shares = (record.flags & RSSLAG_SHARES_MM) != 0;
    std::shared_ptr<MmAccount> mm = at(record.mm);
    if (!traced && !shares) {
        if (mm && !mm->bound) retire(mm);  // a child that is not traced
        return;
    }
    // A late record of a task that the first reading has found already.
    if (const auto known = tasks.find(record.tid); mm && known != tasks.end() && known->second.mm == mm &&
                                                   known->second.host_tgid == record.tgid &&
                                                   mm->read_after(record.t_ns))
        return;
    // The previous task with this TID may have taken its leader's for an exec.
    if (const auto old = tasks.find(record.tid); old != tasks.end()) task_of(old->second.host_tgid, true);
    if (const auto old = tasks.find(record.tid); old != tasks.end()) {  // its exit record is missing
        if (old->second.mm) old->second.mm->end_own(record.tid, 0, name_of(record.tid, old->second), now);
        erase(old);
    }
    tid_reused(record.tid);
    if (mm && (mm->torn_down || (!shares && mm->bound))) {  // an earlier mm at this address
        retire(mm);
        mm = nullptr;
    }
    if (!mm && !shares && record.mm != 0) mm = make(record.mm, record.t_ns);  // the parent had no pages to copy
    if (mm) {
        mm->bind(record.t_ns);
        mm->own(record.tid).cached_ns = record.t_ns;
    }
    put(record.tid, {record.ns_tid, record.ns_tgid, record.tgid, reported_comm(record), mm});
    if (!same_group && traced) {
        if (mm && shares) mm->sharer_born(record.tgid, record.t_ns);
        put({record.tgid, record.ns_tgid, reported_comm(record), record.mm, State::Running, true, record.t_ns});
    }
}

void Ledger::Impl::exec(const rsslag_task &record) {
    std::shared_ptr<MmAccount> mm = at(record.mm);
    // No other process lives in an mm before its exec: the records of an earlier mm's end and of this one's start were
    // lost.
    const auto own = groups.find(record.tgid);
    const bool known = own != groups.end() && own->second.mm == record.mm;  // read at its exec
    if (mm && mm->bound && !known && !mm->read_after(record.t_ns)) {
        retire(mm);
        mm = make(record.mm, record.t_ns);
        mm->start_lost();
    }
    Task task{record.ns_tid, record.ns_tgid, record.tgid, reported_comm(record), mm};
    auto old = tasks.find(record.old_tid);
    if (old == tasks.end() || old->second.host_tgid != record.tgid) {
        old = tasks.find(record.tid);  // it has taken its leader's TID already
    }
    std::shared_ptr<MmAccount> left = old == tasks.end() ? nullptr : old->second.mm;
    const std::uint64_t before = old == tasks.end() ? 0 : old->second.faults_before;
    const std::uint64_t counted = record.user_faults + record.kernel_faults;
    const std::uint64_t faults = counted - std::min(counted, before);
    // With its leader's TID a thread gets new counts. Recordings of earlier versions have no counts here.
    if (record.old_tid == record.tid) task.faults_before = std::max(before, counted);
    TaskName was = old == tasks.end() ? TaskName{} : name_of(record.tid, old->second);
    if (old != tasks.end() && old->second.tid_before != 0) was.tid = old->second.tid_before;
    if (old != tasks.end() && old->first != record.tid) {
        if (left) left->rename_own(record.old_tid, record.tid);
        erase(old);
        renumbered(record.old_tid, record.tid);
    }
    if (task.mm) {
        task.mm->bind(record.t_ns);
        task.mm->own(record.tid).cached_ns = record.t_ns;
        task.mm->adopt_other(record.tid);
        forget_other(record.tid, record.mm);
    }
    put(record.tid, task);
    const auto group = groups.find(record.tgid);
    if (group == groups.end())
        return put({record.tgid, record.ns_tgid, task.comm, record.mm, State::Running, false, record.t_ns});
    if (left && left != task.mm) {
        const bool used = alive_in(*left, record.tgid);
        if (used)
            left->end_own(record.tid, faults, was, now);
        else
            left->leave_own(record.tid, faults, was);
        if (used && group->second.forked) {
            left->forget_sharer(record.tgid);  // it only used the mm of another process (vfork)
        } else {
            if (used) left->sharer_ended(record.tgid);
            GroupView as_it_was = group->second;
            as_it_was.state = State::Exec;
            leaving.push_back({as_it_was, left, record.t_ns});
        }
    }
    GroupView next = group->second;
    next.comm = task.comm;
    next.mm = record.mm;
    next.forked = false;
    put(next);
}

bool Ledger::Impl::alive_in(const MmAccount &mm, int except) const {
    auto group = groups_of_mm.lower_bound({mm.mm, INT_MIN});
    if (group != groups_of_mm.end() && *group == std::pair(mm.mm, except)) ++group;
    return group != groups_of_mm.end() && group->first == mm.mm;
}

void Ledger::Impl::exit(const rsslag_task &record) {
    const auto task = tasks.find(record.tid);
    if (task != tasks.end()) task->second.comm = reported_comm(record);  // an untraced one has no RENAME record
    std::shared_ptr<MmAccount> mm = task == tasks.end() ? nullptr : task->second.mm;
    const std::uint64_t faults = record.user_faults + record.kernel_faults;
    if (mm)
        mm->end_own(record.tid, faults - std::min(faults, task->second.faults_before),
                    name_of(record.tid, task->second), now);
    if (task != tasks.end()) {
        // Its accounts in other mms keep its name.
        if (others.count(record.tid) != 0) {
            Task &foreign = foreign_tasks[record.tid] = task->second;
            foreign.mm.reset();
            foreign.used = seen_records;
        }
        erase(task);
    }
    if ((record.flags & RSSLAG_GROUP_DEAD) != 0) leave(record.tgid, std::move(mm), record.t_ns);
}

/// The last task of a group has ended.
void Ledger::Impl::leave(int host_tgid, std::shared_ptr<MmAccount> mm, std::uint64_t t_ns) {
    const auto group = groups.find(host_tgid);
    if (group == groups.end()) return;
    GroupView as_it_was = group->second;
    as_it_was.state = State::Exited;
    if (!mm) mm = at(as_it_was.mm);
    if (mm) {
        leaving.push_back({as_it_was, mm, t_ns});
        mm->wait_for_end(1);
        if (!mm->torn_down && alive_in(*mm, host_tgid)) mm->sharer_ended(host_tgid);
    } else {
        groups_unread++;
    }
    groups_of_mm.erase({group->second.mm, host_tgid});
    groups.erase(group);
}

void Ledger::Impl::vanished(int host_tgid) {
    std::shared_ptr<MmAccount> mm;
    for (auto each = tids_of_group.lower_bound({host_tgid, INT_MIN});
         each != tids_of_group.end() && each->first == host_tgid;) {
        const auto task = tasks.find((each++)->second);
        if (task->second.mm) {
            mm = task->second.mm;
            mm->end_own(task->first, 0, name_of(task->first, task->second), now);
        }
        erase(task);
    }
    leave(host_tgid, std::move(mm), now);
}

void Ledger::Impl::seen(const rsslag_task &record) {
    Task task{record.ns_tid, record.ns_tgid, record.tgid, reported_comm(record), nullptr};
    // The record comes before the task's first update, and again if the kernel side has had too many tasks since.
    const auto known = foreign_tasks.find(record.tid);
    if (known != foreign_tasks.end() && (known->second.host_tgid != task.host_tgid || known->second.comm != task.comm))
        tid_reused(record.tid);
    task.used = ++seen_records;
    foreign_tasks[record.tid] = std::move(task);
}

void Ledger::Impl::rename(const rsslag_task &record) {
    if ((record.flags & RSSLAG_IN_EXECVE) != 0) return;  // the EXEC record has the name; the old mm keeps the old one
    const auto task = tasks.find(record.tid);
    if (task != tasks.end()) task->second.comm = reported_comm(record);
    const auto group = groups.find(record.tid);
    if (group != groups.end()) group->second.comm = reported_comm(record);
}

/// Updates the names of tasks of groups that are not traced, which have no RENAME record.
void Ledger::Impl::take_names(const CounterReading &reading) {
    for (const TaskReading &each : reading.tasks) {
        const auto task = tasks.find(each.host_tid);
        if (task != tasks.end() && groups.count(task->second.host_tgid) == 0) task->second.comm = each.comm;
    }
}

/// Ends tasks that the reading lacks and that had no exit record: tasks of a group that is not traced, in a shared mm.
/// Such a task has exited or run an exec.
void Ledger::Impl::drop_missing(MmAccount &mm, const CounterReading &reading, std::uint64_t begin_ns) {
    std::unordered_set<int> there;
    for (const TaskReading &task : reading.tasks)
        there.insert(task.host_tid);
    std::vector<int> missing;
    for (const auto &[tid, account] : mm.own_tasks()) {
        const bool older = account.cached_ns + kReadingMarginNs < begin_ns;
        if (older && there.count(tid) == 0) missing.push_back(tid);
    }
    for (const int tid : missing) {
        const auto task = tasks.find(tid);
        if (task == tasks.end() || groups.count(task->second.host_tgid) != 0) continue;
        mm.end_own(tid, 0, name_of(tid, task->second), now);
        erase(task);
        forget_last();
    }
}

void Ledger::Impl::name_extremes(Extremes &extremes) const {
    const auto name = [this](int &tid) {
        const auto task = tid == 0 ? tasks.end() : tasks.find(tid);
        if (task != tasks.end() && task->second.tid != 0) tid = task->second.tid;
    };
    name(extremes.most.tid);
    name(extremes.least.tid);
    for (Instants *const each : {&extremes.each_most_at, &extremes.each_least_at, &extremes.cached_most_at})
        for (Instant &at : *each)
            name(at.tid);
}

void Ledger::Impl::name_tasks(MmView &view) const {
    name_extremes(view.extremes);
    for (auto *list : {&view.tasks, &view.others}) {
        for (TaskNet &net : *list) {
            if (net.left) continue;
            auto task = tasks.find(net.host_tid);
            if (task == tasks.end()) {
                task = foreign_tasks.find(net.host_tid);
                if (task == foreign_tasks.end()) continue;
            }
            net.comm = task->second.comm;
            net.tid = task->second.tid;
            net.tgid = task->second.tgid;
            net.faults_before = task->second.faults_before;
        }
    }
}

}  // namespace rsslag::core
