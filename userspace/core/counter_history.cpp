// SPDX-License-Identifier: BSD-2-Clause
#include "counter_history.h"

#include <algorithm>
#include <utility>

#include "update_limits.h"

namespace rsslag::core {
namespace {

/// More events than this are not searched. So many occur only if a CPU is stolen for long, or if the stream is
/// malformed.
constexpr std::size_t kMostEvents = 8'192;

/// In place of a CPU: only its times bound a reading.
constexpr int kReader = -1;

Amount operator-(const Amount &amount, std::int64_t pages) {
    return {amount.least - pages, amount.most - pages, amount.likely - pages};
}

Amount &operator+=(Amount &amount, const Amount &more) {
    amount = {amount.least + more.least, amount.most + more.most, amount.likely + more.likely};
    return amount;
}

}  // namespace

void CounterHistory::reset(std::int64_t count) {
    count_ = count;
    clean_ = {};
    events_.clear();
    index();
}

void CounterHistory::index() {
    last_of_cpu_.clear();
    last_of_task_.clear();
    for (std::size_t i = 0; i < events_.size(); ++i) {
        Last &last = last_of_cpu_[events_[i].cpu];
        last = {i + 1, last.one};
        last_of_task_[events_[i].tid] = events_[i].number;
    }
    added_ = 0;
    try_at_ = 1 + events_.size() / 2;
}

void CounterHistory::emit(const CounterEvent &event, const Amount &moved, std::uint64_t since_ns, Settled &out) const {
    out.updates.push_back(
        {event.ticket, event.t_ns, event.cpu, event.tid, moved - event.before, moved.likely, since_ns});
}

/// No open update had taken effect when this count was read, unless some cancelled each other (shown_before()).
void CounterHistory::note_clean(const CounterEvent &event) {
    const bool at_once = read_ == CountRead::AtOnce;
    clean_ = {at_once ? event.begin_ns : event.t_ns, at_once ? event.t_ns : event.end_ns, event.cpu};
}

/// A time at which no open update had taken effect. It is the time of the last count that includes none of them,
/// provided that no updates can have cancelled each other at that count. This is certain if all records up to then have
/// come, their updates are settled, and all of these move the counter in one direction.
std::uint64_t CounterHistory::shown_before(const OrderSearch::Solution &solution, std::uint64_t complete_ns) {
    bool open = clean_.end_ns + OrderSearch::kClockSkewNs >= complete_ns;
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const CounterEvent &event = events_[i];
        if (!event.update || event.cpu == clean_.cpu) continue;
        if (event.begin_ns > clean_.end_ns + OrderSearch::kClockSkewNs) continue;
        open = open || !solution.done[i];
        if (!solution.done[i]) continue;
        clean_.up = clean_.up || solution.moved[i].most >= 0;
        clean_.down = clean_.down || solution.moved[i].least <= 0;
    }
    return open || (clean_.up && clean_.down) ? shown_ns_ : std::max(shown_ns_, clean_.since_ns);
}

/// Settles an event at once if nothing else is open, only one amount is possible and the count matches.
bool CounterHistory::settled_by_itself(const CounterEvent &event, Settled &out) {
    if (!events_.empty()) return false;
    const std::int64_t moved = event.count - count_;
    if (!event.update) {
        if (moved == 0) note_clean(event);
        return moved == 0;
    }
    if (event.moved.single() != moved) return false;
    settled_until_ = std::max(settled_until_, event.t_ns);
    // Records of updates that cancel each other may still come, so this count does not bound when they took effect.
    emit(event, {moved, moved, moved}, shown_ns_, out);
    out.bound = true;
    out.shares.push_back({event.tid, Amount{moved, moved, moved} - event.before});
    count_ = event.count;
    note_clean(event);
    return true;
}

void CounterHistory::keep(CounterEvent event) {
    event.number = ++numbers_;
    if (event.tid != kEndedTid) event.follows = std::exchange(last_of_task_[event.tid], event.number);
    Last &last = last_of_cpu_[event.cpu];
    if (last.one != 0 && last.two != 0 && !event.update) {
        // Of several readings with one count, the first and the last are enough.
        const CounterEvent &two = events_[last.two - 1];
        CounterEvent &one = events_[last.one - 1];
        const bool same = !one.update && !two.update && one.count == event.count && two.count == event.count;
        if (same && one.tid == event.tid && event.follows == one.number) {
            one.t_ns = event.t_ns;
            one.end_ns = event.end_ns;
            last_of_task_[event.tid] = one.number;
            return;
        }
    }
    events_.push_back(std::move(event));
    last = {events_.size(), last.one};
    ++added_;
}

void CounterHistory::add(CounterEvent event, Settled &out) {
    if (settled_by_itself(event, out)) return;
    passed(event.cpu, event.t_ns);
    keep(std::move(event));
}

bool CounterHistory::add_reading(std::int64_t count, std::uint64_t begin_ns, std::uint64_t end_ns) {
    const auto is_update = [](const CounterEvent &each) { return each.update; };
    if (events_.size() > kMostEvents || std::none_of(events_.begin(), events_.end(), is_update)) return false;
    if (settled_until_ + OrderSearch::kClockSkewNs >= begin_ns) return false;  // it may be older than settled updates
    CounterEvent reading;
    reading.begin_ns = begin_ns;
    reading.t_ns = read_ == CountRead::AtOnce ? end_ns : begin_ns;
    reading.end_ns = end_ns;
    reading.cpu = kReader;
    reading.tid = kEndedTid;
    reading.count = count;
    reading.moved = PageSet::only(0);
    std::vector<CounterEvent> events = events_;
    end_all(events);
    events.push_back(reading);
    const OrderSearch search(events, count_, read_);
    if (search.abandoned() || search.contradictory(kNever)) return false;
    keep(std::move(reading));
    return true;
}

void CounterHistory::passed(int cpu, std::uint64_t t_ns) {
    if (cpu == clean_.cpu) clean_.end_ns = std::min(clean_.end_ns, std::max(t_ns, clean_.since_ns));
    if (events_.empty()) return;
    const auto last = last_of_cpu_.find(cpu);
    if (last == last_of_cpu_.end() || last->second.one == 0) return;
    CounterEvent &event = events_[last->second.one - 1];
    if (event.end_ns == kNever) event.end_ns = std::max(t_ns, event.t_ns);
}

/// Assumes that no more records come.
void CounterHistory::end_all(std::vector<CounterEvent> &events) {
    for (CounterEvent &event : events)
        event.end_ns = std::min(event.end_ns, event.t_ns + kSilentNs);
}

/// If a CPU has been silent for kSilentNs, its last count was read within that time.
void CounterHistory::end_silent(std::uint64_t complete_ns) {
    for (const auto &[cpu, last] : last_of_cpu_) {
        if (last.one == 0) continue;
        CounterEvent &event = events_[last.one - 1];
        if (event.end_ns == kNever && event.t_ns + kSilentNs < complete_ns) event.end_ns = event.t_ns + kSilentNs;
    }
}

void CounterHistory::settle(std::uint64_t complete_ns, Settled &out) {
    if (events_.empty()) return;
    end_silent(complete_ns);
    added_ = 0;
    try_at_ = 1 + events_.size() / 2;
    if (events_.size() > kMostEvents) return take_unordered(out);
    if (std::none_of(events_.begin(), events_.end(), [&](const CounterEvent &each) { return each.t_ns < complete_ns; }))
        return;
    const OrderSearch search(events_, count_, read_);
    if (search.abandoned()) {
        if (complete_ns > events_.back().t_ns) take_unordered(out);
        return;
    }
    if (const auto solution = search.certain(complete_ns)) {
        shown_ns_ = shown_before(*solution, complete_ns);
        take(*solution, out);
        shown_ns_ = std::max(shown_ns_, solution->shown_ns);
        out.certain = out.bound = out.sum_known = true;
    } else if (search.contradictory(complete_ns)) {
        take_unordered(out);
    } else if (last_ns() + kSilentNs < complete_ns) {
        finish(out);  // the records that could decide it have not come
    }
}

std::uint64_t CounterHistory::last_ns() const {
    std::uint64_t last = 0;
    for (const CounterEvent &event : events_)
        last = std::max(last, event.t_ns);
    return last;
}

void CounterHistory::settle_for_view(Settled &out) {
    settle_all(out);
    if (std::none_of(events_.begin(), events_.end(), [](const CounterEvent &each) { return each.update; })) return;
    take_unordered(out);
    count_ -= std::exchange(out.unexplained, 0);
}

/// Settles open updates with their most likely amounts, assuming that no more records come. Keeps events that only
/// missing records explain.
void CounterHistory::settle_all(Settled &out) {
    if (events_.empty()) return;
    end_all(events_);
    const OrderSearch search(events_, count_, read_);
    if (search.abandoned()) return take_unordered(out);
    const OrderSearch::Solution all = search.all();
    take(all, out);
    out.bound = all.complete;
    out.sum_known = all.complete && all.sole_count;
}

void CounterHistory::finish(Settled &out) {
    settle_all(out);
    if (!events_.empty()) take_unordered(out);
}

void CounterHistory::take(const OrderSearch::Solution &solution, Settled &out) {
    if (solution.done.empty()) return;
    std::unordered_map<int, std::int64_t> before;
    std::vector<CounterEvent> rest;
    for (std::size_t i = 0; i < events_.size(); ++i) {
        CounterEvent &event = events_[i];
        if (!solution.done[i]) {
            rest.push_back(std::move(event));
            continue;
        }
        settled_until_ = std::max(settled_until_, event.t_ns);
        if (!event.update) continue;
        const std::uint64_t since_ns = solution.since_ns.empty() ? 0 : solution.since_ns[i];
        emit(event, solution.moved[i], std::max(since_ns, shown_ns_), out);
        before[event.tid] += event.before;
    }
    for (const auto &[tid, moved] : solution.by_task)
        if (const auto found = before.find(tid); found != before.end())
            out.shares.push_back({tid, moved - found->second});
    count_ = solution.count;
    events_ = std::move(rest);
    index();
}

/// No order was found. The likely amount of an update is the difference between its count and the previous count by
/// time. The bounds include every possible amount.
void CounterHistory::take_unordered(Settled &out) {
    out.bound = out.sum_known = false;
    std::stable_sort(events_.begin(), events_.end(),
                     [](const CounterEvent &a, const CounterEvent &b) { return a.t_ns < b.t_ns; });
    std::unordered_map<int, Amount> shares;
    std::int64_t unexplained = 0;  // moves that no update has been given yet
    for (const CounterEvent &event : events_) {
        settled_until_ = std::max(settled_until_, event.t_ns);
        if (event.cpu == kReader) continue;  // it may include updates whose records have not come
        unexplained += event.count - count_;
        count_ = event.count;
        if (!event.update) continue;
        // A record may be missing: the bounds allow for one of kMostPages.
        Amount moved{unexplained - kMostPages, unexplained + kMostPages, std::exchange(unexplained, 0)};
        if (!event.moved.empty()) {
            moved.least = std::min(moved.least, event.moved.hull().least);
            moved.most = std::max(moved.most, event.moved.hull().most);
        }
        emit(event, moved, 0, out);
        shares[event.tid] += moved - event.before;
    }
    out.unexplained += unexplained;
    for (const auto &[tid, pages] : shares)
        out.shares.push_back({tid, pages});
    events_.clear();
    index();
}

void CounterHistory::retag(int from, int to) {
    for (CounterEvent &event : events_) {
        if (event.tid == from) event.tid = to;
    }
    last_of_task_.erase(from);
}

}  // namespace rsslag::core
