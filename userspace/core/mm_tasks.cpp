// SPDX-License-Identifier: BSD-2-Clause
// Whose account of an mm it is: tasks as they come, change their numbers and go.
#include <algorithm>
#include <utility>

#include "mm_account.h"

namespace rsslag::core {
namespace {

/// What was lost may be of a task that nothing has told of yet.
template <class Accounts>
Account &account_in(Accounts &accounts, int tid, std::int64_t lost_pages) {
    const auto [found, made] = accounts.try_emplace(tid);
    if (made) found->second.lost = lost_pages;
    return found->second;
}

/// Whether there was one by the number `from`.
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

/// Of each member what is farther off, as they may be so independently.
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
        told[m] += other.told[m];
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

Account &MmAccount::ended() {
    return ended_;
}

Account &MmAccount::of(int tid) {
    if (const auto found = members_.find(tid); found != members_.end()) return found->second;
    if (const auto found = others_.find(tid); found != others_.end()) return found->second;
    return ended_;
}

void MmAccount::bind(std::uint64_t t_ns) {
    if (!std::exchange(bound, true)) begin = exact();
    bound_ns = std::max(bound_ns, t_ns);
}

/// What a task has done and is not settled yet goes on under another number.
void MmAccount::retag(int from, int to) {
    for (CounterHistory &history : histories_)
        history.retag(from, to);
}

void MmAccount::leave_member(int tid) {
    const auto found = members_.find(tid);
    if (found == members_.end()) return;
    for (std::size_t m = 0; m < kMembers; ++m)
        set_cached(found->second, m, 0);  // exec and exit flush it, and tell nothing of what came to 0 by itself
    note_task(tid, last_ns);
}

void MmAccount::end_member(int tid, std::uint64_t faults) {
    const auto found = members_.find(tid);
    if (found == members_.end()) return;
    retag(tid, kEndedTid);
    leave_member(tid);
    ended_.join(found->second);
    ended_count_++;
    ended_faults_ += faults;
    members_.erase(found);
}

void MmAccount::adopt_other(int tid) {
    const auto found = others_.find(tid);
    if (found == others_.end()) return;
    updates_ += found->second.updates;
    updates_by_others_ -= found->second.updates;
    members_[tid].join(found->second);
    others_.erase(found);
}

void MmAccount::end_other(int tid) {
    const auto found = others_.find(tid);
    if (found == others_.end()) return;
    retag(tid, kEndedTid);
    ended_.join(found->second);
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
