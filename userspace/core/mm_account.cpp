// SPDX-License-Identifier: BSD-2-Clause
#include "mm_account.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "update_limits.h"

namespace rsslag::core {

static_assert(kMembers == RSSLAG_MEMBERS, "records have the members of the ledger");

MmAccount::MmAccount(const Ledger::Options &options, std::uint64_t mm_address, std::uint64_t number, Shared &shared)
    : mm(mm_address),
      generation(number),
      options_(options),
      counters_(cpus_cache(options.scheme) ? static_cast<std::size_t>(options.cpus) : 0),
      histories_(options.scheme, options.cpus),
      shared_(&shared),
      peaks_(shared.peaks),
      flushes_(options.anon_orders),
      all_waiting_(&shared.waiting) {
    wake();
}

void MmAccount::wake() {
    if (shared_ == nullptr || std::exchange(awake_, true)) return;
    shared_->awake.push_back({mm, generation});
}

bool MmAccount::rest() {
    awake_ = !bound || torn_down || !histories_.settled() || tasks_.any_to_end();
    return !awake_;
}

void MmAccount::hold(std::uint32_t cell, std::uint64_t t_ns, std::int64_t value, bool sum) {
    counters_.set(cell, value);
    check_.held(cell, t_ns, value, sum);
}

/// Keeps the count with the latest time: a record that comes late has an older one.
void MmAccount::hold_count(const rsslag_update &update) {
    const std::size_t m = update.member;
    check_.explain(static_cast<std::uint32_t>(m), update.count);
    if (update.t_ns < counters_.flushed_ns(m)) return;
    counters_.set_flushed_ns(m, update.t_ns);
    hold(static_cast<std::uint32_t>(m), update.t_ns, update.count);
}

Applied MmAccount::apply(const rsslag_update &update, Account &account, bool own, bool direct) {
    last_ns = std::max<std::uint64_t>(last_ns, update.t_ns);
    if (update.t_ns <= adopted_until_) {
        take_absolute(update);
        return {true, std::nullopt, std::nullopt};
    }
    wake();
    if ((update.flags & RSSLAG_TEARDOWN) != 0 && !std::exchange(torn_down, true)) {
        last = exact();
        count_waiting();
    }
    const bool ends = own && (update.flags & RSSLAG_TEARDOWN) != 0;
    Account &to = ends ? tasks_.teardown(account) : account;
    tasks_.count(to, 1, own, update.t_ns);
    // When this is settled, another task may have the TID of the ended one.
    rsslag_update by = update;
    if (account.tag) by.tid = kEndedTid;
    if (!histories_.has_cpu(update.cpu)) return {true, std::nullopt, std::nullopt};
    const Applied applied = cpus_cache(options_.scheme) ? apply_cpu(by, to) : apply_thread(by, to, direct);
    update_peaks(update.t_ns);
    peaks_.cached(kAllMembers[update.member], cached_of(update.member), {update.t_ns, update.tid});
    if (check_.watched()) note_rss();
    return applied;
}

/// Returns the amount of an update if it is certain now, else the ticket by which it will be reported.
Applied MmAccount::add(CounterEvent event, std::size_t member) {
    const std::uint64_t ticket = event.update ? ++shared_->settlements.tickets : 0;
    const std::uint64_t now = event.t_ns;
    event.ticket = ticket;
    CounterHistory &history = histories_[member];
    history.add(std::move(event), out_);
    if (history.due()) {
        shared_->visited += histories_.cpus_seen();
        history.settle(histories_.complete_ns(now), out_);
    }
    const std::size_t reported = shared_->settlements.reported.size();
    take(member);
    Applied applied{true, std::nullopt, std::nullopt, ticket};
    for (std::size_t i = reported; i < shared_->settlements.reported.size(); ++i) {
        const SettledUpdate &each = shared_->settlements.reported[i];
        if (ticket == 0 || each.ticket != ticket) continue;
        applied = {true, each.pages, each.reason, 0};
        applied.folded = each.folded;
        shared_->settlements.reported.erase(shared_->settlements.reported.begin() + static_cast<std::ptrdiff_t>(i));
        break;
    }
    return applied;
}

Applied MmAccount::apply_cpu(const rsslag_update &update, Account &account) {
    const std::size_t m = update.member;
    if (update.cpu >= counters_.cpus()) return {true, std::nullopt, std::nullopt};
    const std::int64_t before = counters_.cached_by(update.cpu)[m];
    hold_count(update);
    hold(counters_.cell_of(update.cpu, m), update.t_ns, update.cached);
    CounterEvent event = histories_.event_of(update, account);
    for (std::size_t each = 0; each < kMembers; ++each) {
        if (each != m) histories_[each].passed(update.cpu, update.t_ns);
    }
    if (update.cached != 0) {
        // The change of the CPU's value is the exact amount. The count is evidence of other CPUs' folds.
        tasks_.add_flushed(account, m, update.cached - before);
        peaks_.record_cached(update, update.cached - before);
        add(std::move(event), m);
        return {true, Pages{update.cached - before}, std::nullopt};
    }
    event.update = true;
    event.before = before;
    event.moved = moved_by_fold(pages_of(update, options_.anon_orders), before, options_.batch);
    if (const auto usual = usual_pages_of(update)) {
        const std::int64_t moved = before + *usual;
        event.usual = std::abs(moved) >= options_.batch ? moved : 0;
    }
    peaks_.record_fold(update, event, shared_->settlements.tickets + 1);
    return add(std::move(event), m);
}

Applied MmAccount::apply_thread(const rsslag_update &update, Account &account, bool direct) {
    const std::size_t m = update.member;
    CounterEvent event = histories_.event_of(update, account);
    event.update = true;
    const MmFlushes::Started started =
        flushes_.start(update, shared_->settlements.tickets + 1, counters_.flushed()[m], direct, account, event);
    peaks_.record(started.step);
    hold_count(update);
    if (started.empties) tasks_.set_cached(account, m, 0);
    Applied applied = add(std::move(event), m);
    // Its amount is certain before its order is: a flush moves exactly what the task cached.
    if (started.sure) applied = {true, Pages{update.cached}, started.sure};
    applied.from_faults = started.from_faults;
    return applied;
}

Members MmAccount::apply(const rsslag_fault &fault) {
    Account *const found = tasks_.find_own(fault.tid);
    if (found == nullptr || fault.t_ns < adopted_from_) return {};
    last_ns = std::max<std::uint64_t>(last_ns, fault.t_ns);
    Account &account = *found;
    if (fault.t_ns < account.cached_ns) return {};  // the record came late
    histories_.seen(fault, account);
    Members more;
    for (std::size_t m = 0; m < kMembers; ++m) {
        more[kAllMembers[m]] = {fault.cached[m] - std::exchange(account.from_faults[m], fault.cached[m])};
        tasks_.set_cached(account, m, fault.cached[m]);
        if (fault.t_ns <= adopted_until_) tasks_.set_cached_at_attach(account, m, fault.cached[m]);
    }
    if (fault.t_ns <= adopted_until_) {
        account.rebase();
        rebase();
        note_begin();
        more = {};
    } else {
        note_task(fault.tid, fault.t_ns);
    }
    account.cached_ns = fault.t_ns;
    account.last_flushed_member = -1;
    if (check_.watched()) note_rss();
    return more;
}

void MmAccount::apply(const rsslag_sum &sum, Account &account, std::uint64_t updates, bool own) {
    last_ns = std::max<std::uint64_t>(last_ns, sum.t_ns);
    if (sum.of >= counters_.cpus() || sum.t_ns < adopted_from_) return;
    const bool adopted = sum.t_ns <= adopted_until_;
    if (!adopted) tasks_.count(account, updates, own, sum.t_ns);
    const Members before = exact();
    for (std::size_t m = 0; m < kMembers; ++m) {
        if ((sum.members >> m & 1) == 0) continue;
        if (!adopted) tasks_.add_flushed(account, m, std::int64_t{sum.cached[m]} - counters_.cached_by(sum.of)[m]);
        hold(counters_.cell_of(sum.of, m), sum.t_ns, sum.cached[m], true);
    }
    if (adopted) {
        rebase();
    } else {
        note_sum(sum, before);
    }
    // The CPU had read its earlier counts by now. It may have a fold in flight, so this is no call of seen(): a sum is
    // sent because of another event on its CPU, mostly a fold, whose own record comes next.
    if ((sum.flags & RSSLAG_PARTIAL) == 0 && sum.cpu == sum.of) histories_.passed(sum.cpu, sum.t_ns);
    if (check_.watched()) note_rss();
}

void MmAccount::take_fold(const CounterHistory::Update &update) {
    if (update.moved == 0) return;
    Account &account = tasks_.of(update.tid);
    account.flushes++;
    account.last_flush_ns = std::max(account.last_flush_ns, update.t_ns);
    folds_[update.cpu]++;
}

/// Adds settled amounts to the accounts and reports them.
void MmAccount::take(std::size_t member) {
    std::vector<PeakAmount> amounts;
    for (const CounterHistory::Update &update : out_.updates) {
        std::optional<FlushReason> reason;
        std::optional<Pages> folded;
        PeakAmount amount{update.ticket, update.pages, {}, update.since_ns};
        if (cpus_cache(options_.scheme)) {
            take_fold(update);
            if (update.moved != 0) reason = FlushReason::Fold;
        } else {
            Account &account = tasks_.of(update.tid);
            if (const auto settled = flushes_.settle(update, member, torn_down, account)) {
                if (settled->cached) tasks_.set_cached(account, member, *settled->cached);
                amount.left = settled->left;
                reason = settled->reason;
            }
        }
        amounts.push_back(amount);
        if (shared_ == nullptr) continue;
        const bool certain = update.pages.least == update.pages.most && !needs_resync_;
        if (certain && reason == FlushReason::Fold) folded = Pages{update.moved};
        shared_->settlements.reported.push_back(
            {update.ticket, certain ? std::optional(Pages{update.pages.likely}) : std::nullopt, reason, folded});
    }
    note_settled(member, std::move(amounts));
    for (const CounterHistory::Share &share : out_.shares) {
        Account &account = tasks_.of(share.tid);
        tasks_.add_flushed(account, member, share.pages.likely);
        account.below[member] += share.pages.likely - share.pages.least;
        account.above[member] += share.pages.most - share.pages.likely;
    }
    if (out_.unexplained != 0) {
        remainder_[kAllMembers[member]].n += out_.unexplained;
        disagreements_ += needs_resync_ ? 0 : 1;
    }
    // The record with the latest time need not be of the last update.
    const CounterHistory &history = histories_[member];
    if (out_.certain && !history.open() && history.count() != counters_.flushed()[member]) {
        hold(static_cast<std::uint32_t>(member), counters_.flushed_ns(member), history.count());
    }
    out_.clear();
}

/// Reports the amounts of open updates as unknown.
void MmAccount::drop_open() {
    flushes_.drop_open();
    if (shared_ == nullptr) return;
    for (const std::uint64_t ticket : histories_.open_tickets())
        shared_->settlements.reported.push_back({ticket, std::nullopt, std::nullopt});
}

void MmAccount::advance(std::uint64_t t_ns) {
    if (torn_down && last_ns + CounterHistory::kSilentNs < t_ns) {
        finish();
        return release_former_tasks(t_ns);
    }
    for (std::size_t m = 0; m < kMembers; ++m) {
        if (!histories_[m].open()) continue;
        shared_->visited += histories_.cpus_seen() + histories_[m].unsettled().size();
        histories_[m].settle(histories_.complete_ns(t_ns), out_);
        take(m);
        update_peaks(known_ns());
    }
    release_former_tasks(t_ns);
}

void MmAccount::finish() {
    disagreements_ += check_.give_up();
    for (std::size_t m = 0; m < kMembers; ++m) {
        // Every counter of an mm ends at 0 (kernel/fork.c check_mm), and its tasks have flushed their caches. This
        // counts as a reading if an order of the records leads to it. It is later than all records, even if the clocks
        // of CPUs differ.
        const std::int64_t left = cpus_cache(options_.scheme) ? -cached_of(m) : 0;
        const std::uint64_t end_ns = last_ns + OrderSearch::kClockSkewNs + 1;
        const bool reached = torn_down && histories_[m].add_reading(left, end_ns, CounterHistory::kNever);
        histories_[m].finish(out_);
        out_.certain = reached;
        take(m);
        update_peaks(known_ns());
    }
}

/// Hands settled amounts on to the peaks.
void MmAccount::note_settled(std::size_t member, std::vector<PeakAmount> amounts) {
    if (!out_.bound) {
        for (PeakAmount &amount : amounts)
            amount.since_ns = 0;
    }
    const Sure sure = !out_.bound ? Sure::Nothing : out_.sum_known ? Sure::Sum : Sure::Each;
    if (!amounts.empty()) peaks_.settle(amounts, sure);
    if (out_.unexplained == 0) return;
    WideStep step;
    step.t_ns = last_ns;
    step.by[kAllMembers[member]] = {out_.unexplained};
    peaks_.record(step);
}

/// The updates of a sum have no records of their own. Between two of them, the CPU's value may have been any value
/// below a batch.
void MmAccount::note_sum(const rsslag_sum &sum, const Members &before) {
    WideStep step;
    step.lane = {sum.of, sum.of};
    step.t_ns = sum.t_ns;
    step.tid = sum.tid;
    step.by = exact() - before;
    for (std::size_t m = 0; m < kMembers; ++m) {
        if ((sum.members >> m & 1) == 0) continue;
        const std::int64_t by = step.by[kAllMembers[m]].n;
        const std::int64_t local = counters_.cached_by(sum.of)[m] - by;
        peaks_.cached(kAllMembers[m], cached_of(m), {sum.t_ns, sum.tid});
        if (!in_rss(kAllMembers[m]) || sum.updates <= 1) continue;
        step.transient.up += std::max<std::int64_t>(options_.batch - 1 - local - std::max<std::int64_t>(by, 0), 0);
        step.transient.down += std::min<std::int64_t>(1 - options_.batch - local - std::min<std::int64_t>(by, 0), 0);
    }
    peaks_.summed((options_.batch - 1) * (static_cast<std::int64_t>(counters_.cpus()) - 1));
    peaks_.record(step);
    update_peaks(sum.t_ns);
}

/// A record or reading of what a task caches.
void MmAccount::note_task(int tid, std::uint64_t t_ns) {
    Account *const found = tasks_.find_own(tid);
    if (found == nullptr) return;
    Account &account = *found;
    WideStep step = step_of_task(tid, t_ns);
    for (std::size_t m = 0; m < kMembers; ++m) {
        step.by[kAllMembers[m]] = {account.cached[m] - (account.left_by[m] == 0 ? account.left[m] : 0)};
        peaks_.cached(kAllMembers[m], cached_of(m), {t_ns, tid});
    }
    step.after = account.left_by;
    account.rebase();
    peaks_.record(step);
    update_peaks(t_ns);
}

/// Reports rss and lag by the counts in the records, before open updates are settled.
void MmAccount::update_peaks(std::uint64_t t_ns) {
    peaks_.report(exact().rss(), lag(), t_ns);
}

void MmAccount::born() {
    peaks_.start({exact(), cached(), lag(), born_ns}, needs_resync_);
}

void MmAccount::start_missed() {
    start_approximate = true;
    peaks_.start_missed();
}

void MmAccount::close() {
    peaks_.close(exact(), known_ns(), needs_resync_);
    shared_ = nullptr;
}

void MmAccount::bind(std::uint64_t t_ns) {
    if (!std::exchange(bound, true)) note_begin();
    bound_ns = std::max(bound_ns, t_ns);
}

Account &MmAccount::own(int tid) {
    Account &account = tasks_.own(tid);
    count_waiting();
    return account;
}

void MmAccount::wait_for_end(int more) {
    waiting_ += static_cast<std::size_t>(more);
    count_waiting();
}

/// From 6.16 a process exits before its mm is torn down. It counts until then, because its memory still exists.
void MmAccount::count_waiting() {
    const std::size_t counts = torn_down || !own_tasks().empty() ? 0 : waiting_;
    *all_waiting_ += counts - std::exchange(counted_, counts);
}

void MmAccount::take_cache_from(int tid) {
    Account *const account = tasks_.find_own(tid);
    if (account == nullptr) return;
    for (std::size_t m = 0; m < kMembers; ++m)
        tasks_.set_cached(*account, m, 0);  // exec and exit flush it; a member that is 0 by then has no record
    note_task(tid, last_ns);
}

void MmAccount::leave_own(int tid, std::uint64_t faults, const TaskName &name) {
    if (tasks_.find_own(tid) == nullptr) return;
    take_cache_from(tid);
    tasks_.leave_own(tid, faults, name);
}

void MmAccount::end_own(int tid, std::uint64_t faults, const TaskName &name, std::uint64_t t_ns) {
    if (tasks_.find_own(tid) == nullptr) return;
    take_cache_from(tid);
    wake();
    histories_.retag(tid, tasks_.end_own(tid, faults, name, std::max(t_ns, last_ns)));
    count_waiting();
}

void MmAccount::end_other(int tid, const TaskName &name, std::uint64_t t_ns, MmTasks::End end) {
    wake();
    if (const auto tag = tasks_.end_other(tid, name, std::max(t_ns, last_ns), end)) histories_.retag(tid, *tag);
}

void MmAccount::rename_other(int from, int to) {
    if (tasks_.rename_other(from, to)) histories_.retag(from, to);
}

void MmAccount::rename_own(int from, int to) {
    if (tasks_.rename_own(from, to)) histories_.retag(from, to);
}

void MmAccount::release_former_tasks(std::uint64_t t_ns) {
    if (shared_ == nullptr || !tasks_.leaving(t_ns)) return;
    tasks_.release(t_ns, histories_.open_former_tasks(), generation, shared_->keep_ended ? &shared_->ended : nullptr);
}

void MmAccount::note_rss() {
    const std::int64_t rss = exact().rss().n;
    rss_min_ = std::min(rss_min_, rss);
    rss_max_ = std::max(rss_max_, rss);
}

}  // namespace rsslag::core
