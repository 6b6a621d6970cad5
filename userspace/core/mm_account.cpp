// SPDX-License-Identifier: BSD-2-Clause
#include "mm_account.h"

#include <algorithm>
#include <cstdlib>

#include "fold_cause.h"

namespace rsslag::core {
namespace {

constexpr std::uint32_t local_cell(std::size_t cpu, std::size_t member) {
    return static_cast<std::uint32_t>(kMembers + cpu * kMembers + member);
}

}  // namespace

Members Account::net() const {
    return members_of(flushed) + members_of(cached) - members_of(brought);
}

void Account::join(const Account &other) {
    for (std::size_t m = 0; m < kMembers; ++m) {
        flushed[m] += other.flushed[m];
        cached[m] += other.cached[m];
        brought[m] += other.brought[m];
    }
    uncertain += other.uncertain;
    updates += other.updates;
    flushes += other.flushes;
    last_flush_ns = std::max(last_flush_ns, other.last_flush_ns);
    cached_ns = std::max(cached_ns, other.cached_ns);
}

MmAccount::MmAccount(const Ledger::Options &options, std::uint64_t mm_address, std::uint64_t number)
    : mm(mm_address),
      generation(number),
      options_(options),
      solvers_{FoldSolver(options.cpus, options.batch), FoldSolver(options.cpus, options.batch),
               FoldSolver(options.cpus, options.batch), FoldSolver(options.cpus, options.batch)} {
    if (options.scheme == Scheme::Cpu) {
        locals_.resize(static_cast<std::size_t>(options.cpus));
        folds_.resize(static_cast<std::size_t>(options.cpus));
    }
}

Account &MmAccount::member(int tid) {
    return members_[tid];
}

Account &MmAccount::ended() {
    return ended_;
}

Account &MmAccount::of(int tid) {
    if (const auto found = members_.find(tid); found != members_.end()) return found->second;
    if (const auto found = others_.find(tid); found != others_.end()) return found->second;
    return ended_;
}

// Cells: the four flushed counters, then the four of each CPU.

std::int64_t MmAccount::value(std::uint32_t cell) const {
    if (cell < kMembers) return flushed_[cell];
    return locals_[cell / kMembers - 1][cell % kMembers];
}

void MmAccount::set(std::uint32_t cell, std::int64_t value) {
    if (cell < kMembers) {
        flushed_[cell] = value;
        return;
    }
    std::int32_t &local = locals_[cell / kMembers - 1][cell % kMembers];
    cached_sum_[cell % kMembers] += value - local;
    local = static_cast<std::int32_t>(value);
}

void MmAccount::hold(std::uint32_t cell, std::uint64_t t_ns, std::int64_t value, bool sum) {
    set(cell, value);
    if (watched_) changes_.push_back({t_ns, cell, value, sum});
}

Members MmAccount::flushed() const {
    return members_of(flushed_);
}

Members MmAccount::cached() const {
    return members_of(cached_sum_);
}

/// `thread` scheme: what a task of the mm caches.
void MmAccount::set_cached(Account &account, std::size_t member, std::int64_t pages) {
    cached_sum_[member] += pages - account.cached[member];
    account.cached[member] = pages;
}

bool MmAccount::empty() const {
    return flushed() + cached() == Members{};
}

Members MmAccount::nets() const {
    Members nets = ended_.net();
    for (const auto &[tid, account] : members_)
        nets += account.net();
    for (const auto &[tid, account] : others_)
        nets += account.net();
    return nets;
}

void MmAccount::rebase() {
    const Members started = flushed() + cached() - nets();
    for (Member member : kAllMembers)
        baseline_[index_of(member)] = started[member].n;
    for (std::size_t member = 0; member < kMembers; ++member) {
        solvers_[member].reset(flushed_[member]);
        chains_[member].reset(flushed_[member]);
    }
}

void MmAccount::adopt(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    adopted_from_ = begin_ns;
    adopted_until_ = end_ns;
    for (Member member : kAllMembers)
        flushed_[index_of(member)] = reading.last.flushed[member].n;
    if (options_.scheme == Scheme::Cpu) {
        for (const CpuReading &cpu : reading.last.cpus) {
            if (cpu.cpu < 0 || static_cast<std::size_t>(cpu.cpu) >= locals_.size()) continue;
            for (Member member : kAllMembers)
                set(local_cell(static_cast<std::size_t>(cpu.cpu), index_of(member)), cpu.cached[member].n);
        }
    }
    for (const TaskReading &task : reading.tasks) {
        Account &account = members_[task.host_tid];
        for (Member member : kAllMembers) {
            set_cached(account, index_of(member), task.cached[member].n);
            account.brought[index_of(member)] = task.cached[member].n;
        }
        account.cached_ns = begin_ns;
    }
    rebase();
    rss_min_ = rss_max_ = (flushed() + cached()).rss().n;
}

/// A record from while the mm was first read: its values are right, whatever the reading saw; what led to them came
/// before the trace.
void MmAccount::take_absolute(const rsslag_update &update) {
    if (update.t_ns < adopted_from_) return;
    hold_count(update);
    if (options_.scheme == Scheme::Cpu) {
        if (update.cpu < locals_.size()) set(local_cell(update.cpu, update.member), update.cached);
    } else if (const auto found = members_.find(update.tid); found != members_.end() && update.cached != 0) {
        set_cached(found->second, update.member, 0);
        found->second.brought[update.member] = 0;
    }
    rebase();
}

/// The count of the latest time is the mm's: a CPU that was taken away in between tells of the past.
void MmAccount::hold_count(const rsslag_update &update) {
    const std::size_t m = update.member;
    if (update.t_ns < flushed_ns_[m]) return;
    flushed_ns_[m] = update.t_ns;
    hold(static_cast<std::uint32_t>(m), update.t_ns, update.count);
}

Applied MmAccount::apply(const rsslag_update &update, Account &account, bool member, bool direct) {
    last_ns = std::max<std::uint64_t>(last_ns, update.t_ns);
    if (update.t_ns <= adopted_until_) {
        take_absolute(update);
        return {true, std::nullopt, std::nullopt};
    }
    if ((update.flags & RSSLAG_TEARDOWN) != 0) torn_down = true;
    account.updates++;
    (member ? updates_ : updates_by_others_)++;
    // Who has ended is not who has its number when this is settled.
    rsslag_update by = update;
    if (&account == &ended_) by.tid = kEndedTid;
    const Applied applied = options_.scheme == Scheme::Cpu ? apply_cpu(by, account) : apply_thread(by, account, direct);
    if (watched_) note_rss();
    return applied;
}

Applied MmAccount::apply_cpu(const rsslag_update &update, Account &account) {
    const std::size_t m = update.member;
    if (update.cpu >= locals_.size()) return {true, std::nullopt, std::nullopt};
    const std::int64_t before = locals_[update.cpu][m];
    Applied applied{true, std::nullopt, std::nullopt};
    hold_count(update);
    hold(local_cell(update.cpu, m), update.t_ns, update.cached);
    if (update.cached != 0) {
        applied.pages = Pages{update.cached - before};
        account.flushed[m] += update.cached - before;
    } else {
        applied.reason = FlushReason::Fold;
        solved_.clear();
        solvers_[m].fold({update.t_ns, update.cpu, update.tid, before, update.count, cause_of(update)}, solved_);
        settle(solved_, m);
    }
    // To other folds this record says that its CPU has none on its way.
    for (std::size_t each = 0; each < kMembers; ++each) {
        if (!solvers_[each].open() || (each == m && update.cached == 0)) continue;
        solved_.clear();
        solvers_[each].other(update.cpu, update.t_ns, solved_);
        settle(solved_, each);
    }
    return applied;
}

void MmAccount::apply(const rsslag_sum &sum, Account &account, std::uint64_t updates, bool member) {
    last_ns = std::max<std::uint64_t>(last_ns, sum.t_ns);
    if (sum.of >= locals_.size() || sum.t_ns < adopted_from_) return;
    const bool adopted = sum.t_ns <= adopted_until_;
    if (!adopted) {
        account.updates += updates;
        (member ? updates_ : updates_by_others_) += updates;
    }
    for (std::size_t m = 0; m < kMembers; ++m) {
        if ((sum.members >> m & 1) == 0) continue;
        account.flushed[m] += adopted ? 0 : sum.cached[m] - locals_[sum.of][m];
        hold(local_cell(sum.of, m), sum.t_ns, sum.cached[m], true);
    }
    if (adopted) rebase();
    // A CPU that tells its own sum has no fold on its way.
    for (std::size_t m = 0; m < kMembers && (sum.flags & RSSLAG_GOES_ON) == 0; ++m) {
        if (!solvers_[m].open()) continue;
        solved_.clear();
        solvers_[m].other(sum.cpu, sum.t_ns, solved_);
        settle(solved_, m);
    }
    if (watched_) note_rss();
}

void MmAccount::settle(const std::vector<FoldSolver::Solved> &solved, std::size_t member) {
    for (const FoldSolver::Solved &each : solved) {
        Account &account = of(each.tid);
        account.flushed[member] += each.pages;
        account.uncertain += each.uncertain;
        if (!each.folded) continue;
        account.flushes++;
        account.last_flush_ns = each.t_ns;
        folds_[static_cast<std::size_t>(each.cpu)]++;
        flushes_[static_cast<std::size_t>(FlushReason::Fold)]++;
    }
}

Applied MmAccount::apply_thread(const rsslag_update &update, Account &account, bool direct) {
    const std::size_t m = update.member;
    const std::int64_t before = flushed_[m];
    const bool late = update.t_ns < flushed_ns_[m];
    links_.clear();
    chains_[m].push(update, direct, links_);
    settle(links_, m);
    hold_count(update);
    // Told at once where nothing speaks against it; the chain has the last word, a moment later.
    if (direct || (update.flags & RSSLAG_OWN) == 0 || update.cached == 0) {
        return {true, std::nullopt, FlushReason::Direct};
    }
    // An exec charges the page of its arguments to the old mm itself, which may be as much as the task caches.
    const bool sure = (update.flags & (RSSLAG_THRESHOLD | RSSLAG_EXITING)) != 0 || std::abs(update.cached) != 1;
    if (late || !sure || before + update.cached != update.count) return {true, std::nullopt, std::nullopt};
    if (account.cached_ns <= update.t_ns) set_cached(account, m, 0);
    return {true, Pages{update.cached}, reason_of(update, true)};
}

void MmAccount::settle(const std::vector<FlushChain::Link> &links, std::size_t member) {
    for (const FlushChain::Link &link : links) {
        const rsslag_update &update = link.update;
        Account &account = of(update.tid);
        account.flushed[member] += link.pages;
        if (!link.flush) {
            flushes_[static_cast<std::size_t>(FlushReason::Direct)]++;
            continue;
        }
        if (account.cached_ns <= update.t_ns) set_cached(account, member, 0);
        // One flush goes through the members in their order.
        if (account.last_flushed_member >= update.member || account.last_flushed_member < 0) {
            account.flushes++;
            flushes_[static_cast<std::size_t>(reason_of(update, true))]++;
        }
        account.last_flushed_member = update.member;
        account.last_flush_ns = update.t_ns;
    }
    // The chain knows better than the records' times which update was the last one.
    if (!links.empty() && !chains_[member].waiting() && flushed_[member] != chains_[member].count()) {
        hold(static_cast<std::uint32_t>(member), links.back().update.t_ns, chains_[member].count());
    }
}

void MmAccount::apply(const rsslag_fault &fault) {
    const auto found = members_.find(fault.tid);
    if (found == members_.end() || fault.t_ns < adopted_from_) return;
    last_ns = std::max<std::uint64_t>(last_ns, fault.t_ns);
    Account &account = found->second;
    if (fault.t_ns < account.cached_ns) return;  // late
    // Flushes before it must be done first: they would take away what it tells.
    if (fault.t_ns > adopted_until_) advance(fault.t_ns);
    for (std::size_t m = 0; m < kMembers; ++m) {
        set_cached(account, m, fault.cached[m]);
        if (fault.t_ns <= adopted_until_) account.brought[m] = fault.cached[m];
    }
    if (fault.t_ns <= adopted_until_) rebase();
    account.cached_ns = fault.t_ns;
    account.last_flushed_member = -1;
    if (watched_) note_rss();
}

void MmAccount::advance(std::uint64_t t_ns) {
    for (std::size_t m = 0; m < kMembers; ++m) {
        if (options_.scheme == Scheme::Cpu) {
            solved_.clear();
            solvers_[m].advance(t_ns, solved_);
            settle(solved_, m);
        } else {
            links_.clear();
            chains_[m].advance(t_ns, links_);
            settle(links_, m);
        }
    }
}

/// What a task has done and is not settled yet goes on under another number.
void MmAccount::let_go(int from, int to) {
    for (FoldSolver &solver : solvers_)
        solver.retag(from, to);
    if (options_.scheme == Scheme::Cpu) return;
    for (std::size_t m = 0; m < kMembers; ++m) {
        links_.clear();
        chains_[m].finish(links_);
        settle(links_, m);
    }
}

void MmAccount::leave_member(int tid) {
    const auto found = members_.find(tid);
    if (found == members_.end()) return;
    for (std::size_t m = 0; m < kMembers; ++m)
        set_cached(found->second, m, 0);  // exec and exit flush it, and tell nothing of what came to 0 by itself
}

void MmAccount::end_member(int tid, std::uint64_t faults) {
    const auto found = members_.find(tid);
    if (found == members_.end()) return;
    let_go(tid, kEndedTid);
    leave_member(tid);
    ended_.join(found->second);
    ended_count_++;
    ended_faults_ += faults;
    members_.erase(found);
}

void MmAccount::adopt_other(int tid, int as_tid) {
    const auto found = others_.find(tid);
    if (found == others_.end()) return;
    let_go(tid, as_tid);
    updates_ += found->second.updates;
    updates_by_others_ -= found->second.updates;
    members_[as_tid].join(found->second);
    others_.erase(found);
}

void MmAccount::rename_member(int from, int to) {
    const auto found = members_.find(from);
    if (found == members_.end() || from == to) return;
    let_go(from, to);
    const Account account = found->second;
    members_.erase(found);
    members_[to].join(account);
    renamed_[from] = to;
}

int MmAccount::tid_now(int tid) const {
    const auto found = renamed_.find(tid);
    return found == renamed_.end() ? tid : found->second;
}

void MmAccount::note_rss() {
    const std::int64_t rss = (flushed() + cached()).rss().n;
    rss_min_ = std::min(rss_min_, rss);
    rss_max_ = std::max(rss_max_, rss);
}

void MmAccount::end_watch() {
    watched_ = false;
    changes_.clear();
}

void MmAccount::watch() {
    watched_ = true;
    changes_.clear();
    watched_from_.assign(kMembers * (1 + locals_.size()), 0);
    for (std::uint32_t cell = 0; cell < watched_from_.size(); ++cell)
        watched_from_[cell] = value(cell);
    rss_min_ = rss_max_ = (flushed() + cached()).rss().n;
}

}  // namespace rsslag::core
