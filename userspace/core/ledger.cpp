// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/raw_reading.h"
#include "ledger_impl.h"

namespace rsslag::core {
namespace {

/// A teardown is complete when all counters are 0, or otherwise this long after its last record. The task that frees
/// the pages may have to wait for a CPU between two records.
constexpr std::uint64_t kTeardownNs = 2'000'000'000;

/// The longest time from the start of a reading to its comparison.
constexpr std::uint64_t kRememberNs = 10'000'000'000;

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

std::string_view name(FlushCause cause) {
    switch (cause) {
        case FlushCause::None: return "";
        case FlushCause::UserFault: return "fault";
        case FlushCause::KernelFault: return "kernel fault";
        case FlushCause::Exec: return "exec";
        case FlushCause::Exit: return "exit";
        case FlushCause::Other: break;
    }
    return "other process";
}

std::string_view name(State state) {
    switch (state) {
        case State::Running: return "running";
        case State::Exited: return "exited";
        case State::Exec: break;
    }
    return "exec";
}

/// The kernel takes the time of a start with another function than BPF programs that of a record: they may differ a
/// little.
bool GroupView::reused_at(std::uint64_t started_ns) const {
    return started_ns > since_ns + kReadingMarginNs;
}

Ledger::Ledger(const Options &options) : impl_(std::make_unique<Impl>(options)) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger &&) noexcept = default;
Ledger &Ledger::operator=(Ledger &&) noexcept = default;

Applied Ledger::apply(const rsslag_update &update) {
    return impl_->apply(update);
}

Members Ledger::apply(const rsslag_fault &fault) {
    impl_->now = std::max<std::uint64_t>(impl_->now, fault.t_ns);
    if (!impl_->mm_builders.empty()) impl_->mm_builders.erase(fault.tid);
    const auto task = impl_->tasks.find(fault.tid);
    if (task == impl_->tasks.end() || !task->second.mm || task->second.mm->mm != fault.mm) return {};
    return task->second.mm->apply(fault);
}

void Ledger::apply(const rsslag_task &record) {
    impl_->now = std::max<std::uint64_t>(impl_->now, record.t_ns);
    switch (record.kind) {
        case RSSLAG_NEWTASK: impl_->new_task(record); break;
        case RSSLAG_EXEC: impl_->exec(record); break;
        case RSSLAG_EXIT: impl_->exit(record); break;
        case RSSLAG_RENAME: impl_->rename(record); break;
        case RSSLAG_SEEN: impl_->seen(record); break;
        default: break;
    }
    impl_->count_processes();
    impl_->forget_last();
}

void Ledger::apply(const rsslag_sum &sum) {
    impl_->apply(sum);
}

void Ledger::advance(std::uint64_t t_ns) {
    impl_->now = std::max(impl_->now, t_ns);
    const std::vector<Shared::Name> awake = std::exchange(impl_->shared.awake, {});
    impl_->shared.visited += awake.size() + impl_->retired.size();
    std::vector<std::shared_ptr<MmAccount>> over;
    for (const Shared::Name &name : awake) {
        const std::shared_ptr<MmAccount> mm = impl_->at(name.address);
        if (!mm || mm->generation != name.generation) continue;
        mm->advance(t_ns);
        for (const int tid : mm->others_to_end(t_ns)) {
            mm->end_other(tid, task(tid).value_or(TaskName{}), impl_->now, MmTasks::End::Silent);
            impl_->forget_other(tid, name.address);
            impl_->forget_last();
        }
        if (!mm->rest()) impl_->shared.awake.push_back(name);
        // No process ever lived in this mm: a search through PATH creates and frees an mm for each candidate.
        if (!mm->bound && mm->torn_down && (mm->empty() || mm->last_ns + kTeardownNs < t_ns)) over.push_back(mm);
    }
    for (const auto &mm : over)
        impl_->retire(mm);
    impl_->forget_foreign_tasks();
    std::erase_if(impl_->retired, [this, t_ns](const auto &each) {
        if (each.second + kRememberNs >= t_ns) return false;
        if (impl_->options.ended_mms && !impl_->at(each.first)) impl_->ended_addresses.push_back(each.first);
        return true;
    });
}

void Ledger::settle_all() {
    for (auto &[address, mm] : impl_->mms) {
        mm->finish();
        mm->release_former_tasks(UINT64_MAX);
    }
}

std::vector<SettledUpdate> Ledger::take_settled() {
    return std::exchange(impl_->shared.settlements.reported, {});
}

std::vector<Renumbered> Ledger::take_renumbered() {
    return std::exchange(impl_->renumbered_tasks, {});
}

bool Ledger::any_renumbered() const {
    return !impl_->renumbered_tasks.empty();
}

bool Ledger::any_settled() const {
    return !impl_->shared.settlements.reported.empty();
}

void Ledger::adopt(const CounterReading &reading, const GroupView &group, std::uint64_t begin_ns,
                   std::uint64_t end_ns) {
    // First, since the reading may be the highest sum: its peak has the number of processes.
    GroupView adopted = group;
    const auto known = impl_->groups.find(group.host_tgid);
    adopted.forked = known != impl_->groups.end() && known->second.forked;
    adopted.since_ns = end_ns;
    impl_->put(adopted);
    impl_->count_processes();

    std::shared_ptr<MmAccount> mm = impl_->at(reading.mm);
    if (mm && mm->torn_down) {
        impl_->retire(mm);
        mm.reset();
    }
    if (!mm) {
        mm = std::make_shared<MmAccount>(impl_->options, reading.mm, ++impl_->generations, impl_->shared);
        mm->adopt(reading, begin_ns, end_ns);
        impl_->mms[reading.mm] = mm;
    }
    mm->bind(end_ns);
    for (const TaskReading &task : reading.tasks)
        impl_->put(task.host_tid, {task.tid, task.tgid, task.host_tgid, task.comm, mm, 0});
    impl_->forget_last();
}

void Ledger::start_lost(std::uint64_t mm) {
    if (const auto account = impl_->at(mm)) account->start_lost();
}

void Ledger::start_missed(std::uint64_t mm) {
    if (const auto account = impl_->at(mm)) account->start_missed();
}

void Ledger::had_faults(int host_tid, std::uint64_t faults) {
    if (const auto task = impl_->tasks.find(host_tid); task != impl_->tasks.end()) task->second.faults_before = faults;
}

void Ledger::watch(std::uint64_t mm) {
    const auto account = impl_->at(mm);
    if (!account) return;
    account->watch();
    if (impl_->watching) impl_->watched.push_back(account);
}

void Ledger::begin_watch() {
    impl_->watching = true;
}

void Ledger::end_watch() {
    impl_->watching = false;
    for (const auto &mm : std::exchange(impl_->watched, {}))
        mm->end_watch();
}

Check Ledger::compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    const std::shared_ptr<MmAccount> mm = impl_->at(reading.mm);
    if (!mm || mm->torn_down) return {};
    if (mm->born_ns >= begin_ns) return {};  // the reading may be of an earlier mm at this address
    const Check check = mm->compare(reading, begin_ns, end_ns);
    // It may have been watched for this comparison only.
    if (impl_->watching)
        impl_->watched.push_back(mm);
    else
        mm->end_watch();
    impl_->take_names(reading);
    if (check.known) impl_->drop_missing(*mm, reading, begin_ns);
    return check;
}

void Ledger::vanished(int host_tgid) {
    impl_->vanished(host_tgid);
    impl_->forget_last();
}

void Ledger::records_lost(std::uint64_t records, std::uint64_t until_ns) {
    for (auto &[address, mm] : impl_->mms)
        mm->lost(records);
    Impl::LostRecords &lost = impl_->lost_records;
    lost.records = records + (impl_->now < lost.until_ns ? lost.records : 0);
    lost.until_ns = std::max(lost.until_ns, until_ns);
    impl_->shared.lost_until_ns = lost.until_ns;
}

void Ledger::lost_until(std::uint64_t until_ns) {
    impl_->lost_records.until_ns = impl_->shared.lost_until_ns = until_ns;
}

void Ledger::cpus_folded(std::uint64_t since_ns, std::uint64_t until_ns) {
    for (auto &[address, mm] : impl_->mms)
        mm->cpus_folded(since_ns, until_ns);
}

bool Ledger::needs_resync(std::uint64_t mm) const {
    const auto account = impl_->at(mm);
    return account && account->needs_resync();
}

bool Ledger::has(std::uint64_t mm) const {
    const auto account = impl_->at(mm);
    return account && account->bound;
}

bool Ledger::being_built(std::uint64_t mm) const {
    const auto account = impl_->at(mm);
    return account && !account->bound && !account->needs_resync();
}

bool Ledger::building() const {
    constexpr std::uint64_t kLongestNs = 1'000'000'000;  // longer than a fork or exec takes
    return std::any_of(impl_->mms.begin(), impl_->mms.end(), [this](const auto &each) {
        const MmAccount &mm = *each.second;
        return !mm.bound && !mm.torn_down && !mm.needs_resync() && mm.last_ns + kLongestNs > impl_->now;
    });
}

bool Ledger::ended_since(std::uint64_t mm, std::uint64_t t_ns) const {
    if (const auto account = impl_->at(mm); account && account->torn_down) return true;
    const auto found = impl_->retired.find(mm);
    return found != impl_->retired.end() && found->second >= t_ns;
}

std::uint64_t Ledger::updates(std::uint64_t mm) const {
    return has(mm) ? impl_->at(mm)->updates() : 0;
}

std::optional<MmView> Ledger::view(std::uint64_t mm, int host_tgid) const {
    if (!has(mm)) return std::nullopt;
    const auto account = impl_->at(mm);
    MmView view = account->view(host_tgid);
    impl_->name_tasks(view);
    return view;
}

std::optional<Held> Ledger::held(std::uint64_t mm) const {
    const auto account = impl_->at(mm);
    return account ? account->held() : std::nullopt;
}

std::optional<Held> Ledger::held_by_all() const {
    const AllPeaks &all = impl_->shared.peaks;
    if (!all.running()) return std::nullopt;
    return Held{Pages{all.reported()}, Pages{all.lag()}};
}

std::size_t Ledger::size() const {
    return impl_->mms.size() + impl_->tasks.size();
}

int Ledger::tgid_of(std::uint64_t mm) const {
    const auto &groups = impl_->groups_of_mm;
    const auto after = groups.upper_bound({mm, INT_MAX});
    if (after == groups.begin() || std::prev(after)->first != mm) return 0;
    return impl_->groups.at(std::prev(after)->second).tgid;
}

std::uint64_t Ledger::visited() const {
    return impl_->shared.visited;
}

std::vector<GroupView> Ledger::groups() const {
    std::vector<GroupView> all;
    for (const auto &[tgid, group] : impl_->groups)
        all.push_back(group);
    return all;
}

bool Ledger::any_groups() const {
    return !impl_->groups.empty();
}

std::vector<GroupView> Ledger::unknown() const {
    std::vector<GroupView> unknown;
    if (impl_->all_known_at == impl_->version) return unknown;
    for (const auto &[tgid, group] : impl_->groups)
        if (!has(group.mm)) unknown.push_back(group);
    if (unknown.empty()) impl_->all_known_at = impl_->version;
    return unknown;
}

std::optional<GroupView> Ledger::group(int host_tgid) const {
    const auto found = impl_->groups.find(host_tgid);
    return found == impl_->groups.end() ? std::nullopt : std::optional(found->second);
}

std::vector<int> Ledger::tids() const {
    std::vector<int> tids;
    tids.reserve(impl_->tasks.size());
    for (const auto &[tid, task] : impl_->tasks)
        if (task.mm) tids.push_back(tid);
    return tids;
}

std::vector<Ended> Ledger::take_ended(bool all) {
    impl_->shared.visited += impl_->leaving.size();
    std::vector<Ended> done;
    std::deque<Impl::Leaving> rest;
    std::unordered_set<int> held;  // the groups of `rest`
    std::unordered_map<const MmAccount *, std::size_t> to_come;
    for (const Impl::Leaving &each : impl_->leaving)
        to_come[each.mm.get()]++;
    for (Impl::Leaving &each : impl_->leaving) {
        const std::uint64_t since = each.mm->torn_down ? std::max(each.t_ns, each.mm->last_ns) : each.t_ns;
        const bool there = impl_->at(each.mm->mm) == each.mm;
        const bool shared = there && !each.mm->torn_down && impl_->alive_in(*each.mm, each.group.host_tgid);
        // Open amounts widen the range of the extremes. After an exec the ticks of the next program follow, so it waits
        // only until the group's own amounts must have settled.
        const bool next_follows = each.group.state == State::Exec && since + CounterHistory::kSilentNs < impl_->now;
        const bool settled = each.mm->settled() || next_follows;
        const bool complete = (each.mm->torn_down && each.mm->empty()) || !there || (shared && settled);
        if (!all && !complete && since + kTeardownNs >= impl_->now) {
            held.insert(each.group.host_tgid);
            rest.push_back(std::move(each));
            continue;
        }
        const std::shared_ptr<MmAccount> mm = each.mm;
        if (mm->torn_down && impl_->at(mm->mm) == mm) impl_->retire(mm);
        // Keeps the order of a group's mms: the mm before an exec comes first, even if its teardown takes longer.
        if (!all && held.count(each.group.host_tgid) != 0) {
            rest.push_back(std::move(each));
            continue;
        }
        if (each.group.state == State::Exited) mm->wait_for_end(-1);
        MmView view = mm->view(each.group.host_tgid);
        mm->forget_sharer(each.group.host_tgid);
        impl_->name_tasks(view);
        const bool last = --to_come[mm.get()] == 0 && !shared;
        done.push_back({std::move(each.group), std::move(view), last});
    }
    impl_->leaving = std::move(rest);
    return done;
}

std::vector<EndedTask> Ledger::take_ended_tasks() {
    return std::exchange(impl_->shared.ended, {});
}

std::vector<std::uint64_t> Ledger::take_ended_mms() {
    return std::exchange(impl_->ended_addresses, {});
}

bool Ledger::leaving() const {
    return !impl_->leaving.empty();
}

std::uint64_t Ledger::ended_mms() const {
    return impl_->ended;
}

std::uint64_t Ledger::groups_unread() const {
    return impl_->groups_unread;
}

std::uint64_t Ledger::ended_not_at_zero() const {
    return impl_->ended_not_at_zero;
}

Extremes Ledger::extremes() const {
    Extremes extremes = impl_->shared.peaks.extremes();
    if (extremes.lossy) impl_->raise_to_one_mm(extremes.most);
    extremes.summed = impl_->options.counting && impl_->options.scheme != Scheme::Plain;
    impl_->name_extremes(extremes);
    return extremes;
}

std::optional<TaskName> Ledger::task(int host_tid) const {
    for (const auto *const tasks : {&impl_->tasks, &impl_->foreign_tasks}) {
        const auto task = tasks->find(host_tid);
        if (task == tasks->end()) continue;
        const Impl::Task &found = task->second;
        const int tid = found.tid > 0 ? found.tid : host_tid;
        return TaskName{tid, found.tgid > 0 ? found.tgid : found.host_tgid, found.comm};
    }
    return std::nullopt;
}

std::string Ledger::comm_of(int host_tid) const {
    auto name = task(host_tid);
    return name ? std::move(name->comm) : "";
}

}  // namespace rsslag::core
