// SPDX-License-Identifier: BSD-2-Clause
#include "mm_peaks.h"

#include <algorithm>
#include <utility>

namespace rsslag::core {
namespace {

// `thread` scheme: an update record shows what its task caches of one member, a fault record of all.
constexpr int kLanesOfTask = 8;

int lane_of_task(int tid) {
    constexpr int kMostTids = 1 << 22;  // include/linux/threads.h PID_MAX_LIMIT
    return std::clamp(tid, 0, kMostTids) * kLanesOfTask + kLanesOfTask - 1;
}

RssTrack::Lane lane_of_cpu(const rsslag_update &update) {
    return {update.cpu, update.cpu, std::max<int>(update.tid, RssTrack::kNoTask)};
}

}  // namespace

WideStep step_of_task(int tid, std::uint64_t t_ns) {
    WideStep step;
    step.lane = {lane_of_task(tid), lane_of_task(tid)};
    step.t_ns = t_ns;
    step.tid = tid;
    return step;
}

WideStep step_of_task(const rsslag_update &update) {
    WideStep step = step_of_task(update.tid, update.t_ns);
    step.lane.own += update.member + 1 - kLanesOfTask;
    step.member = update.member;
    return step;
}

Amount guess(const CounterEvent &event) {
    if (event.moved.empty()) return {-kMostPages - event.before, kMostPages - event.before, 0};
    const PageRange hull = event.moved.hull();
    const std::int64_t likely = event.usual.value_or(hull.least);
    return {hull.least - event.before, hull.most - event.before,
            std::clamp(likely, hull.least, hull.most) - event.before};
}

void AllPeaks::join(const Members &by, std::uint64_t t_ns) {
    cached_ += by;
    joined_ns_ = t_ns;
}

void AllPeaks::note_joined() {
    if (!joined_ns_) return;
    for (const Member member : kAllMembers)
        cached(member, cached_[member].n, {*joined_ns_, 0});
    joined_ns_.reset();
}

void AllPeaks::move_cached(Member member, Pages by, const Instant &at) {
    cached_[member] += by;
    cached(member, cached_[member].n, at);
}

Extremes AllPeaks::extremes() const {
    Extremes all = Peaks::extremes();
    for (const Member member : kAllMembers)
        if (joined_ns_) note_cached(all, member, cached_[member].n, {*joined_ns_, 0});
    return all;
}

void MmPeaks::start(const PeakStart &start, bool needs_resync) {
    if (all_ == nullptr) return;
    const bool joins = !own_.running() && start.exact != Members{};
    all_->join(start.cached - std::exchange(cached_, start.cached), start.t_ns);
    all_->report(start.exact.rss().n - own_.reported(), start.lag - own_.lag(), start.t_ns);
    own_.start(start);
    if (needs_resync) own_.lost();
    for (SharerPeaks &each : sharers_) {
        if (each.last) continue;
        each.peaks.start(start);
        if (needs_resync) each.peaks.lost();
    }
    if (all_->need_resync == 0 && !all_->running()) all_->resume(start.t_ns);
    if (joins) all_->forget_lowest(start.t_ns);
}

void MmPeaks::lost(bool first) {
    if (all_ == nullptr) return;
    if (first) all_->need_resync++;
    each([](Peaks &peaks) { peaks.lost(); });
}

void MmPeaks::resynced() {
    if (all_ != nullptr) all_->need_resync--;
}

void MmPeaks::close(const Members &exact, std::uint64_t t_ns, bool needs_resync) {
    if (all_ == nullptr) return;
    settle_all(exact, t_ns);
    all_->note_joined();
    all_->join(Members{} - cached_, t_ns);
    all_->report(-own_.reported(), -own_.lag(), t_ns);
    WideStep gone;
    gone.t_ns = t_ns;
    gone.by = Members{} - own_.members();
    all_->record(gone);
    if (needs_resync) resynced();
    all_ = nullptr;
}

void MmPeaks::report(Pages rss, std::int64_t lag, std::uint64_t t_ns) {
    const std::int64_t by = rss.n - own_.reported();
    const std::int64_t lag_by = lag - own_.lag();
    each([&](Peaks &peaks) { peaks.report(by, lag_by, t_ns); });
}

void MmPeaks::cached(Member member, std::int64_t pages, const Instant &at) {
    own_.cached(member, pages, at);
    for (SharerPeaks &each : sharers_)
        if (!each.last) each.peaks.cached(member, pages, at);
    if (all_ == nullptr) return;
    all_->note_joined();
    all_->move_cached(member, Pages{pages} - std::exchange(cached_[member], Pages{pages}), at);
}

void MmPeaks::sharer_born(int host_tgid, const PeakStart &start) {
    forget_sharer(host_tgid);
    if (sharers_.size() < kMostSharers) {
        sharers_.push_back({{start.exact, std::nullopt}, host_tgid, own_.since(start)});
    } else {
        more_sharers_[host_tgid] = {start.exact, std::nullopt};
    }
}

void MmPeaks::sharer_ended(int host_tgid, const Members &exact, const Members &at_start) {
    const auto found = std::find_if(sharers_.begin(), sharers_.end(),
                                    [&](const SharerPeaks &each) { return each.host_tgid == host_tgid; });
    const auto more = more_sharers_.find(host_tgid);
    if (found != sharers_.end()) {
        found->last = exact;
    } else if (more != more_sharers_.end()) {
        more->second.last = exact;
    } else if (sharers_.size() < kMostSharers) {
        sharers_.push_back({{at_start, exact}, host_tgid, own_});
    } else {
        more_sharers_[host_tgid] = {at_start, exact};
    }
}

void MmPeaks::forget_sharer(int host_tgid) {
    std::erase_if(sharers_, [&](const SharerPeaks &each) { return each.host_tgid == host_tgid; });
    more_sharers_.erase(host_tgid);
}

void MmPeaks::show_life(int host_tgid, MmView &view) const {
    const auto show = [&view](const SharerLife &life) {
        view.at_start = life.at_start;
        if (life.last) view.last = *life.last;
    };
    for (const SharerPeaks &each : sharers_) {
        if (each.host_tgid != host_tgid) continue;
        show(each);
        view.extremes = each.peaks.extremes();
        return;
    }
    const auto more = more_sharers_.find(host_tgid);
    if (more == more_sharers_.end()) return;
    show(more->second);
    // The process held this at its birth and at its end. The extremes of the mm bound what it held in between.
    const Members &start = view.at_start;
    const Members &last = view.last;
    Extremes &extremes = view.extremes;
    extremes.lossy = true;
    extremes.most.from = std::max(start.rss(), last.rss());
    extremes.most.members = start.rss() > last.rss() ? start : last;
    extremes.least.to = std::min(start.rss(), last.rss());
    extremes.least.members = start.rss() > last.rss() ? last : start;
    for (const Member member : kAllMembers) {
        extremes.each_most[member] = std::max(start[member], last[member]);
        extremes.each_least[member] = std::min(start[member], last[member]);
    }
}

void MmPeaks::summed(std::int64_t pages) {
    each([pages](Peaks &peaks) { peaks.summed(pages); });
}

void MmPeaks::record_cached(const rsslag_update &update, std::int64_t pages) {
    record(PeakStep{lane_of_cpu(update), update.t_ns, pages, update.tid, update.member});
}

void MmPeaks::record_fold(const rsslag_update &update, const CounterEvent &event, std::uint64_t ticket) {
    WideStep step;
    step.lane = lane_of_cpu(update);
    step.t_ns = update.t_ns;
    step.tid = update.tid;
    step.member = update.member;
    step.open.ticket = ticket;
    step.open.moved = guess(event);
    step.made_after_ns = update.t_ns - std::min<std::uint64_t>(update.t_ns, kLongestDelayNs);
    record(step);
}

void MmPeaks::settle(const std::vector<PeakAmount> &amounts, Sure sure) {
    own_.settle(amounts, sure);
    for (SharerPeaks &each : sharers_)
        each.peaks.settle(amounts, sure);
    if (all_ != nullptr) all_->settle(amounts, sure);
}

void MmPeaks::settle_all(const Members &exact, std::uint64_t t_ns) {
    if (all_ == nullptr) return;
    const std::vector<std::uint64_t> waiting = own_.waiting();
    each([&waiting](Peaks &peaks) { peaks.give_up(waiting); });
    WideStep step;
    step.t_ns = t_ns;
    step.by = exact - own_.members();
    step.closes = own_.uncertain_tickets();
    if (step.by != Members{} || !step.closes.empty()) record(step);
}

}  // namespace rsslag::core
