// SPDX-License-Identifier: BSD-2-Clause
#include "mm_histories.h"

#include <algorithm>
#include <utility>

namespace rsslag::core {

MmHistories::MmHistories(Scheme scheme, int cpus)
    : cpus_cache_(cpus_cache(scheme)), cpus_(static_cast<std::size_t>(std::max(cpus, 1))) {
    histories_.fill(CounterHistory(cpus_cache_ ? CountRead::Later : CountRead::AtOnce));
}

CounterEvent MmHistories::event_of(const rsslag_update &update, Account &account) {
    CounterEvent event;
    std::uint64_t &seen = seen_ns_[update.cpu];
    event.begin_ns = std::exchange(seen, std::max<std::uint64_t>(seen, update.t_ns));
    if (account.tag != kEndedTid) {
        event.begin_ns = std::max(event.begin_ns, account.seen_ns);
        account.seen_ns = std::max<std::uint64_t>(account.seen_ns, update.t_ns);
    }
    event.begin_ns = std::min<std::uint64_t>(event.begin_ns, update.t_ns);
    event.t_ns = update.t_ns;
    if (!cpus_cache_) {
        event.end_ns = update.t_ns;
    } else if ((update.flags & RSSLAG_PROMPT) != 0) {
        event.end_ns = update.t_ns + RSSLAG_PROMPT_NS;
    } else {
        event.end_ns = CounterHistory::kNever;
    }
    event.cpu = update.cpu;
    event.tid = account.tag.value_or(update.tid);
    event.count = update.count;
    return event;
}

void MmHistories::seen(const rsslag_fault &fault, Account &account) {
    if (has_cpu(fault.cpu)) {
        std::uint64_t &seen = seen_ns_[fault.cpu];
        seen = std::max<std::uint64_t>(seen, fault.t_ns);
    }
    account.seen_ns = std::max<std::uint64_t>(account.seen_ns, fault.t_ns);
}

void MmHistories::passed(int cpu, std::uint64_t t_ns) {
    for (CounterHistory &history : histories_)
        history.passed(cpu, t_ns);
}

std::uint64_t MmHistories::complete_ns(std::uint64_t now) const {
    const std::uint64_t of_silent = now - std::min(now, kLongestDelayNs);
    std::uint64_t complete = seen_ns_.size() < cpus_ ? of_silent : now;
    for (const auto &[cpu, seen] : seen_ns_) {
        const bool silent = seen == 0 || seen + CounterHistory::kSilentNs <= now;
        complete = std::min(complete, silent ? of_silent : seen);
    }
    return complete;
}

void MmHistories::reset(const std::array<std::int64_t, kMembers> &counts) {
    for (std::size_t member = 0; member < kMembers; ++member)
        histories_[member].reset(counts[member]);
}

void MmHistories::retag(int from, int to) {
    for (CounterHistory &history : histories_)
        history.retag(from, to);
}

bool MmHistories::settled() const {
    return std::none_of(histories_.begin(), histories_.end(),
                        [](const CounterHistory &history) { return history.open(); });
}

std::vector<std::uint64_t> MmHistories::open_tickets() const {
    std::vector<std::uint64_t> tickets;
    for (const CounterHistory &history : histories_)
        for (const CounterEvent &event : history.unsettled())
            if (event.update) tickets.push_back(event.ticket);
    return tickets;
}

std::unordered_set<int> MmHistories::open_former_tasks() const {
    std::unordered_set<int> tags;
    for (const CounterHistory &history : histories_)
        for (const CounterEvent &event : history.unsettled())
            if (event.tid <= kFirstFormerTask) tags.insert(event.tid);
    return tags;
}

}  // namespace rsslag::core
