// SPDX-License-Identifier: BSD-2-Clause
#include "mm_check.h"

#include <algorithm>
#include <utility>

#include "core/raw_reading.h"

namespace rsslag::core {
namespace {

/// The longest time from an update to its record. A hypervisor may run several other guests in between. QEMU lets one
/// emulated CPU run for 100 ms while the others wait.
constexpr std::uint64_t kTakenAwayNs = 500'000'000;

/// The distance from the value that was read to one that the counter is known to have held.
std::int64_t distance(std::int64_t held, std::int64_t read) {
    constexpr std::int64_t kFar = std::int64_t{1} << 40;  // beyond any counter; a recording may hold any number
    std::int64_t away = 0;
    if (__builtin_sub_overflow(held, read, &away) || away < -kFar) return kFar;
    return std::min(kFar, away < 0 ? -away : away);
}

}  // namespace

void MmCheck::watch(std::vector<std::int64_t> cells) {
    watched_ = true;
    changes_.clear();
    watched_from_ = std::move(cells);
}

void MmCheck::end_watch() {
    watched_ = false;
    changes_.clear();
}

void MmCheck::held(std::uint32_t cell, std::uint64_t t_ns, std::int64_t value, bool sum) {
    explain(cell, value);
    if (watched_) changes_.push_back({t_ns, cell, value, sum});
}

void MmCheck::explain(std::uint32_t cell, std::int64_t value) {
    if (const auto found = suspicions_.find({cell, value}); found != suspicions_.end()) end(found);
}

MmCheck::Suspicions::iterator MmCheck::end(Suspicions::iterator suspicion) {
    const auto &[cell, value] = suspicion->first;
    by_time_.erase({cell, suspicion->second, value});
    return suspicions_.erase(suspicion);
}

MmCheck::Comparison MmCheck::compare(const std::vector<std::int64_t> &read, std::uint64_t begin_ns,
                                     std::uint64_t end_ns) const {
    const std::size_t cells = read.size();
    Comparison found{std::vector<std::int64_t>(cells, 0), std::vector<bool>(cells, false)};
    std::vector<bool> unknown(cells, false);
    for (std::size_t cell = 0; cell < cells; ++cell)
        found.off[cell] = distance(cell < watched_from_.size() ? watched_from_[cell] : 0, read[cell]);
    for (const Change &change : changes_) {
        if (change.sum) {
            unknown[change.cell] = found.changed[change.cell] = true;
            found.quiet = false;
            continue;
        }
        if (change.t_ns > end_ns + kReadingMarginNs) continue;
        std::int64_t &off = found.off[change.cell];
        const std::int64_t away = distance(change.value, read[change.cell]);
        if (change.t_ns + kReadingMarginNs < begin_ns) {
            off = away;
        } else {
            off = std::min(off, away);
            found.changed[change.cell] = true;
            found.quiet = false;
        }
    }
    for (std::size_t cell = 0; cell < cells; ++cell)
        if (unknown[cell]) found.off[cell] = 0;
    return found;
}

bool MmCheck::confirms(std::uint32_t cell, std::uint64_t read_ns) const {
    const auto first = by_time_.lower_bound({cell, 0, INT64_MIN});
    return first != by_time_.end() && std::get<0>(*first) == cell && std::get<1>(*first) + kTakenAwayNs <= read_ns;
}

void MmCheck::suspect(std::uint32_t cell, std::uint64_t read_ns, std::int64_t value) {
    const auto known = suspicions_.find({cell, value});
    if (known != suspicions_.end() && known->second <= read_ns) return;
    if (known != suspicions_.end()) end(known);
    suspicions_.emplace(std::pair(cell, value), read_ns);
    by_time_.emplace(cell, read_ns, value);
}

void MmCheck::agrees(std::uint32_t cell) {
    auto each = suspicions_.lower_bound({cell, INT64_MIN});
    while (each != suspicions_.end() && each->first.first == cell)
        each = end(each);
}

std::uint64_t MmCheck::give_up() {
    std::uint64_t cells = 0;
    for (; !suspicions_.empty(); ++cells)
        agrees(suspicions_.begin()->first.first);
    return cells;
}

}  // namespace rsslag::core
