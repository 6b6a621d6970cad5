// SPDX-License-Identifier: BSD-2-Clause
// The `thread` scheme: what the tasks of an mm cache and flush.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "mm_account.h"
#include "update_limits.h"

namespace rsslag::core {
namespace {

FlushReason reason_of(const rsslag_update &update, bool flush) {
    if (!flush) return FlushReason::Direct;
    if ((update.flags & RSSLAG_THRESHOLD) != 0) return FlushReason::Threshold;
    if ((update.flags & RSSLAG_EXITING) != 0) return FlushReason::Exit;
    if ((update.flags & RSSLAG_EXECVE) != 0) return FlushReason::Exec;
    return FlushReason::Zap;
}

}  // namespace

/// `thread` scheme: the step is what the task's cache grew by since its last record, and what the update moved the
/// counter by, less what it took out of the cache.
void MmAccount::note_flush(const rsslag_update &update, const CounterEvent &event, Account &account, OpenFlush &open) {
    const std::size_t m = update.member;
    WideStep step = step_of_task(update);
    const std::uint64_t ticket = shared_->settlements.tickets + 1;
    const bool late = update.t_ns < account.cached_ns;
    open.cache_known = (update.flags & RSSLAG_OWN) != 0 && !late;
    if (open.cache_known) {
        step.by[kAllMembers[m]] = {update.cached - (account.left_by[m] == 0 ? account.left[m] : 0)};
        step.after[m] = account.left_by[m];
        account.left[m] = 0;
        account.left_by[m] = 0;
    }
    const bool sure = !open.direct && surely_flush(update);
    if (!sure || !open.cache_known) {
        step.open = {ticket, guess(event), {}, 0};
        step.had = open.cache_known ? update.cached : 0;
        step.open.left = left_by(open, step.open.moved);
        if (step.had != 0 && !account.tag) account.left_by[m] = ticket;
    }
    peaks_.record(step);
}

/// What a task caches after an update that moved the counter by `moved`: nothing if it was a flush, else all it had.
Amount MmAccount::left_by(const OpenFlush &open, const Amount &moved) const {
    const std::int64_t had = open.cache_known ? open.update.cached : 0;
    if (had == 0 || open.direct) return {had, had, had};
    if (surely_flush(open.update)) return {};
    const bool flush = maybe_flush(open.update) && moved.least <= had && had <= moved.most;
    const bool sole = moved.least == moved.most;
    const bool direct = !sole || !flush || pages_of(open.update, options_.anon_orders).has(had);
    const std::int64_t likely = flush && moved.likely == had ? 0 : had;
    if (!flush || !direct) return {likely, likely, likely};
    return {std::min<std::int64_t>(had, 0), std::max<std::int64_t>(had, 0), likely};
}

Applied MmAccount::apply_thread(const rsslag_update &update, Account &account, bool direct) {
    const std::size_t m = update.member;
    CounterEvent event = event_of(update, account);
    event.update = true;
    OpenFlush open;
    open.update = update;
    open.direct = direct;
    const bool sure = !direct && surely_flush(update);
    if (sure) {
        event.moved = PageSet::only(update.cached);
        event.usual = update.cached;
    } else {
        event.moved = pages_of(update, options_.anon_orders);
        event.usual = usual_pages_of(update);
        if (!direct && maybe_flush(update)) {
            event.moved.add({update.cached, update.cached});
            event.usual = update.cached;
        }
    }
    note_flush(update, event, account, open);
    // The count fits a flush. Not conclusive for one page: exec charges an argument page to the old mm directly
    // (fs/exec.c acct_arg_size).
    const bool fits = flushed_[m] + update.cached == update.count && std::abs(update.cached) != 1;
    hold_count(update);
    // A flush moves pages that fault records have reported already. The sum of its row and those of faults stays the
    // same, whatever the update turns out to be. Within a fault it may be a huge page, which leaves the cache as it is.
    const bool in_fault = (update.flags & (RSSLAG_OF_USER_FAULT | RSSLAG_OF_KERNEL_FAULT)) != 0;
    const bool repeats = !direct && maybe_flush(update) && (sure || fits || !in_fault);
    const Pages from_faults{repeats ? std::exchange(account.from_faults[m], 0) : 0};
    if (!direct && maybe_flush(update)) {
        open.counted = count_flush(account, update);
        open.zeroed = sure || fits;
        if (open.zeroed && account.cached_ns <= update.t_ns) tasks_.set_cached(account, m, 0);
    }
    if (sure) {
        // Its amount is certain before its order is: a flush moves exactly what the task cached.
        open_flushes_.emplace(shared_->settlements.tickets + 1, open);
        add(std::move(event), m);
        return {true, Pages{update.cached}, reason_of(update, true), 0, {}, from_faults};
    }
    open_flushes_.emplace(shared_->settlements.tickets + 1, open);
    Applied applied = add(std::move(event), m);
    applied.from_faults = from_faults;
    return applied;
}

/// Returns whether it is the first record of a flush: sync_mm_rss() flushes the members in ascending order.
bool MmAccount::count_flush(Account &account, const rsslag_update &update) {
    const bool first = account.last_flushed_member >= update.member || account.last_flushed_member < 0;
    if (first) {
        account.flushes++;
        flushes_[static_cast<std::size_t>(reason_of(update, true))]++;
    }
    account.last_flushed_member = update.member;
    account.last_flush_ns = std::max<std::uint64_t>(account.last_flush_ns, update.t_ns);
    return first;
}

std::optional<FlushReason> MmAccount::take_flush(const CounterHistory::Update &update, std::size_t member) {
    const auto found = open_flushes_.find(update.ticket);
    if (found == open_flushes_.end()) return std::nullopt;
    const OpenFlush open = found->second;
    open_flushes_.erase(found);
    const bool flush = !open.direct && maybe_flush(open.update) && update.pages.likely == open.update.cached;
    Account &account = tasks_.of(update.tid);
    const bool known_later = account.cached_ns > open.update.t_ns;
    if (!flush) {
        flushes_[static_cast<std::size_t>(FlushReason::Direct)]++;
        if (open.counted) {
            account.flushes--;
            flushes_[static_cast<std::size_t>(reason_of(open.update, true))]--;
        }
        // A task that has left the mm caches nothing of it, whatever its last update was.
        const bool caches = !account.tag && !torn_down;
        if (open.zeroed && caches && !known_later && account.cached[member] == 0) {
            tasks_.set_cached(account, member, open.update.cached);
        }
        return FlushReason::Direct;
    }
    if (!open.zeroed && !known_later) tasks_.set_cached(account, member, 0);
    return reason_of(open.update, true);
}

Members MmAccount::apply(const rsslag_fault &fault) {
    Account *const found = tasks_.find_member(fault.tid);
    if (found == nullptr || fault.t_ns < adopted_from_) return {};
    last_ns = std::max<std::uint64_t>(last_ns, fault.t_ns);
    Account &account = *found;
    if (fault.t_ns < account.cached_ns) return {};  // the record came late
    if (fault.cpu < cpu_seen_ns_.size()) {
        cpu_seen_ns_[fault.cpu] = std::max<std::uint64_t>(cpu_seen_ns_[fault.cpu], fault.t_ns);
    }
    account.seen_ns = std::max<std::uint64_t>(account.seen_ns, fault.t_ns);
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
    if (watched_) note_rss();
    return more;
}

}  // namespace rsslag::core
