// SPDX-License-Identifier: BSD-2-Clause
#include "mm_flushes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "mm_peaks.h"

namespace rsslag::core {
namespace {

FlushReason reason_of(const rsslag_update &update) {
    if ((update.flags & RSSLAG_THRESHOLD) != 0) return FlushReason::Threshold;
    if ((update.flags & RSSLAG_EXITING) != 0) return FlushReason::Exit;
    if ((update.flags & RSSLAG_EXECVE) != 0) return FlushReason::Exec;
    return FlushReason::Zap;
}

}  // namespace

MmFlushes::Started MmFlushes::start(const rsslag_update &update, std::uint64_t ticket, std::int64_t before, bool direct,
                                    Account &account, CounterEvent &event) {
    Open open;
    open.update = update;
    open.direct = direct;
    const bool sure = open.sure();
    if (sure) {
        event.moved = PageSet::only(update.cached);
        event.usual = update.cached;
    } else {
        event.moved = pages_of(update, anon_orders_);
        event.usual = usual_pages_of(update);
        if (open.possible()) {
            event.moved.add({update.cached, update.cached});
            event.usual = update.cached;
        }
    }
    Started started;
    started.step = step_of(open, ticket, event, account);
    if (sure) started.sure = reason_of(update);
    if (open.possible()) {
        // The count fits a flush. Not conclusive for one page: exec charges an argument page to the old mm directly
        // (fs/exec.c acct_arg_size).
        const bool fits = before + update.cached == update.count && std::abs(update.cached) != 1;
        // A flush moves pages that fault records have reported already. The sum of its row and those of faults stays
        // the same, whatever the update turns out to be. Within a fault it may be a huge page, which leaves the cache
        // as it is.
        const bool in_fault = (update.flags & (RSSLAG_OF_USER_FAULT | RSSLAG_OF_KERNEL_FAULT)) != 0;
        if (sure || fits || !in_fault) started.from_faults = {std::exchange(account.from_faults[update.member], 0)};
        open.counted = count_flush(update, account);
        open.zeroed = sure || fits;
        started.empties = open.zeroed && account.cached_ns <= update.t_ns;
    }
    open_.emplace(ticket, open);
    return started;
}

WideStep MmFlushes::step_of(Open &open, std::uint64_t ticket, const CounterEvent &event, Account &account) const {
    const rsslag_update &update = open.update;
    const std::size_t m = update.member;
    WideStep step = step_of_task(update);
    const bool late = update.t_ns < account.cached_ns;
    open.cache_known = (update.flags & RSSLAG_OWN) != 0 && !late;
    if (open.cache_known) {
        step.by[kAllMembers[m]] = {update.cached - (account.left_by[m] == 0 ? account.left[m] : 0)};
        step.after[m] = account.left_by[m];
        account.left[m] = 0;
        account.left_by[m] = 0;
    }
    if (!open.sure() || !open.cache_known) {
        step.open = {ticket, guess(event), {}, 0};
        step.had = open.cache_known ? update.cached : 0;
        step.open.left = left_by(open, step.open.moved);
        if (step.had != 0 && !account.tag) account.left_by[m] = ticket;
    }
    return step;
}

/// What a task caches after an update that moved the counter by `moved`: nothing after a flush, otherwise the same as
/// before.
Amount MmFlushes::left_by(const Open &open, const Amount &moved) const {
    const std::int64_t had = open.cache_known ? open.update.cached : 0;
    if (had == 0 || open.direct) return {had, had, had};
    if (surely_flush(open.update)) return {};
    const bool flush = maybe_flush(open.update) && moved.least <= had && had <= moved.most;
    const bool sole = moved.least == moved.most;
    const bool direct = !sole || !flush || pages_of(open.update, anon_orders_).has(had);
    const std::int64_t likely = flush && moved.likely == had ? 0 : had;
    if (!flush || !direct) return {likely, likely, likely};
    return {std::min<std::int64_t>(had, 0), std::max<std::int64_t>(had, 0), likely};
}

/// Returns whether it is the first record of a flush: sync_mm_rss() flushes the members in ascending order.
bool MmFlushes::count_flush(const rsslag_update &update, Account &account) {
    const bool first = account.last_flushed_member >= update.member || account.last_flushed_member < 0;
    if (first) {
        account.flushes++;
        count(reason_of(update))++;
    }
    account.last_flushed_member = update.member;
    account.last_flush_ns = std::max<std::uint64_t>(account.last_flush_ns, update.t_ns);
    return first;
}

std::optional<MmFlushes::Settled> MmFlushes::settle(const CounterHistory::Update &update, std::size_t member,
                                                    bool torn_down, Account &account) {
    const auto found = open_.find(update.ticket);
    if (found == open_.end()) return std::nullopt;
    const Open open = found->second;
    open_.erase(found);
    Settled settled;
    settled.left = left_by(open, update.pages);
    const bool known_later = account.cached_ns > open.update.t_ns;
    if (open.possible() && update.pages.likely == open.update.cached) {
        settled.reason = reason_of(open.update);
        if (!open.zeroed && !known_later) settled.cached = 0;
        return settled;
    }
    count(FlushReason::Direct)++;
    if (open.counted) {
        account.flushes--;
        count(reason_of(open.update))--;
    }
    // A task that has left the mm caches nothing of this mm, whatever its last update was.
    const bool caches = !account.tag && !torn_down;
    if (open.zeroed && caches && !known_later && account.cached[member] == 0) settled.cached = open.update.cached;
    return settled;
}

}  // namespace rsslag::core
