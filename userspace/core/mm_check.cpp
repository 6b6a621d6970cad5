// SPDX-License-Identifier: BSD-2-Clause
// Compares the account with an exact reading, and makes its view.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "mm_account.h"
#include "update_limits.h"

namespace rsslag::core {
namespace {

constexpr std::uint64_t kWiderNs = 1'000'000;

/// The longest time from an update to its record: a hypervisor may run several other guests in between, and QEMU lets
/// one emulated CPU run for 100 ms while the others wait.
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

/// The reading's counters by cell: flushed, then each CPU's.
std::vector<std::int64_t> cells_of(const CounterReading &reading, std::size_t cells) {
    std::vector<std::int64_t> values(cells, 0);
    for (Member member : kAllMembers)
        values[index_of(member)] = reading.last.flushed[member].n;
    for (const CpuReading &cpu : reading.last.cpus) {
        for (Member member : kAllMembers) {
            const std::size_t cell = kMembers * (1 + static_cast<std::size_t>(cpu.cpu)) + index_of(member);
            if (cell < cells) values[cell] = cpu.cached[member].n;
        }
    }
    return values;
}

}  // namespace

/// A record with this value explains what an earlier reading found.
void MmAccount::explain(std::uint32_t cell, std::int64_t value) {
    if (suspicions_.empty()) return;
    std::erase_if(suspicions_, [=](const Suspicion &each) { return each.cell == cell && each.value == value; });
}

/// Whether a reading already differed there kTakenAwayNs ago, so that no record will explain it.
bool MmAccount::confirms(std::uint32_t cell, std::uint64_t read_ns) const {
    return std::any_of(suspicions_.begin(), suspicions_.end(), [=](const Suspicion &each) {
        return each.cell == cell && each.read_ns + kTakenAwayNs <= read_ns;
    });
}

/// Counts what readings found as disagreements: no record will explain it any more.
void MmAccount::give_up_suspicions() {
    std::uint64_t cells = 0;  // each counts once, however many readings differed there
    while (!suspicions_.empty()) {
        const std::uint32_t cell = suspicions_.front().cell;
        std::erase_if(suspicions_, [cell](const Suspicion &each) { return each.cell == cell; });
        ++cells;
    }
    disagreements_ += cells;
}

Check MmAccount::compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    const bool at_rest = last_ns + kWiderNs < begin_ns;
    Check check{true, at_rest, 0};
    if (!watched_ && !check.quiet) return {};  // the mm was created after the watch started
    const std::size_t cells = kMembers * (1 + locals_.size());
    const std::vector<std::int64_t> read = cells_of(reading, cells);
    if (!watched_) watch();
    // All that each cell held from 1 ms before the reading to 1 ms after it: the reading may have found any of these.
    std::vector<std::vector<std::int64_t>> held(cells);
    std::vector<bool> changed(cells, false);
    std::vector<bool> unknown(cells, false);
    for (std::size_t cell = 0; cell < cells; ++cell)
        held[cell] = {watched_from_[cell]};
    for (const Change &change : changes_) {
        if (change.sum) {
            unknown[change.cell] = changed[change.cell] = true;
            check.quiet = false;
            continue;
        }
        if (change.t_ns > end_ns + kWiderNs) continue;
        if (change.t_ns + kWiderNs < begin_ns) {
            held[change.cell] = {change.value};
        } else {
            held[change.cell].push_back(change.value);
            changed[change.cell] = true;
            check.quiet = false;
        }
    }
    std::int64_t off = 0;
    for (std::uint32_t cell = 0; cell < cells; ++cell) {
        const std::int64_t here = unknown[cell] ? 0 : distance(held[cell], read[cell]);
        // The last record need not be of the last update: an order of the open updates may lead to this count.
        const bool conclusive = cell < kMembers && (here != 0 || at_rest);
        const bool reached = conclusive && histories_[cell].add_reading(read[cell], begin_ns, end_ns);
        if (here == 0 || reached)
            std::erase_if(suspicions_, [cell](const Suspicion &each) { return each.cell == cell; });
        if (here == 0) continue;
        if (reached) {
            hold(cell, end_ns, read[cell]);
            update_peaks(last_ns);
            flushed_ns_[cell] = std::max(flushed_ns_[cell], begin_ns);
            check.quiet = false;
            continue;
        }
        if (confirms(cell, begin_ns)) {
            check.disagreements++;
        } else if (!needs_resync_) {
            suspicions_.push_back({begin_ns, cell, read[cell]});
            check.quiet = false;
        }
        off += here;
    }
    if (needs_resync_) check.disagreements = 0;
    if (check.disagreements > 0) {
        disagreements_ += static_cast<std::uint64_t>(check.disagreements);
        // A record of an unknown task is missing or wrong.
        doubt(std::max(off, kMostPages));
    }
    if (needs_resync_) {
        resyncs_++;
        needs_resync_ = begin_ns < folded_until_;
        if (!needs_resync_) peaks_.resynced();
        tasks_.resynced();
        take_over(reading, changed, end_ns);
    }
    if (!cpus_cache(options_.scheme)) take_over_tasks(reading, begin_ns);
    if (check.quiet && check.disagreements == 0 && settled()) {
        // The counters are right. Baseline, nets and remainder must add up to them, too.
        const Members accounted = members_of(baseline_) + tasks_.net() + remainder_;
        const Members held_now = flushed() + cached();
        if (accounted != held_now) {
            check.disagreements = 1;
            disagreements_++;
            remainder_ = remainder_ + (held_now - accounted);
            for (std::size_t member = 0; member < kMembers; ++member)
                histories_[member].reset(flushed_[member]);
        } else {
            peaks_.settle_all(exact(), last_ns);
            peaks_.rest();
        }
    }
    return check;
}

/// Whether no update is open.
bool MmAccount::settled() const {
    return std::none_of(histories_.begin(), histories_.end(),
                        [](const CounterHistory &history) { return history.open(); });
}

/// Takes the counters of the reading, except those that changed meanwhile: their records are newer. hold() keeps the
/// values for another reading in the same watch, of a group that shares the mm.
void MmAccount::take_over(const CounterReading &reading, const std::vector<bool> &changed, std::uint64_t t_ns) {
    const std::vector<std::int64_t> read = cells_of(reading, changed.size());
    for (std::uint32_t cell = 0; cell < changed.size(); ++cell) {
        if (!changed[cell]) hold(cell, t_ns, read[cell]);
    }
    tasks_.rebase();
    rebase();
}

/// Takes what tasks cache from the reading: no record shows what a task cached after its last event.
void MmAccount::take_over_tasks(const CounterReading &reading, std::uint64_t begin_ns) {
    for (const TaskReading &task : reading.tasks) {
        Account *const found = tasks_.find_member(task.host_tid);
        if (found == nullptr || found->cached_ns + kWiderNs >= begin_ns) continue;
        Account &account = *found;
        if (account.last_flush_ns + kWiderNs >= begin_ns) continue;
        for (Member member : kAllMembers)
            tasks_.set_cached(account, index_of(member), task.cached[member].n);
        account.cached_ns = begin_ns;
        note_task(task.host_tid, begin_ns);
    }
}

/// Shows open updates as they would be settled if no more records came.
MmView MmAccount::view() const {
    if (settled()) return view_settled();
    MmAccount copy(*this);
    copy.shared_ = nullptr;
    copy.peaks_.detach();
    for (std::size_t m = 0; m < kMembers; ++m) {
        copy.histories_[m].settle_for_view(copy.out_);
        copy.out_.bound = copy.out_.sum_known = false;  // later records may decide otherwise
        copy.take(m);
    }
    return copy.view_settled();
}

MmView MmAccount::view_settled() const {
    MmView out;
    out.mm = mm;
    out.generation = generation;
    out.torn_down = torn_down;
    out.baseline = members_of(baseline_);
    out.begin = begin;
    out.begin_in_doubt = begin_in_doubt;
    out.baseline_in_doubt = resyncs_ > 0 || needs_resync_;
    out.needs_resync = needs_resync_;
    out.remainder = remainder_;
    for (Member member : kAllMembers)
        out.flushed[member] = {histories_[index_of(member)].count()};
    out.cached = cached();
    tasks_.show(out, tasks_cache(options_.scheme));
    for (std::size_t cpu = 0; cpu < locals_.size(); ++cpu) {
        const CpuNet net{static_cast<int>(cpu), members_of(locals_[cpu]), folds_[cpu]};
        if (net.folds != 0 || net.cached != Members{}) out.cpus.push_back(net);
    }
    std::copy(flushes_.counts().begin(), flushes_.counts().end(), out.flushes);
    out.flushes[static_cast<std::size_t>(FlushReason::Fold)] = std::accumulate(folds_.begin(), folds_.end(), 0ULL);
    out.disagreements = disagreements_;
    out.suspect = !suspicions_.empty();
    out.resyncs = resyncs_;
    out.rss_min = {rss_min_};
    out.rss_max = {rss_max_};
    out.extremes = peaks_.extremes();
    out.last = torn_down ? last : out.exact();
    return out;
}

}  // namespace rsslag::core
