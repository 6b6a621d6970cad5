// SPDX-License-Identifier: BSD-2-Clause
#include "flush_chain.h"

namespace rsslag::core {
namespace {

/// Only a task whose mm it is caches, and a flush takes what it caches.
bool may_flush(const rsslag_update &update) {
    return (update.flags & RSSLAG_OWN) != 0 && update.cached != 0;
}

bool flush_after(const rsslag_update &update, std::int64_t count) {
    return may_flush(update) && count + update.cached == update.count;
}

/// Whether `later`, though told later, comes before `first`.
bool goes_first(const rsslag_update &first, const rsslag_update &later, std::int64_t count) {
    if (flush_after(first, count)) return false;
    if (flush_after(first, later.count)) return flush_after(later, count) || !may_flush(later);
    if (flush_after(later, first.count)) return false;
    return flush_after(later, count);  // two direct updates stay as they were told
}

}  // namespace

void FlushChain::reset(std::int64_t count) {
    waiting_.clear();
    count_ = count;
}

void FlushChain::push(const rsslag_update &update, std::vector<Link> &out) {
    advance(update.t_ns, out);
    waiting_.push_back(update);
}

void FlushChain::advance(std::uint64_t t_ns, std::vector<Link> &out) {
    while (!waiting_.empty() && waiting_.front().t_ns + kHorizonNs < t_ns)
        take(choose(), out);
}

void FlushChain::finish(std::vector<Link> &out) {
    while (!waiting_.empty())
        take(choose(), out);
}

std::vector<int> FlushChain::waiting_tids() const {
    std::vector<int> tids;
    for (const rsslag_update &update : waiting_)
        tids.push_back(update.tid);
    return tids;
}

std::size_t FlushChain::choose() const {
    const rsslag_update &first = waiting_.front();
    if (flush_after(first, count_)) return 0;
    std::uint64_t seen_cpus = 1ULL << (first.cpu & 63U);
    for (std::size_t i = 1; i < waiting_.size(); ++i) {
        const rsslag_update &later = waiting_[i];
        if (later.t_ns > first.t_ns + kHorizonNs) break;
        const std::uint64_t cpu = 1ULL << (later.cpu & 63U);
        // Within a CPU the order is certain, so only each other CPU's next one can be before.
        if ((seen_cpus & cpu) == 0 && goes_first(first, later, count_)) return i;
        seen_cpus |= cpu;
    }
    return 0;
}

void FlushChain::take(std::size_t index, std::vector<Link> &out) {
    const rsslag_update update = waiting_[index];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    out.push_back({update, update.count - count_, flush_after(update, count_)});
    count_ = update.count;
}

}  // namespace rsslag::core
