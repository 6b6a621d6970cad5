// SPDX-License-Identifier: BSD-2-Clause
// The accounts of an mm's tasks: tasks start, change their TIDs and end.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "mm_account.h"

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

}  // namespace

Members Account::net() const {
    return members_of(flushed) + members_of(cached) - members_of(cached_at_attach);
}

/// Members may be off independently: the sum of each one's larger deviation.
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
    flushes += other.flushes;
    last_flush_ns = std::max(last_flush_ns, other.last_flush_ns);
    cached_ns = std::max(cached_ns, other.cached_ns);
}

Account &MmAccount::member(int tid) {
    return account_in(members_, tid, lost_pages_);
}

Account &MmAccount::other(int tid) {
    return account_in(others_, tid, lost_pages_);
}

Account &MmAccount::ended(int tid) {
    const auto found = leaver_of_.find(tid);
    return found == leaver_of_.end() ? ended_ : leavers_.at(found->second).account;
}

Account &MmAccount::of(int tid) {
    if (const auto found = members_.find(tid); found != members_.end()) return found->second;
    if (const auto found = others_.find(tid); found != others_.end()) return found->second;
    if (const auto found = leavers_.find(tid); found != leavers_.end()) return found->second.account;
    return tid == kTeardownTid ? teardown_ : ended_;
}

void MmAccount::bind(std::uint64_t t_ns) {
    if (!std::exchange(bound, true)) note_begin();
    bound_ns = std::max(bound_ns, t_ns);
}

/// Moves a task's open updates to another TID or tag.
void MmAccount::retag(int from, int to) {
    for (CounterHistory &history : histories_)
        history.retag(from, to);
}

void MmAccount::leave_member(int tid) {
    const auto found = members_.find(tid);
    if (found == members_.end()) return;
    for (std::size_t m = 0; m < kMembers; ++m)
        set_cached(found->second, m, 0);  // exec and exit flush it; a member that is 0 by then has no record
    note_task(tid, last_ns);
}

void MmAccount::end_member(int tid, std::uint64_t faults, const TaskName &name, std::uint64_t t_ns) {
    const auto found = members_.find(tid);
    if (found == members_.end()) return;
    leave_member(tid);
    Leaver leaver;
    leaver.named.tid = name.tid;
    leaver.named.tgid = name.tgid;
    leaver.named.comm = name.comm;
    leaver.named.faults = faults;
    leaver.end_ns = t_ns;
    leave(tid, found->second, std::move(leaver));
    ended_count_++;
    ended_faults_ += faults;
    members_.erase(found);
}

/// Tags its open updates with a unique number, since another task may get its TID.
void MmAccount::leave(int tid, const Account &account, Leaver leaver) {
    const int tag = next_leaver_--;
    retag(tid, tag);
    leaver.account = account;
    leaver.account.tag = tag;
    leaver.named.host_tid = tid;
    leaver.end_ns = std::max(leaver.end_ns, last_ns);
    if (leaver.own) leaver_of_[tid] = tag;
    leavers_.emplace(tag, std::move(leaver));
}

/// By kSilentNs after its end all of a task's records have come.
void MmAccount::release_leavers(std::uint64_t t_ns) {
    if (leavers_.empty() || shared_ == nullptr) return;
    std::unordered_set<int> open;
    for (const CounterHistory &history : histories_)
        for (const CounterEvent &event : history.unsettled())
            if (event.tid <= kFirstLeaver) open.insert(event.tid);
    for (auto each = leavers_.begin(); each != leavers_.end();) {
        auto &[tag, leaver] = *each;
        if (leaver.end_ns + CounterHistory::kSilentNs >= t_ns || open.count(tag) != 0) {
            ++each;
            continue;
        }
        const int tid = leaver.named.host_tid;
        if (shared_->keep_ended) {
            TaskNet net = entry(tid, leaver.account);
            net.tid = leaver.named.tid > 0 ? leaver.named.tid : tid;
            net.tgid = leaver.named.tgid;
            net.comm = leaver.named.comm;
            net.faults = leaver.named.faults;
            net.cached.reset();
            shared_->ended.push_back({generation, std::move(net), leaver.own, {doubted_}});
        }
        (leaver.own ? ended_ : ended_others_).join(leaver.account);
        if (const auto latest = leaver_of_.find(tid); latest != leaver_of_.end() && latest->second == tag)
            leaver_of_.erase(latest);
        each = leavers_.erase(each);
    }
}

/// The sum of the mm's own ended tasks and of its teardown.
Account MmAccount::all_ended() const {
    Account all = ended_;
    all.join(teardown_);
    for (const auto &[tag, leaver] : leavers_)
        if (leaver.own) all.join(leaver.account);
    return all;
}

void MmAccount::adopt_other(int tid) {
    const auto found = others_.find(tid);
    if (found == others_.end()) return;
    updates_ += found->second.updates;
    updates_by_others_ -= found->second.updates;
    members_[tid].join(found->second);
    others_.erase(found);
}

void MmAccount::end_other(int tid, const TaskName &name, std::uint64_t t_ns) {
    const auto found = others_.find(tid);
    if (found == others_.end()) return;
    Leaver leaver;
    leaver.named.tid = name.tid;
    leaver.named.tgid = name.tgid;
    leaver.named.comm = name.comm;
    leaver.own = false;
    leaver.end_ns = t_ns;
    leave(tid, found->second, std::move(leaver));
    others_.erase(found);
}

void MmAccount::rename_other(int from, int to) {
    if (move_account(others_, from, to)) retag(from, to);
}

void MmAccount::rename_member(int from, int to) {
    if (!move_account(members_, from, to)) return;
    retag(from, to);
    renamed_[from] = to;
}

int MmAccount::tid_now(int tid) const {
    const auto found = renamed_.find(tid);
    return found == renamed_.end() ? tid : found->second;
}

}  // namespace rsslag::core
