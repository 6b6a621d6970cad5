// SPDX-License-Identifier: BSD-2-Clause
#include "mm_check.h"

#include <algorithm>
#include <utility>

namespace rsslag::core {
namespace {

/// The longest time from an update to its record. A hypervisor may run several other guests in between. QEMU lets one
/// emulated CPU run for 100 ms while the others wait.
constexpr std::uint64_t kTakenAwayNs = 500'000'000;

/// The distance from the value that was read to the nearest value that the counter is known to have held.
std::int64_t distance(const std::vector<std::int64_t> &held, std::int64_t read) {
    constexpr std::int64_t kFar = std::int64_t{1} << 40;  // beyond any counter; a recording may hold any number
    std::int64_t nearest = kFar;
    for (const std::int64_t value : held) {
        std::int64_t away = 0;
        if (!__builtin_sub_overflow(value, read, &away)) nearest = std::min(nearest, away < 0 ? -away : away);
    }
    return nearest;
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
    if (suspicions_.empty()) return;
    std::erase_if(suspicions_, [=](const Suspicion &each) { return each.cell == cell && each.value == value; });
}

MmCheck::Comparison MmCheck::compare(const std::vector<std::int64_t> &read, std::uint64_t begin_ns,
                                     std::uint64_t end_ns) const {
    const std::size_t cells = read.size();
    Comparison found{std::vector<std::int64_t>(cells, 0), std::vector<bool>(cells, false)};
    std::vector<std::vector<std::int64_t>> held(cells);
    std::vector<bool> unknown(cells, false);
    for (std::size_t cell = 0; cell < cells; ++cell)
        held[cell] = {watched_from_[cell]};
    for (const Change &change : changes_) {
        if (change.sum) {
            unknown[change.cell] = found.changed[change.cell] = true;
            found.quiet = false;
            continue;
        }
        if (change.t_ns > end_ns + kWiderNs) continue;
        if (change.t_ns + kWiderNs < begin_ns) {
            held[change.cell] = {change.value};
        } else {
            held[change.cell].push_back(change.value);
            found.changed[change.cell] = true;
            found.quiet = false;
        }
    }
    for (std::size_t cell = 0; cell < cells; ++cell)
        if (!unknown[cell]) found.off[cell] = distance(held[cell], read[cell]);
    return found;
}

bool MmCheck::confirms(std::uint32_t cell, std::uint64_t read_ns) const {
    return std::any_of(suspicions_.begin(), suspicions_.end(), [=](const Suspicion &each) {
        return each.cell == cell && each.read_ns + kTakenAwayNs <= read_ns;
    });
}

void MmCheck::suspect(std::uint32_t cell, std::uint64_t read_ns, std::int64_t value) {
    suspicions_.push_back({read_ns, cell, value});
}

void MmCheck::agrees(std::uint32_t cell) {
    std::erase_if(suspicions_, [cell](const Suspicion &each) { return each.cell == cell; });
}

std::uint64_t MmCheck::give_up() {
    std::uint64_t cells = 0;
    for (; !suspicions_.empty(); ++cells)
        agrees(suspicions_.front().cell);
    return cells;
}

}  // namespace rsslag::core
