// SPDX-License-Identifier: BSD-2-Clause
#include "flush_chain.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace rsslag::core {
namespace {

using Waiting = FlushChain::Waiting;

/// Only a task whose mm it is caches, and a flush takes what it caches.
bool may_flush(const Waiting &one) {
    return !one.direct && (one.update.flags & RSSLAG_OWN) != 0 && one.update.cached != 0;
}

bool flush_after(const Waiting &one, std::int64_t count) {
    return may_flush(one) && count + one.update.cached == one.update.count;
}

/// What passes the cache of a task that has one: a huge page, and the page that an exec charges and gives back. A
/// single page may also be what an order that is not right leaves over, unless little is cached.
bool like_direct(const Waiting &one, std::int64_t count) {
    constexpr std::int64_t kHuge = 512;
    constexpr std::int64_t kLittle = 8;
    if (one.direct) return true;
    if ((one.update.flags & RSSLAG_THRESHOLD) != 0) return false;
    const std::int64_t pages = one.update.count - count;
    return (pages != 0 && pages % kHuge == 0) || (std::abs(pages) == 1 && std::abs(one.update.cached) < kLittle);
}

/// Whether `later`, though told later, comes before `first`. `before_later` is the count of the record before it.
bool goes_first(const Waiting &first, const Waiting &later, std::int64_t count, std::int64_t before_later) {
    if (flush_after(later, before_later) || like_direct(later, before_later)) return false;  // right where it is
    if (!like_direct(first, count) && flush_after(first, later.update.count)) {
        return flush_after(later, count) || !may_flush(later);
    }
    return flush_after(later, count);  // two direct updates stay as they were told
}

}  // namespace

FlushReason reason_of(const rsslag_update &update, bool flush) {
    if (!flush) return FlushReason::Direct;
    if ((update.flags & RSSLAG_THRESHOLD) != 0) return FlushReason::Threshold;
    if ((update.flags & RSSLAG_EXITING) != 0) return FlushReason::Exit;
    if ((update.flags & RSSLAG_EXECVE) != 0) return FlushReason::Exec;
    return FlushReason::Zap;
}

void FlushChain::reset(std::int64_t count) {
    waiting_.clear();
    count_ = count;
    taken_ns_ = 0;
}

void FlushChain::push(const rsslag_update &update, bool direct, std::vector<Link> &out, std::uint64_t ticket) {
    if (update.t_ns < taken_ns_) {
        // Too late: the counts of those that were taken hold it already, and one of them was given its pages.
        out.push_back({update, 0, may_flush({update, direct, ticket}), ticket});
        return;
    }
    advance(update.t_ns, out);
    auto place = waiting_.end();
    while (place != waiting_.begin() && std::prev(place)->update.t_ns > update.t_ns)
        --place;
    waiting_.insert(place, {update, direct, ticket});
}

void FlushChain::advance(std::uint64_t t_ns, std::vector<Link> &out) {
    while (!waiting_.empty() && waiting_.front().update.t_ns + kHorizonNs < t_ns)
        take(choose(), out);
}

void FlushChain::finish(std::vector<Link> &out) {
    while (!waiting_.empty())
        take(choose(), out);
}

std::size_t FlushChain::choose() const {
    const Waiting &first = waiting_.front();
    if (flush_after(first, count_)) return 0;
    std::uint64_t seen_cpus = 1ULL << (first.update.cpu & 63U);
    for (std::size_t i = 1; i < waiting_.size(); ++i) {
        const Waiting &later = waiting_[i];
        if (later.update.t_ns > first.update.t_ns + kHorizonNs) break;
        const std::uint64_t cpu = 1ULL << (later.update.cpu & 63U);
        // Within a CPU the order is certain, so only each other CPU's next one can be before.
        if ((seen_cpus & cpu) == 0 && goes_first(first, later, count_, waiting_[i - 1].update.count) &&
            first_of_its_task(i))
            return i;
        seen_cpus |= cpu;
    }
    return 0;
}

/// What a task did it did in that order, whichever CPUs it was on.
bool FlushChain::first_of_its_task(std::size_t index) const {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(index);
    return std::none_of(waiting_.begin(), end, [end](const Waiting &one) { return one.update.tid == end->update.tid; });
}

void FlushChain::take(std::size_t index, std::vector<Link> &out) {
    const Waiting one = waiting_[index];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    out.push_back({one.update, one.update.count - count_, flush_after(one, count_), one.ticket});
    count_ = one.update.count;
    taken_ns_ = std::max<std::uint64_t>(taken_ns_, one.update.t_ns);
}

}  // namespace rsslag::core
