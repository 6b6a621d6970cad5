// SPDX-License-Identifier: BSD-2-Clause
// What an mm came to at most and at least, record by record, and what that adds to all mms together.
#include <algorithm>
#include <cstdlib>

#include "mm_account.h"
#include "update_limits.h"

namespace rsslag::core {
namespace {

// On the `thread` scheme an update tells what its task caches of one member, a fault record of all.
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

/// All that its steps come to is what its counters tell.
void MmAccount::know_peaks() {
    const std::vector<std::uint64_t> waiting = peaks_.waiting();
    each_peaks([&waiting](Peaks &peaks) { peaks.give_up(waiting); });
    WideStep step;
    step.t_ns = last_ns;
    step.by = exact() - peaks_.members();
    step.closes = peaks_.doubts();
    if (step.by != Members{} || !step.closes.empty()) note_step(step);
}

/// Nothing more is told of it.
void MmAccount::close() {
    if (shared_ == nullptr) return;
    know_peaks();
    Peaks &all = shared_->peaks;
    all.report(-peaks_.reported(), -peaks_.lag(), last_ns);
    WideStep gone;
    gone.t_ns = last_ns;
    gone.by = Members{} - peaks_.members();
    all.record(gone);
    if (needs_resync_) now_sure();
    shared_ = nullptr;
}

template <class Step>
void MmAccount::note_step(const Step &step) {
    each_peaks([&step](Peaks &peaks) { peaks.record(step); });
}

/// As records tell at once, right or not.
void MmAccount::update_peaks(std::uint64_t t_ns) {
    const std::int64_t by = exact().rss().n - peaks_.reported();
    const std::int64_t lag_by = lag() - peaks_.lag();
    each_peaks([&](Peaks &peaks) { peaks.report(by, lag_by, t_ns); });
}

/// The counters were read: from now on they are known.
void MmAccount::start_peaks(std::uint64_t t_ns) {
    if (shared_ == nullptr) return;
    Peaks &all = shared_->peaks;
    know_peaks();
    update_peaks(t_ns);
    peaks_.start(exact(), lag(), t_ns);
    if (needs_resync_) peaks_.lost();
    if (shared_->unsure == 0 && !all.running()) all.resume(t_ns);
}

void MmAccount::now_unsure() {
    if (shared_ == nullptr) return;
    if (!needs_resync_) shared_->unsure++;
    each_peaks([](Peaks &peaks) { peaks.lost(); });
}

void MmAccount::now_sure() {
    if (shared_ != nullptr) shared_->unsure--;
}

WideStep MmAccount::step_of(const rsslag_update &update) const {
    WideStep step;
    step.lane = lane_of(update, cpus_cache(options_.scheme));
    step.t_ns = update.t_ns;
    step.tid = update.tid;
    step.member = update.member;
    return step;
}

/// A record of what its CPU has cached by it.
void MmAccount::note_cached(const rsslag_update &update, std::int64_t pages) {
    note_step(PeakStep{lane_of(update, true), update.t_ns, pages, update.tid, update.member});
}

/// A record that left its CPU with nothing cached.
void MmAccount::note_fold(const rsslag_update &update, const CounterEvent &event) {
    WideStep step = step_of(update);
    step.open.ticket = shared_->settlements.tickets + 1;
    step.open.moved = guess(event);
    note_step(step);
}

/// `thread` scheme: what its task had cached is as old as its pages; what it adds to the counter itself is new.
void MmAccount::note_flush(const rsslag_update &update, const CounterEvent &event, Account &account, OpenFlush &open) {
    const std::size_t m = update.member;
    WideStep step = step_of(update);
    const std::uint64_t ticket = shared_->settlements.tickets + 1;
    const bool late = update.t_ns < account.cached_ns;
    open.tells = (update.flags & RSSLAG_OWN) != 0 && !late;
    if (open.tells) {
        step.by[kAllMembers[m]] = {update.cached - (account.left_by[m] == 0 ? account.left[m] : 0)};
        step.after[m] = account.left_by[m];
        account.left[m] = 0;
        account.left_by[m] = 0;
    }
    const bool sure = !open.direct && surely_flush(update);
    if (!sure || !open.tells) {
        step.open = {ticket, guess(event), {}, 0};
        step.had = open.tells ? update.cached : 0;
        step.open.left = left_by(open, step.open.moved);
        if (step.had != 0 && !account.tag) account.left_by[m] = ticket;
    }
    note_step(step);
}

/// All that an update may have moved the counter by, less what its CPU had cached.
Amount MmAccount::guess(const CounterEvent &event) {
    if (event.moved.empty()) return {-kMostPages - event.before, kMostPages - event.before, 0};
    const PageRange hull = event.moved.hull();
    const std::int64_t likely = event.usual.value_or(hull.least);
    return {hull.least - event.before, hull.most - event.before,
            std::clamp(likely, hull.least, hull.most) - event.before};
}

/// What a task caches after an update that moved the counter by so much: all that it had, or nothing.
Amount MmAccount::left_by(const OpenFlush &open, const Amount &moved) const {
    const std::int64_t had = open.tells ? open.update.cached : 0;
    if (had == 0 || open.direct) return {had, had, had};
    if (surely_flush(open.update)) return {};
    const bool flush = maybe_flush(open.update) && moved.least <= had && had <= moved.most;
    const bool sole = moved.least == moved.most;
    const bool direct = !sole || !flush || pages_of(open.update, options_.anon_orders).has(had);
    const std::int64_t likely = flush && moved.likely == had ? 0 : had;
    if (!flush || !direct) return {likely, likely, likely};
    return {std::min<std::int64_t>(had, 0), std::max<std::int64_t>(had, 0), likely};
}

/// Updates have their amounts.
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

/// A run of updates that left no record of its own may have come and gone as far as its CPU caches.
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
        step.beside.up += std::max<std::int64_t>(options_.batch - 1 - local - std::max<std::int64_t>(by, 0), 0);
        step.beside.down += std::min<std::int64_t>(1 - options_.batch - local - std::min<std::int64_t>(by, 0), 0);
    }
    each_peaks([&](Peaks &peaks) {
        peaks.summed((options_.batch - 1) * (static_cast<std::int64_t>(locals_.size()) - 1));
        peaks.record(step);
    });
    update_peaks(sum.t_ns);
}

/// What a task caches is told.
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
