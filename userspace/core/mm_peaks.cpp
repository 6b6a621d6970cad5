// SPDX-License-Identifier: BSD-2-Clause
// The highest and the lowest rss of an mm, record by record, and its part in the rss of all mms together.
#include <algorithm>
#include <cstdlib>

#include "mm_account.h"
#include "update_limits.h"

namespace rsslag::core {
namespace {

// `thread` scheme: an update record shows what its task caches of one member, a fault record of all.
constexpr int kLanesOfTask = 8;

int lane_of_task(int tid) {
    constexpr int kMostTids = 1 << 22;  // include/linux/threads.h PID_MAX_LIMIT
    return std::clamp(tid, 0, kMostTids) * kLanesOfTask + kLanesOfTask - 1;
}

RssTrack::Lane lane_of(const rsslag_update &update, bool of_cpus) {
    if (of_cpus) return {update.cpu, update.cpu, std::max<int>(update.tid, RssTrack::kNoTask)};
    const int all = lane_of_task(update.tid);
    return {all - kLanesOfTask + 1 + update.member, all};
}

}  // namespace

template <class Use>
void MmAccount::each_peaks(const Use &use) {
    if (shared_ == nullptr) return;
    use(peaks_);
    use(shared_->peaks);
}

std::int64_t MmAccount::lag() const {
    std::int64_t lag = 0;
    for (const Member member : kRssMembers) {
        const std::int64_t flushed = flushed_[index_of(member)];
        lag += flushed + cached_sum_[index_of(member)] - std::max<std::int64_t>(flushed, 0);
    }
    return lag;
}

std::optional<Held> MmAccount::held() const {
    if (torn_down || needs_resync_) return std::nullopt;
    return Held{exact().rss(), {lag()}, generation};
}

void MmAccount::born() {
    start_peaks(born_ns);
}

/// Closes what is open of the steps: their sum is what the counters hold.
void MmAccount::settle_peaks() {
    const std::vector<std::uint64_t> waiting = peaks_.waiting();
    each_peaks([&waiting](Peaks &peaks) { peaks.give_up(waiting); });
    WideStep step;
    step.t_ns = last_ns;
    step.by = exact() - peaks_.members();
    step.closes = peaks_.doubts();
    if (step.by != Members{} || !step.closes.empty()) note_step(step);
}

/// No more records of the mm follow.
void MmAccount::close() {
    if (shared_ == nullptr) return;
    settle_peaks();
    Peaks &all = shared_->peaks;
    all.report(-peaks_.reported(), -peaks_.lag(), last_ns);
    WideStep gone;
    gone.t_ns = last_ns;
    gone.by = Members{} - peaks_.members();
    all.record(gone);
    if (needs_resync_) note_resynced();
    shared_ = nullptr;
}

template <class Step>
void MmAccount::note_step(const Step &step) {
    each_peaks([&step](Peaks &peaks) { peaks.record(step); });
}

/// Reports rss and lag by the counts in the records, before open updates are settled.
void MmAccount::update_peaks(std::uint64_t t_ns) {
    const std::int64_t by = exact().rss().n - peaks_.reported();
    const std::int64_t lag_by = lag() - peaks_.lag();
    each_peaks([&](Peaks &peaks) { peaks.report(by, lag_by, t_ns); });
}

/// Starts from the counters, which are known now.
void MmAccount::start_peaks(std::uint64_t t_ns) {
    if (shared_ == nullptr) return;
    Peaks &all = shared_->peaks;
    settle_peaks();
    update_peaks(t_ns);
    peaks_.start(exact(), lag(), t_ns);
    if (needs_resync_) peaks_.lost();
    if (shared_->need_resync == 0 && !all.running()) all.resume(t_ns);
}

void MmAccount::note_needs_resync() {
    if (shared_ == nullptr) return;
    if (!needs_resync_) shared_->need_resync++;
    each_peaks([](Peaks &peaks) { peaks.lost(); });
}

void MmAccount::note_resynced() {
    if (shared_ != nullptr) shared_->need_resync--;
}

WideStep MmAccount::step_of(const rsslag_update &update) const {
    WideStep step;
    step.lane = lane_of(update, cpus_cache(options_.scheme));
    step.t_ns = update.t_ns;
    step.tid = update.tid;
    step.member = update.member;
    return step;
}

/// `cpu` scheme: an update after which its CPU caches something; its amount is exact.
void MmAccount::note_cached(const rsslag_update &update, std::int64_t pages) {
    note_step(PeakStep{lane_of(update, true), update.t_ns, pages, update.tid, update.member});
}

/// `cpu` scheme: an update after which its CPU caches nothing; its amount is open.
void MmAccount::note_fold(const rsslag_update &update, const CounterEvent &event) {
    WideStep step = step_of(update);
    step.open.ticket = shared_->settlements.tickets + 1;
    step.open.moved = guess(event);
    note_step(step);
}

/// `thread` scheme: the step is what the task's cache grew by since its last record, and what the update moved the
/// counter by, less what it took out of the cache.
void MmAccount::note_flush(const rsslag_update &update, const CounterEvent &event, Account &account, OpenFlush &open) {
    const std::size_t m = update.member;
    WideStep step = step_of(update);
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
    note_step(step);
}

/// The possible moves of the counter by an update, less what its CPU had cached.
Amount MmAccount::guess(const CounterEvent &event) {
    if (event.moved.empty()) return {-kMostPages - event.before, kMostPages - event.before, 0};
    const PageRange hull = event.moved.hull();
    const std::int64_t likely = event.usual.value_or(hull.least);
    return {hull.least - event.before, hull.most - event.before,
            std::clamp(likely, hull.least, hull.most) - event.before};
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

/// Hands settled amounts on to the peaks.
void MmAccount::note_settled(std::size_t member, std::vector<PeakAmount> amounts) {
    if (!out_.bound) {
        for (PeakAmount &amount : amounts)
            amount.since_ns = 0;
    }
    const Sure sure = !out_.bound ? Sure::Nothing : out_.sum_known ? Sure::Sum : Sure::Each;
    if (!amounts.empty()) {
        peaks_.settle(amounts, sure);
        if (shared_ != nullptr) shared_->peaks.settle(amounts, sure);
    }
    if (out_.unclaimed == 0) return;
    WideStep step;
    step.t_ns = last_ns;
    step.by[kAllMembers[member]] = {out_.unclaimed};
    note_step(step);
}

/// The updates of a sum have no records of their own: in between, the CPU's value may have come to anything below a
/// batch.
void MmAccount::note_sum(const rsslag_sum &sum, const Members &before) {
    WideStep step;
    step.lane = {sum.of, sum.of};
    step.t_ns = sum.t_ns;
    step.tid = sum.tid;
    step.by = exact() - before;
    for (std::size_t m = 0; m < kMembers; ++m) {
        if ((sum.members >> m & 1) == 0) continue;
        const std::int64_t by = step.by[kAllMembers[m]].n;
        const std::int64_t local = locals_[sum.of][m] - by;
        peaks_.cached(kAllMembers[m], cached_sum_[m]);
        if (!counts_in_rss(m) || sum.updates <= 1) continue;
        step.transient.up += std::max<std::int64_t>(options_.batch - 1 - local - std::max<std::int64_t>(by, 0), 0);
        step.transient.down += std::min<std::int64_t>(1 - options_.batch - local - std::min<std::int64_t>(by, 0), 0);
    }
    each_peaks([&](Peaks &peaks) {
        peaks.summed((options_.batch - 1) * (static_cast<std::int64_t>(locals_.size()) - 1));
        peaks.record(step);
    });
    update_peaks(sum.t_ns);
}

/// A record or reading of what a task caches.
void MmAccount::note_task(int tid, std::uint64_t t_ns) {
    const auto found = members_.find(tid);
    if (found == members_.end()) return;
    Account &account = found->second;
    WideStep step;
    step.lane = {lane_of_task(tid), lane_of_task(tid)};
    step.t_ns = t_ns;
    step.tid = tid;
    for (std::size_t m = 0; m < kMembers; ++m) {
        step.by[kAllMembers[m]] = {account.cached[m] - (account.left_by[m] == 0 ? account.left[m] : 0)};
        peaks_.cached(kAllMembers[m], cached_sum_[m]);
    }
    step.after = account.left_by;
    account.left = account.cached;
    account.left_by = {};
    note_step(step);
    update_peaks(t_ns);
}

}  // namespace rsslag::core
