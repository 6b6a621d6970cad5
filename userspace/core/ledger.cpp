// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/ledger.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "mm_account.h"

namespace rsslag::core {
namespace {

/// A teardown goes through the page tables: that no more of it comes is known at 0, else after this time.
constexpr std::uint64_t kTeardownNs = 20'000'000;

std::string told_comm(const rsslag_task &record) {
    return {record.comm, strnlen(record.comm, sizeof(record.comm))};
}

struct Task {
    int tid = 0;   ///< in rsslag's PID namespace
    int tgid = 0;  ///< likewise
    int host_tgid = 0;
    std::string comm;
    std::shared_ptr<MmAccount> mm;  ///< null: not known yet, or left
};

/// A group has left an mm: told once nothing of the teardown is missing.
struct Leaving {
    GroupView group;
    std::shared_ptr<MmAccount> mm;
    std::uint64_t t_ns = 0;
};

}  // namespace

std::string_view name(FlushReason reason) {
    switch (reason) {
        case FlushReason::Threshold: return "threshold";
        case FlushReason::Zap: return "zap";
        case FlushReason::Exec: return "exec";
        case FlushReason::Exit: return "exit";
        case FlushReason::Direct: return "direct";
        case FlushReason::Fold: break;
    }
    return "fold";
}

std::string_view name(State state) {
    switch (state) {
        case State::Running: return "running";
        case State::Exited: return "exited";
        case State::Exec: break;
    }
    return "exec";
}

struct Ledger::Impl {
    explicit Impl(const Options &given) : options(given) {}

    Options options;
    std::unordered_map<std::uint64_t, std::shared_ptr<MmAccount>> mms;
    std::unordered_map<int, Task> tasks;      ///< by the kernel's TID
    std::unordered_map<int, Task> strangers;  ///< of other mms, that updated one of these
    std::map<int, GroupView> groups;          ///< by the kernel's TGID
    std::deque<Leaving> leaving;
    std::uint64_t generations = 0;
    std::uint64_t ended = 0, ended_not_at_zero = 0;
    std::uint64_t now = 0;
    bool watching = false;  ///< all, until it ends

    // The last mm and task are most often the next ones, too.
    MmAccount *last_mm = nullptr;

    MmAccount *find(std::uint64_t mm);
    std::shared_ptr<MmAccount> at(std::uint64_t mm) const;
    MmAccount *account_for(const rsslag_update &update);
    void retire(const std::shared_ptr<MmAccount> &mm);
    Account &account_of(MmAccount &mm, const rsslag_update &update, bool &member);
    void new_task(const rsslag_task &record);
    bool lives_in(const MmAccount &mm, int but) const;
    void exec(const rsslag_task &record);
    void exit(const rsslag_task &record);
    void name_tasks(MmView &view) const;
};

MmAccount *Ledger::Impl::find(std::uint64_t mm) {
    if (last_mm != nullptr && last_mm->mm == mm) return last_mm;
    const auto found = mms.find(mm);
    if (found == mms.end()) return nullptr;
    last_mm = found->second.get();
    return last_mm;
}

std::shared_ptr<MmAccount> Ledger::Impl::at(std::uint64_t mm) const {
    const auto found = mms.find(mm);
    return found == mms.end() ? nullptr : found->second;
}

/// What is left of an mm once its address belongs to another, or nothing more is to come.
void Ledger::Impl::retire(const std::shared_ptr<MmAccount> &mm) {
    if (mm->torn_down && !mm->doubtful()) {
        ended++;
        mm->advance(now + 2 * FoldSolver::kLateNs);
        ended_not_at_zero += mm->empty() ? 0 : 1;
    }
    if (last_mm == mm.get()) last_mm = nullptr;
    if (const auto found = mms.find(mm->mm); found != mms.end() && found->second == mm) mms.erase(found);
}

/// The mm that the update is about. No tracepoint marks an mm's end: users at 0 and then above it again do.
MmAccount *Ledger::Impl::account_for(const rsslag_update &update) {
    MmAccount *mm = find(update.mm);
    const bool teardown = (update.flags & RSSLAG_TEARDOWN) != 0;
    if (mm != nullptr && mm->torn_down && !teardown) {
        retire(at(update.mm));
        mm = nullptr;
    }
    if (mm != nullptr || teardown || (update.flags & RSSLAG_NEWBORN) == 0) return mm;
    auto made = std::make_shared<MmAccount>(options, update.mm, ++generations);
    mm = made.get();
    if (watching) mm->watch();
    mms[update.mm] = std::move(made);
    last_mm = mm;
    return mm;
}

Account &Ledger::Impl::account_of(MmAccount &mm, const rsslag_update &update, bool &member) {
    const auto task = tasks.find(update.tid);
    if (task != tasks.end() && task->second.mm.get() == &mm) {
        member = true;
        return mm.member(update.tid);
    }
    // From 6.16 the last task of a group exits before the mm is torn down.
    if (task == tasks.end() && (update.flags & RSSLAG_EXITING) != 0 && (update.flags & RSSLAG_BY_OTHER) == 0) {
        member = true;
        return mm.ended();
    }
    // A thread that execs takes its leader's number before it leaves the old mm, and is told of only after.
    const auto group = task == tasks.end() ? groups.find(update.tid) : groups.end();
    member = group != groups.end() && group->second.mm == mm.mm && (update.flags & RSSLAG_BY_OTHER) == 0;
    return member ? mm.member(update.tid) : mm.other(update.tid);
}

void Ledger::Impl::new_task(const rsslag_task &record) {
    const bool same_group = (record.flags & RSSLAG_SAME_GROUP) != 0;
    const bool wanted = (record.flags & RSSLAG_WANTED) != 0;
    const bool shares = (record.flags & RSSLAG_SHARES_MM) != 0;
    std::shared_ptr<MmAccount> mm = at(record.mm);
    if (!wanted && !shares) {
        if (mm && !mm->bound) retire(mm);  // a child that nobody asked for
        return;
    }
    if (const auto old = tasks.find(record.tid); old != tasks.end()) {  // its exit was not told
        if (old->second.mm) old->second.mm->end_member(record.tid, 0);
        tasks.erase(old);
    }
    if (mm) {
        mm->bound = true;
        mm->member(record.tid);
    }
    tasks[record.tid] = {record.ns_tid, record.ns_tgid, record.tgid, told_comm(record), mm};
    if (!same_group && wanted) {
        groups[record.tgid] = {record.tgid, record.ns_tgid, told_comm(record), record.mm, State::Running};
    }
}

void Ledger::Impl::exec(const rsslag_task &record) {
    Task task{record.ns_tid, record.ns_tgid, record.tgid, told_comm(record), at(record.mm)};
    const auto old = tasks.find(record.old_tid);
    std::shared_ptr<MmAccount> left = old == tasks.end() ? nullptr : old->second.mm;
    if (record.old_tid != record.tid) {
        if (left) left->rename_member(record.old_tid, record.tid);
        tasks.erase(record.old_tid);
    }
    if (task.mm) {
        task.mm->bound = true;
        task.mm->member(record.tid);
        for (const int tid : {record.old_tid, record.tid})
            task.mm->adopt_other(tid, record.tid);
    }
    tasks[record.tid] = task;
    const auto group = groups.find(record.tgid);
    if (group == groups.end()) {
        groups[record.tgid] = {record.tgid, record.ns_tgid, task.comm, record.mm, State::Running};
        return;
    }
    if (left && left != task.mm) {
        if (lives_in(*left, record.tgid)) {
            left->end_member(record.tid, 0);  // it only borrowed it, as vfork does
        } else {
            GroupView as_it_was = group->second;
            as_it_was.state = State::Exec;
            leaving.push_back({as_it_was, left, record.t_ns});
        }
    }
    group->second.comm = task.comm;
    group->second.mm = record.mm;
}

/// Whether another group than this one lives in the mm.
bool Ledger::Impl::lives_in(const MmAccount &mm, int but) const {
    return std::any_of(groups.begin(), groups.end(),
                       [&](const auto &each) { return each.first != but && each.second.mm == mm.mm; });
}

void Ledger::Impl::exit(const rsslag_task &record) {
    const auto task = tasks.find(record.tid);
    std::shared_ptr<MmAccount> mm = task == tasks.end() ? nullptr : task->second.mm;
    if (mm) mm->end_member(record.tid, record.user_faults + record.kernel_faults);
    if (task != tasks.end()) tasks.erase(task);
    const auto group = groups.find(record.tgid);
    if (group == groups.end() || (record.flags & RSSLAG_GROUP_DEAD) == 0) return;
    GroupView as_it_was = group->second;
    as_it_was.state = State::Exited;
    if (!mm) mm = at(as_it_was.mm);
    if (mm) leaving.push_back({as_it_was, mm, record.t_ns});
    groups.erase(group);
}

void Ledger::Impl::name_tasks(MmView &view) const {
    for (auto *list : {&view.tasks, &view.others}) {
        for (TaskNet &net : *list) {
            auto task = tasks.find(net.host_tid);
            if (task == tasks.end()) {
                task = strangers.find(net.host_tid);
                if (task == strangers.end()) continue;
            }
            net.comm = task->second.comm;
            net.tid = task->second.tid;
            net.tgid = task->second.tgid;
        }
    }
}

Ledger::Ledger(const Options &options) : impl_(std::make_unique<Impl>(options)) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger &&) noexcept = default;
Ledger &Ledger::operator=(Ledger &&) noexcept = default;

Applied Ledger::apply(const rsslag_update &update) {
    impl_->now = std::max<std::uint64_t>(impl_->now, update.t_ns);
    MmAccount *const mm = impl_->account_for(update);
    if (mm == nullptr || update.member >= kMembers) return {};
    bool member = false;
    Account &account = impl_->account_of(*mm, update, member);
    return mm->apply(update, account, member);
}

void Ledger::apply(const rsslag_fault &fault) {
    impl_->now = std::max<std::uint64_t>(impl_->now, fault.t_ns);
    const auto task = impl_->tasks.find(fault.tid);
    if (task != impl_->tasks.end() && task->second.mm && task->second.mm->mm == fault.mm) task->second.mm->apply(fault);
}

void Ledger::apply(const rsslag_task &record) {
    impl_->now = std::max<std::uint64_t>(impl_->now, record.t_ns);
    switch (record.kind) {
        case RSSLAG_NEWTASK: impl_->new_task(record); break;
        case RSSLAG_EXEC: impl_->exec(record); break;
        case RSSLAG_EXIT: impl_->exit(record); break;
        case RSSLAG_SEEN:
            impl_->strangers[record.tid] = {record.ns_tid, record.ns_tgid, record.tgid, told_comm(record), nullptr};
            break;
        case RSSLAG_RENAME: {
            if ((record.flags & RSSLAG_IN_EXECVE) != 0) break;  // its EXEC tells, once the old mm is left
            const auto task = impl_->tasks.find(record.tid);
            if (task != impl_->tasks.end()) task->second.comm = told_comm(record);
            const auto group = impl_->groups.find(record.tid);
            if (group != impl_->groups.end()) group->second.comm = told_comm(record);
            break;
        }
        default: break;
    }
}

void Ledger::advance(std::uint64_t t_ns) {
    impl_->now = std::max(impl_->now, t_ns);
    std::vector<std::shared_ptr<MmAccount>> over;
    for (auto &[address, mm] : impl_->mms) {
        mm->advance(t_ns);
        // Made and destroyed again, as a failing PATH search does.
        if (!mm->bound && mm->torn_down && (mm->empty() || mm->last_ns + kTeardownNs < t_ns)) over.push_back(mm);
    }
    for (const auto &mm : over)
        impl_->retire(mm);
}

void Ledger::adopt(const CounterReading &reading, const GroupView &group, std::uint64_t begin_ns,
                   std::uint64_t end_ns) {
    auto &mm = impl_->mms[reading.mm];
    if (!mm || mm->torn_down) {
        mm = std::make_shared<MmAccount>(impl_->options, reading.mm, ++impl_->generations);
        impl_->last_mm = nullptr;
        mm->adopt(reading, begin_ns, end_ns);
    }
    for (const TaskReading &task : reading.tasks)
        impl_->tasks[task.host_tid] = {task.tid, task.tgid, task.host_tgid, task.comm, mm};
    impl_->groups[group.host_tgid] = group;
}

void Ledger::watch(std::uint64_t mm) {
    if (MmAccount *const account = impl_->find(mm)) account->watch();
}

void Ledger::watch_all() {
    impl_->watching = true;
    for (auto &[address, mm] : impl_->mms)
        mm->watch();
}

void Ledger::end_watch() {
    impl_->watching = false;
    for (auto &[address, mm] : impl_->mms)
        mm->end_watch();
}

Check Ledger::compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    MmAccount *const mm = impl_->find(reading.mm);
    if (mm == nullptr || mm->torn_down) return {};
    const Check check = mm->compare(reading, begin_ns, end_ns);
    if (!impl_->watching) mm->end_watch();
    // A task that the reading lacks and of which no exit came (another group's that shared the mm).
    if (check.quiet) {
        std::vector<int> missing;
        for (const auto &[tid, account] : mm->members()) {
            const auto same = [tid = tid](const TaskReading &task) { return task.host_tid == tid; };
            if (std::none_of(reading.tasks.begin(), reading.tasks.end(), same)) missing.push_back(tid);
        }
        for (const int tid : missing) {
            const auto task = impl_->tasks.find(tid);
            if (task == impl_->tasks.end() || impl_->groups.count(task->second.host_tgid) != 0) continue;
            mm->end_member(tid, 0);
            impl_->tasks.erase(task);
        }
    }
    return check;
}

void Ledger::records_lost() {
    for (auto &[address, mm] : impl_->mms)
        mm->lost();
}

bool Ledger::doubtful(std::uint64_t mm) const {
    const auto account = impl_->at(mm);
    return account && account->doubtful();
}

std::optional<MmView> Ledger::view(std::uint64_t mm) const {
    const auto account = impl_->at(mm);
    if (!account || !account->bound) return std::nullopt;
    MmView view = account->view();
    impl_->name_tasks(view);
    return view;
}

std::vector<GroupView> Ledger::groups() const {
    std::vector<GroupView> all;
    for (const auto &[tgid, group] : impl_->groups)
        all.push_back(group);
    return all;
}

std::vector<Ended> Ledger::take_ended() {
    std::vector<Ended> done;
    std::deque<Leaving> rest;
    for (Leaving &each : impl_->leaving) {
        const std::uint64_t since = std::max(each.t_ns, each.mm->last_ns);
        const bool complete = each.mm->torn_down && each.mm->empty();
        if (!complete && since + kTeardownNs >= impl_->now) {
            rest.push_back(std::move(each));
            continue;
        }
        MmView view = each.mm->view();
        impl_->name_tasks(view);
        const std::shared_ptr<MmAccount> mm = each.mm;
        done.push_back({std::move(each.group), std::move(view)});
        if (mm->torn_down && impl_->at(mm->mm) == mm) impl_->retire(mm);
    }
    impl_->leaving = std::move(rest);
    return done;
}

bool Ledger::leaving() const {
    return !impl_->leaving.empty();
}

std::uint64_t Ledger::ended_mms() const {
    return impl_->ended;
}

std::uint64_t Ledger::ended_not_at_zero() const {
    return impl_->ended_not_at_zero;
}

std::string Ledger::comm_of(int host_tid) const {
    const auto task = impl_->tasks.find(host_tid);
    if (task != impl_->tasks.end()) return task->second.comm;
    const auto stranger = impl_->strangers.find(host_tid);
    return stranger == impl_->strangers.end() ? "" : stranger->second.comm;
}

}  // namespace rsslag::core
