// SPDX-License-Identifier: BSD-2-Clause
#include "history.h"

#include <algorithm>

namespace rsslag::screen {
namespace {

template <class Element>
std::size_t bytes_of(const std::vector<Element> &elements) {
    return elements.capacity() * sizeof(Element);
}

/// About what a copy of the tick takes.
std::size_t bytes_of(const Tick &tick) {
    const core::MmView &mm = tick.ledger;
    std::size_t bytes = sizeof(Tick) + bytes_of(mm.tasks) + bytes_of(mm.others) + bytes_of(mm.cpus) +
                        bytes_of(tick.process.tasks) + bytes_of(tick.last_flushes) + bytes_of(tick.course_of_all) +
                        tick.process.command_line.size();
    if (tick.recent)
        bytes += bytes_of(tick.recent->mappings) + bytes_of(tick.recent->threads) + bytes_of(tick.recent->course) +
                 bytes_of(tick.recent->owners);
    return bytes;
}

}  // namespace

void History::add(const Tick &tick, const std::string &user, const std::string &cgroup) {
    if (!kept()) return;
    entries_.push_back({tick, user, cgroup, 0});
    entries_.back().tick.updates_before.clear();  // of ThreadChoice::Changed, which no screen has
    entries_.back().bytes = bytes_of(entries_.back().tick);
    bytes_ += entries_.back().bytes;
    while (entries_.size() > 1) {
        const bool too_large = bytes_ > most_bytes_;
        const bool too_old = tick.t_ns - std::min(tick.t_ns, entries_.front().tick.t_ns) > most_ns_;
        if (!too_large && !too_old) break;
        dropped_by_size_ = !too_old;
        bytes_ -= entries_.front().bytes;
        entries_.pop_front();
    }
}

void History::clear() {
    entries_.clear();
    bytes_ = 0;
    dropped_by_size_ = false;
}

std::vector<Moment> History::moments(std::optional<int> pid) const {
    std::vector<Moment> moments;
    for (const Entry &entry : entries_) {
        if (pid && entry.tick.process.pid != *pid) continue;
        if (moments.empty() || moments.back().seq != entry.tick.seq) moments.push_back({entry.tick.seq, 0});
        moments.back().t_ns = std::max(moments.back().t_ns, entry.tick.t_ns);
    }
    return moments;
}

void History::each_until(
    std::uint64_t seq,
    const std::function<void(const Tick &tick, const std::string &user, const std::string &cgroup)> &use) const {
    for (const Entry &entry : entries_) {
        if (entry.tick.seq > seq) return;
        use(entry.tick, entry.user, entry.cgroup);
    }
}

}  // namespace rsslag::screen
