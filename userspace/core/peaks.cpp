// SPDX-License-Identifier: BSD-2-Clause
#include "peaks.h"

#include <algorithm>
#include <cstdlib>

namespace rsslag::core {
namespace {

RssTrack::Slack operator+(const RssTrack::Slack &a, const RssTrack::Slack &b) {
    return {a.up + b.up, a.down + b.down};
}

RssTrack::Slack slack_of(std::int64_t least, std::int64_t most) {
    return {std::max<std::int64_t>(most, 0), std::min<std::int64_t>(least, 0)};
}

void widen(Amount &amount, const Amount &other) {
    amount.least = std::min(amount.least, other.least);
    amount.most = std::max(amount.most, other.most);
}

void note_start_in(Extremes &seen, const PeakStart &start) {
    for (const Member member : kAllMembers)
        note_cached(seen, member, start.cached[member].n, {start.t_ns, 0});
    if (start.lag <= seen.lag.n) return;
    seen.lag = {start.lag};
    seen.lag_t_ns = start.t_ns;
    seen.lag_rss = start.exact.rss();
}

}  // namespace

void note_cached(Extremes &seen, Member member, std::int64_t pages, const Instant &at) {
    const Pages held{std::abs(pages)};
    if (held <= seen.cached_most[member]) return;
    seen.cached_most[member] = held;
    seen.cached_most_at[static_cast<std::size_t>(member)] = at;
}

void Peaks::start(const PeakStart &start) {
    now_ = start.exact;
    reported_ = start.exact.rss().n;
    lag_ = start.lag;
    birth_.reset();
    resume(start.t_ns);
    begun_ = start;
}

void Peaks::note_start() {
    if (begun_) note_start_in(seen_, *begun_);
    begun_.reset();
}

void Peaks::resume(std::uint64_t t_ns) {
    track_.start(range());
    if (!started_) {
        seen_.most = seen_.least = {now_.rss(), now_.rss(), now_, t_ns, 0, processes_};
        seen_.each_most = seen_.each_least = now_;
        seen_.each_most_at.fill({t_ns, 0});
        seen_.each_least_at = seen_.each_most_at;
        started_ = true;
    }
    note(t_ns, 0, processes_);
    note_members({t_ns, 0});
}

void Peaks::forget_lowest(std::uint64_t t_ns) {
    track_.forget_least();
    seen_.least = {{}, {}, now_, t_ns, 0, processes_};
    seen_.each_least = now_;
    seen_.each_least_at.fill({t_ns, 0});
}

Peaks Peaks::since(const PeakStart &start) const {
    Peaks peaks = *this;
    peaks.seen_ = {};
    peaks.begun_ = start;
    peaks.started_ = false;
    peaks.seen_.lossy = !running();
    peaks.track_ = RssTrack();
    if (running()) peaks.birth_ = Birth{waiting_.next_number(), start.t_ns};
    peaks.begin_if_born();
    return peaks;
}

void Peaks::begin_if_born() {
    if (!birth_ || waiting_.next_number() - waiting_.size() < birth_->number) return;
    const std::uint64_t t_ns = birth_->t_ns;
    birth_.reset();
    resume(t_ns);
}

void Peaks::lost() {
    give_up();
    note_start();
    seen_.lossy = true;
    seen_.read_late = false;
    track_.pause();
}

void Peaks::note(std::uint64_t t_ns, int tid, std::uint64_t processes) {
    const Pages rss = now_.rss();
    last_ns_ = t_ns;
    last_processes_ = processes;
    if (rss > seen_.most.members.rss()) seen_.most = {{}, {}, now_, t_ns, tid, processes};
    if (rss < seen_.least.members.rss()) seen_.least = {{}, {}, now_, t_ns, tid, processes};
}

void Peaks::note_members(const Instant &at) {
    for (const Member member : kAllMembers)
        note_member(member, at);
}

void Peaks::note_member(Member member, const Instant &at) {
    const Pages pages = now_[member];
    const auto index = static_cast<std::size_t>(member);
    if (pages > seen_.each_most[member]) {
        seen_.each_most[member] = pages;
        seen_.each_most_at[index] = at;
    }
    if (pages < seen_.each_least[member]) {
        seen_.each_least[member] = pages;
        seen_.each_least_at[index] = at;
    }
}

void Peaks::report(std::int64_t by, std::int64_t lag, std::uint64_t t_ns) {
    note_start();
    reported_ += by;
    lag_ += lag;
    if (!running() || lag_ <= seen_.lag.n) return;
    seen_.lag = {lag_};
    seen_.lag_t_ns = t_ns;
    seen_.lag_rss = {reported_};
}

void Peaks::cached(Member member, std::int64_t pages, const Instant &at) {
    note_cached(seen_, member, pages, at);
}

void Peaks::record(const PeakStep &step) {
    if (waiting_.empty()) return place(step, processes_);
    wait({step, processes_, State::Known, false});
}

void Peaks::record(const WideStep &step) {
    const bool open = step.open.ticket != 0;
    const State state = !open ? State::Known : running() ? State::Open : State::GivenUp;
    if (waiting_.empty() && state != State::Open) return place(step, processes_, state);
    if (open) open_.push({step.open.ticket, waiting_.next_number(), wide_.next_number()});
    wide_.push(step);
    wait({step, processes_, state, true});
}

void Peaks::wait(const Waiting &waiting) {
    waiting_.push(waiting);
    if (waiting_.size() > kMostWaiting) waiting_.front().state = State::GivenUp;
    place_ready();
}

const Peaks::Open *Peaks::find(std::uint64_t ticket) const {
    const auto before = [](const Open &open, std::uint64_t sought) { return open.ticket < sought; };
    const auto found = std::lower_bound(open_.begin(), open_.end(), ticket, before);
    return found == open_.end() || found->ticket != ticket ? nullptr : &*found;
}

void Peaks::settle(std::span<const PeakAmount> amounts, Sure sure) {
    Group group;
    for (const PeakAmount &amount : amounts) {
        const Open *const waiting = find(amount.ticket);
        const auto placed = placed_.find(amount.ticket);
        if (waiting == nullptr && (placed == placed_.end() || !placed->second.guessed)) continue;
        PeakAmount known = amount;
        if (sure == Sure::Nothing) {
            const PeakAmount &guess = waiting != nullptr ? wide_[waiting->wide].open : placed->second.amount;
            widen(known.moved, guess.moved);
            widen(known.left, guess.left);
        }
        if (waiting != nullptr) {
            wide_[waiting->wide].open = known;
            waiting_[waiting->waiting].state = State::Known;
        } else {
            correct(placed->second, known);
        }
        if (sure != Sure::Sum || known.moved.least == known.moved.most) continue;
        group.tickets.push_back(known.ticket);
        group.waiting += waiting != nullptr ? 1 : 0;
    }
    if (!group.tickets.empty()) {
        const std::uint64_t number = ++group_count_;
        for (const std::uint64_t ticket : group.tickets)
            group_of_[ticket] = number;
        group.waiting++;  // so that it stays open until all tickets are in it
        const std::uint64_t any = group.tickets.front();
        groups_[number] = std::move(group);
        close_group(any);
    }
    place_ready();
}

/// A step of a group is placed. Once all are, their sum is known, and they are no longer uncertain.
void Peaks::close_group(std::uint64_t ticket) {
    const auto number = group_of_.find(ticket);
    if (number == group_of_.end()) return;
    const auto found = groups_.find(number->second);
    if (--found->second.waiting != 0) return;
    const Group group = std::move(found->second);
    groups_.erase(found);
    for (const std::uint64_t each : group.tickets) {
        group_of_.erase(each);
        const auto placed = placed_.find(each);
        if (placed == placed_.end()) continue;
        Placed now = placed->second;
        add_uncertainty(now, -1);
        now.off = false;
        add_uncertainty(now, 1);
        keep(each, now);
    }
}

void Peaks::give_up(std::span<const std::uint64_t> tickets) {
    for (const std::uint64_t ticket : tickets) {
        const Open *const waiting = find(ticket);
        if (waiting == nullptr) continue;
        State &state = waiting_[waiting->waiting].state;
        if (state == State::Open) state = State::GivenUp;
    }
    place_ready();
}

void Peaks::give_up() {
    give_up(waiting());
}

std::vector<std::uint64_t> Peaks::waiting() const {
    std::vector<std::uint64_t> tickets;
    for (const Open &open : open_)
        tickets.push_back(open.ticket);
    return tickets;
}

std::vector<std::uint64_t> Peaks::uncertain_tickets() const {
    std::vector<std::uint64_t> tickets;
    for (const auto &[ticket, placed] : placed_)
        tickets.push_back(ticket);
    return tickets;
}

void Peaks::place_ready() {
    while (!waiting_.empty() && waiting_.front().state != State::Open) {
        const Waiting next = waiting_.pop();
        if (next.wide) {
            const WideStep step = wide_.pop();
            if (step.open.ticket != 0) open_.pop();
            place(step, next.processes, next.state);
        } else {
            place(next.step, next.processes);
        }
        begin_if_born();
    }
}

void Peaks::place(const PeakStep &step, std::uint64_t processes) {
    const Member member = kAllMembers[step.member];
    now_[member].n += step.pages;
    const RssTrack::Slack early =
        in_rss(kAllMembers[step.member]) ? slack_of(step.pages, step.pages) : RssTrack::Slack{};
    track_.widen(step.lane, step.t_ns - std::min(step.t_ns, kLongestDelayNs), early);
    track_.record(step.lane, step.t_ns, range());
    if (!track_.running()) return;
    note(step.t_ns, step.tid, processes);
    note_member(member, {step.t_ns, step.tid});
}

void Peaks::place(const WideStep &step, std::uint64_t processes, State state) {
    Members by = step.by;
    const RssTrack::Slack early = place_left(step, by) + step.transient;
    const RssTrack::Slack late = step.open.ticket == 0 ? RssTrack::Slack{} : place_open(step, state, by);
    for (const std::uint64_t ticket : step.closes)
        close(ticket);
    now_ += by;
    if (step.lane.own == kNoLane) {
        track_.record(range());
    } else {
        track_.widen_lane(step.lane, early);
        track_.widen(step.lane, std::max(step.open.since_ns, step.made_after_ns), late);
        track_.record(step.lane, step.t_ns, range());
    }
    if (track_.running()) {
        note(step.t_ns, step.tid, processes);
        note_members({step.t_ns, step.tid});
    }
    if (step.open.ticket != 0) close_group(step.open.ticket);
}

/// Subtracts what the task's earlier updates left from the step. Members may have changed at different times.
RssTrack::Slack Peaks::place_left(const WideStep &step, Members &by) {
    RssTrack::Slack slack;
    for (std::size_t m = 0; m < kMembers; ++m) {
        Amount left;
        const auto found = step.after[m] == 0 ? placed_.end() : placed_.find(step.after[m]);
        if (found != placed_.end()) {
            Placed placed = found->second;
            left = placed.amount.left;
            add_uncertainty(placed, -1);
            placed.left = false;
            add_uncertainty(placed, 1);
            keep(step.after[m], placed);
        }
        std::int64_t &pages = by[kAllMembers[m]].n;
        if (in_rss(kAllMembers[m])) slack = slack + slack_of(pages - left.most, pages - left.least);
        pages -= left.likely;
    }
    return slack;
}

RssTrack::Slack Peaks::place_open(const WideStep &step, State state, Members &by) {
    const auto &[ticket, moved, left, since_ns] = step.open;
    by[kAllMembers[step.member]].n += moved.likely + left.likely - step.had;
    const Placed placed{step.open, step.member, state == State::GivenUp, step.had != 0, moved.least != moved.most};
    add_uncertainty(placed, 1);
    keep(ticket, placed);
    if (!in_rss(kAllMembers[step.member])) return {};
    return slack_of(moved.least + left.least - step.had, moved.most + left.most - step.had);
}

/// Adds the uncertainty of a placed update to `off_`, or takes it off with `sign` -1.
void Peaks::add_uncertainty(const Placed &placed, int sign) {
    if (!in_rss(kAllMembers[placed.member])) return;
    const auto add = [&](const Amount &amount) {
        off_.up += sign * (amount.most - amount.likely);
        off_.down += sign * (amount.least - amount.likely);
    };
    if (placed.off) add(placed.amount.moved);
    if (placed.left) add(placed.amount.left);
}

void Peaks::keep(std::uint64_t ticket, const Placed &placed) {
    if (placed.guessed || placed.left || placed.off) {
        placed_[ticket] = placed;
    } else {
        placed_.erase(ticket);
    }
}

void Peaks::close(std::uint64_t ticket) {
    const auto found = placed_.find(ticket);
    if (found == placed_.end()) return;
    add_uncertainty(found->second, -1);
    placed_.erase(found);
}

/// Replaces the guess for a placed update.
void Peaks::correct(Placed &placed, const PeakAmount &amount) {
    add_uncertainty(placed, -1);
    std::int64_t by = amount.moved.likely - placed.amount.moved.likely;
    if (placed.left) by += amount.left.likely - placed.amount.left.likely;
    const Member member = kAllMembers[placed.member];
    now_[member].n += by;
    placed.amount = amount;
    placed.guessed = false;
    placed.off = amount.moved.least != amount.moved.most;
    add_uncertainty(placed, 1);
    track_.record(range());
    if (track_.running()) {
        note(last_ns_, 0, last_processes_);
        note_member(member, {last_ns_, 0});
    }
    const Placed now = placed;
    keep(amount.ticket, now);
}

RssTrack::Range Peaks::range() const {
    const std::int64_t rss = now_.rss().n;
    return {rss + off_.down, rss + off_.up};
}

Extremes Peaks::extremes() const {
    if (!waiting_.empty()) {
        Peaks now = *this;
        now.give_up();
        Extremes extremes = now.extremes();
        extremes.open = true;
        return extremes;
    }
    Extremes extremes = seen_;
    if (begun_) note_start_in(extremes, *begun_);
    const RssTrack::Range most = track_.most();
    const RssTrack::Range least = track_.least();
    // An exact rss is never below 0; a sum of counters that were read one after another may be.
    const auto exact = [](std::int64_t pages) { return Pages{std::max<std::int64_t>(pages, 0)}; };
    extremes.most.from = exact(most.from - late_);
    extremes.most.to = exact(most.to + late_);
    extremes.least.from = exact(least.from - late_);
    extremes.least.to = exact(least.to + late_);
    return extremes;
}

Extremes highest(const Extremes &before, const Extremes &after) {
    const bool peak_before = before.most.to > after.most.to;
    Extremes both = peak_before ? before : after;
    both.lossy = before.lossy || after.lossy;
    both.read_late = both.lossy && before.lossy == before.read_late && after.lossy == after.read_late;
    const Extremes &lags = before.lag > after.lag ? before : after;
    both.lag = lags.lag;
    both.lag_t_ns = lags.lag_t_ns;
    both.lag_rss = lags.lag_rss;
    for (const Member member : kAllMembers) {
        const Extremes &larger = before.cached_most[member] > after.cached_most[member] ? before : after;
        const auto index = static_cast<std::size_t>(member);
        both.cached_most[member] = larger.cached_most[member];
        both.cached_most_at[index] = larger.cached_most_at[index];
        both.grown[member] = std::max(before.grown[member], after.grown[member]);
    }
    both.grown_rss = std::max(before.grown_rss, after.grown_rss);
    return both;
}

}  // namespace rsslag::core
