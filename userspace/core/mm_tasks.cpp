// SPDX-License-Identifier: BSD-2-Clause
#include "mm_tasks.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <utility>

namespace rsslag::core {
namespace {

/// A new account starts with `lost_pages`: lost records may be of a task that has had no record yet.
template <class Accounts>
Account &account_in(Accounts &accounts, int tid, std::int64_t lost_pages) {
    const auto [found, made] = accounts.try_emplace(tid);
    if (made) found->second.lost = lost_pages;
    return found->second;
}

/// Returns whether there was an account `from`.
template <class Accounts>
bool move_account(Accounts &accounts, int from, int to) {
    const auto found = accounts.find(from);
    if (found == accounts.end() || from == to) return false;
    const Account account = found->second;
    accounts.erase(found);
    accounts[to].join(account);
    return true;
}

TaskNet entry(int tid, const Account &account, bool caches) {
    TaskNet net;
    net.host_tid = net.tid = tid;
    net.net = account.net();
    net.uncertain = account.uncertain();
    net.updates = account.updates;
    net.flushes = account.flushes;
    net.last_flush_ns = account.last_flush_ns;
    if (caches) net.cached = members_of(account.cached);
    return net;
}

}  // namespace

Members Account::net() const {
    return members_of(flushed) + members_of(cached) - members_of(cached_at_attach);
}

/// The errors of the members are independent, so this is the sum of the larger deviation of each member.
Pages Account::uncertain() const {
    std::int64_t sum = lost;
    for (std::size_t m = 0; m < kMembers; ++m)
        sum += std::max(below[m], above[m]);
    return {sum};
}

void Account::rebase() {
    left = cached;
    left_by = {};
}

void Account::join(const Account &other) {
    for (std::size_t m = 0; m < kMembers; ++m) {
        flushed[m] += other.flushed[m];
        below[m] += other.below[m];
        above[m] += other.above[m];
        cached[m] += other.cached[m];
        from_faults[m] += other.from_faults[m];
        cached_at_attach[m] += other.cached_at_attach[m];
        left[m] += other.left[m];
        left_by[m] = std::max(left_by[m], other.left_by[m]);
    }
    lost = std::max(lost, other.lost);
    updates += other.updates;
    seen_ns = std::max(seen_ns, other.seen_ns);
    active_ns = std::max(active_ns, other.active_ns);
    flushes += other.flushes;
    last_flush_ns = std::max(last_flush_ns, other.last_flush_ns);
    cached_ns = std::max(cached_ns, other.cached_ns);
}

MmTasks::MmTasks() {
    ended_.tag = kEndedTid;
    teardown_.tag = kTeardownTid;
}

Account &MmTasks::own(int tid) {
    return account_in(own_tasks_, tid, lost_pages_);
}

Account *MmTasks::find_own(int tid) {
    const auto found = own_tasks_.find(tid);
    return found == own_tasks_.end() ? nullptr : &found->second;
}

Account &MmTasks::other(int tid) {
    return account_in(others_, tid, lost_pages_);
}

Account &MmTasks::ended(int tid) {
    const auto found = former_task_of_.find(tid);
    return found == former_task_of_.end() ? ended_ : former_tasks_.at(found->second).account;
}

Account &MmTasks::of(int tid_or_tag) {
    if (const auto found = own_tasks_.find(tid_or_tag); found != own_tasks_.end()) return found->second;
    if (const auto found = others_.find(tid_or_tag); found != others_.end()) return found->second;
    if (const auto found = former_tasks_.find(tid_or_tag); found != former_tasks_.end()) return found->second.account;
    return tid_or_tag == kTeardownTid ? teardown_ : ended_;
}

Account &MmTasks::teardown(const Account &task) {
    teardown_.seen_ns = std::max(teardown_.seen_ns, task.seen_ns);
    return teardown_;
}

void MmTasks::count(Account &account, std::uint64_t updates, bool own, std::uint64_t t_ns) {
    account.updates += updates;
    account.active_ns = std::max(account.active_ns, t_ns);
    (own ? updates_ : updates_by_others_) += updates;
}

void MmTasks::set_cached(Account &account, std::size_t member, std::int64_t pages) {
    const std::int64_t more = pages - account.cached[member];
    cached_[member] += more;
    net_[kAllMembers[member]] += Pages{more};
    account.cached[member] = pages;
}

void MmTasks::set_cached_at_attach(Account &account, std::size_t member, std::int64_t pages) {
    net_[kAllMembers[member]] += Pages{account.cached_at_attach[member] - pages};
    account.cached_at_attach[member] = pages;
}

void MmTasks::add_flushed(Account &account, std::size_t member, std::int64_t pages) {
    net_[kAllMembers[member]] += Pages{pages};
    account.flushed[member] += pages;
}

void MmTasks::rebase() {
    for (auto &[tid, account] : own_tasks_)
        account.rebase();
}

void MmTasks::widen(std::int64_t pages) {
    const auto widen = [pages](std::int64_t &lost) { lost = std::min(lost, INT64_MAX / 8) + pages; };
    for (auto &[tid, account] : own_tasks_)
        widen(account.lost);
    for (auto &[tid, account] : others_)
        widen(account.lost);
    for (auto &[tag, former] : former_tasks_)
        widen(former.account.lost);
    widen(ended_.lost);
    widen(ended_others_.lost);
    widen(teardown_.lost);
    widen(possible_error_);
    widen(lost_pages_);
}

void MmTasks::leave_own(int tid, std::uint64_t faults, const TaskName &name) {
    TaskNet &left = left_[tid];
    left.tid = name.tid;
    left.tgid = name.tgid;
    left.comm = name.comm;
    left.faults = faults;
}

int MmTasks::end_own(int tid, std::uint64_t faults, const TaskName &name, std::uint64_t t_ns) {
    const auto found = own_tasks_.find(tid);
    FormerTask former;
    former.named.faults = faults;
    former.end_ns = t_ns;
    const int tag = leave(tid, found->second, name, std::move(former));
    former_task_of_[tid] = tag;
    ended_count_++;
    ended_faults_ += faults;
    own_tasks_.erase(found);
    return tag;
}

std::optional<int> MmTasks::end_other(int tid, const TaskName &name, std::uint64_t t_ns, End end) {
    const auto found = others_.find(tid);
    if (found == others_.end()) return std::nullopt;
    FormerTask former;
    former.own = false;
    former.reported = end == End::Known;
    former.end_ns = t_ns;
    const int tag = leave(tid, found->second, name, std::move(former));
    ended_others_count_++;
    others_.erase(found);
    return tag;
}

/// Half of them stay. This visits few accounts for each that is added, since it waits until their number has doubled
/// or all may be silent.
std::vector<int> MmTasks::others_to_end(std::uint64_t t_ns) {
    if (others_.size() <= kMostOthers || (others_.size() <= most_others_ && t_ns <= silent_at_ns_)) return {};
    std::vector<std::pair<std::int64_t, int>> silent;  // size of the net and TID
    for (const auto &[tid, account] : others_)
        if (account.active_ns + CounterHistory::kSilentNs < t_ns)
            silent.emplace_back(std::abs(account.net().rss().n), tid);
    std::sort(silent.begin(), silent.end(), std::greater<>());
    std::vector<int> tids;
    for (std::size_t i = kMostOthers / 2; i < silent.size(); ++i)
        tids.push_back(silent[i].second);
    most_others_ = std::max(kMostOthers, 2 * (others_.size() - tids.size()));
    silent_at_ns_ = t_ns + CounterHistory::kSilentNs;
    return tids;
}

/// Tags its account with a unique number, since another task may get its TID.
int MmTasks::leave(int tid, const Account &account, const TaskName &name, FormerTask former) {
    const int tag = next_former_task_--;
    former.account = account;
    former.account.tag = tag;
    former.named.host_tid = tid;
    former.named.tid = name.tid;
    former.named.tgid = name.tgid;
    former.named.comm = name.comm;
    former_tasks_.emplace(tag, std::move(former));
    return tag;
}

void MmTasks::release(std::uint64_t t_ns, const std::unordered_set<int> &open, std::uint64_t generation,
                      std::vector<EndedTask> *ended) {
    auto each = former_tasks_.end();
    while (each != former_tasks_.begin() && std::prev(each)->second.over(t_ns))
        --each;
    while (each != former_tasks_.end()) {
        auto &[tag, former] = *each;
        if (open.count(tag) != 0) {
            ++each;
            continue;
        }
        const int tid = former.named.host_tid;
        if (ended != nullptr && former.reported) {
            TaskNet net = entry(tid, former.account, false);
            net.tid = former.named.tid > 0 ? former.named.tid : tid;
            net.tgid = former.named.tgid;
            net.comm = former.named.comm;
            net.faults = former.named.faults;
            ended->push_back({generation, std::move(net), former.own, {possible_error_}});
        }
        (former.own ? ended_ : ended_others_).join(former.account);
        if (const auto latest = former_task_of_.find(tid); latest != former_task_of_.end() && latest->second == tag)
            former_task_of_.erase(latest);
        each = former_tasks_.erase(each);
    }
}

void MmTasks::adopt_other(int tid) {
    const auto found = others_.find(tid);
    if (found == others_.end()) return;
    updates_ += found->second.updates;
    updates_by_others_ -= found->second.updates;
    own_tasks_[tid].join(found->second);
    others_.erase(found);
}

bool MmTasks::rename_other(int from, int to) {
    return move_account(others_, from, to);
}

bool MmTasks::rename_own(int from, int to) {
    if (!move_account(own_tasks_, from, to)) return false;
    renamed_[from] = to;
    return true;
}

int MmTasks::tid_now(int tid) const {
    const auto found = renamed_.find(tid);
    return found == renamed_.end() ? tid : found->second;
}

void MmTasks::show(MmView &view, bool tasks_cache) const {
    view.tasks.reserve(own_tasks_.size());
    for (const auto &[tid, account] : own_tasks_) {
        TaskNet &net = view.tasks.emplace_back(entry(tid, account, tasks_cache));
        const auto left = left_.find(tid);
        if (left == left_.end()) continue;
        net.left = true;
        net.tid = left->second.tid;
        net.tgid = left->second.tgid;
        net.comm = left->second.comm;
        net.faults = left->second.faults;
    }
    std::sort(view.tasks.begin(), view.tasks.end(),
              [](const TaskNet &a, const TaskNet &b) { return a.host_tid < b.host_tid; });
    for (const auto &[tid, account] : others_)
        view.others.push_back(entry(tid, account, tasks_cache));
    // The net includes ended tasks of other mms; counts of updates and flushes are of the mm's own tasks only.
    Account own = ended_;
    own.join(teardown_);
    for (const auto &[tag, former] : former_tasks_)
        if (former.own) own.join(former.account);
    Account ended_others = ended_others_;
    for (const auto &[tag, former] : former_tasks_)
        if (!former.own) ended_others.join(former.account);
    Account all = own;
    all.join(ended_others);
    view.ended_others = {ended_others_count_,  ended_others.net(),   0,
                         ended_others.updates, ended_others.flushes, ended_others.uncertain()};
    view.exited = {ended_count_, all.net(), ended_faults_, own.updates, own.flushes, all.uncertain()};
    view.teardown = teardown_.net();
    view.teardown_uncertain = teardown_.uncertain();
    view.teardown_updates = teardown_.updates;
    view.teardown_flushes = teardown_.flushes;
    view.possible_error = {possible_error_};
    view.updates = updates_;
    view.updates_by_others = updates_by_others_;
}

}  // namespace rsslag::core
