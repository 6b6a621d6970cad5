// SPDX-License-Identifier: BSD-2-Clause
// The effects of readings and losses on the account of an mm, and the account's view.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/raw_reading.h"
#include "mm_account.h"

namespace rsslag::core {

/// The reading's counters by cell.
std::vector<std::int64_t> MmAccount::cells_of(const CounterReading &reading) {
    std::vector<std::int64_t> values(counters_.cells());
    for (Member member : kAllMembers)
        values[index_of(member)] = reading.last.flushed[member].n;
    for (const CpuReading &cpu : reading.last.cpus) {
        if (cpu.cpu < 0 || static_cast<std::size_t>(cpu.cpu) >= counters_.cpus()) continue;  // of a damaged recording
        for (Member member : kAllMembers) {
            const std::uint32_t cell = counters_.cell_of(static_cast<std::size_t>(cpu.cpu), index_of(member));
            values.resize(counters_.cells());
            values[cell] = cpu.cached[member].n;
        }
    }
    return values;
}

void MmAccount::adopt(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    adopted_from_ = begin_ns;
    adopted_until_ = end_ns;
    for (Member member : kAllMembers)
        counters_.set(static_cast<std::uint32_t>(index_of(member)), reading.last.flushed[member].n);
    if (cpus_cache(options_.scheme)) {
        for (const CpuReading &cpu : reading.last.cpus) {
            if (cpu.cpu < 0 || static_cast<std::size_t>(cpu.cpu) >= counters_.cpus()) continue;
            for (Member member : kAllMembers)
                counters_.set(counters_.cell_of(static_cast<std::size_t>(cpu.cpu), index_of(member)),
                              cpu.cached[member].n);
        }
    }
    for (const TaskReading &task : reading.tasks) {
        Account &account = tasks_.own(task.host_tid);
        for (Member member : kAllMembers) {
            tasks_.set_cached(account, index_of(member), task.cached[member].n);
            tasks_.set_cached_at_attach(account, index_of(member), task.cached[member].n);
            account.from_faults[index_of(member)] = task.cached[member].n;
        }
        account.rebase();
        account.cached_ns = begin_ns;
    }
    rebase();
    rss_min_ = rss_max_ = exact().rss().n;
}

/// A record made during the first reading of the mm: its values replace those of the reading, and they are part of the
/// baseline.
void MmAccount::take_absolute(const rsslag_update &update) {
    if (update.t_ns < adopted_from_) return;
    hold_count(update);
    if (cpus_cache(options_.scheme)) {
        if (update.cpu < counters_.cpus()) counters_.set(counters_.cell_of(update.cpu, update.member), update.cached);
    } else if (Account *const account = tasks_.find_own(update.tid); account != nullptr && update.cached != 0) {
        tasks_.set_cached(*account, update.member, 0);
        tasks_.set_cached_at_attach(*account, update.member, 0);
        account->from_faults[update.member] = 0;
        account->rebase();
    }
    note_begin();
    rebase();
}

void MmAccount::note_begin() {
    at_start = exact();
    start_approximate = start_approximate || needs_resync_;
}

void MmAccount::rebase() {
    const Members started = exact() - tasks_.net();
    for (Member member : kAllMembers)
        baseline_[index_of(member)] = started[member].n;
    remainder_ = {};
    drop_open();
    histories_.reset(counters_.flushed());
    peaks_.settle_all(exact(), known_ns());
    peaks_.start({exact(), cached(), lag(), known_ns()}, needs_resync_);
}

void MmAccount::watch() {
    std::vector<std::int64_t> cells(counters_.cells());
    for (std::uint32_t cell = 0; cell < cells.size(); ++cell)
        cells[cell] = counters_.value(cell);
    check_.watch(std::move(cells));
    shared_->visited += counters_.cells() / kMembers;
    rss_min_ = rss_max_ = exact().rss().n;
}

void MmAccount::end_watch() {
    check_.end_watch();
}

Check MmAccount::compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    const bool at_rest = last_ns + kReadingMarginNs < begin_ns;
    Check check{true, at_rest, 0};
    if (!check_.watched() && !check.quiet) return {};  // the mm was created after the watch started
    const std::vector<std::int64_t> read = cells_of(reading);
    if (!check_.watched()) watch();
    shared_->visited += counters_.cells() / kMembers + tasks_.size();
    const MmCheck::Comparison found = check_.compare(read, begin_ns, end_ns);
    check.quiet = check.quiet && found.quiet;
    std::int64_t off = 0;
    for (std::uint32_t cell = 0; cell < read.size(); ++cell) {
        const std::int64_t here = found.off[cell];
        // The last record need not be of the last update: an order of the open updates may lead to this count.
        const bool conclusive = cell < kMembers && (here != 0 || at_rest);
        const bool reached = conclusive && histories_[cell].add_reading(read[cell], begin_ns, end_ns);
        if (here == 0 || reached) check_.agrees(cell);
        if (here == 0) continue;
        if (reached) {
            hold(cell, end_ns, read[cell]);
            update_peaks(known_ns());
            counters_.set_flushed_ns(cell, std::max(counters_.flushed_ns(cell), begin_ns));
            check.quiet = false;
            continue;
        }
        if (check_.confirms(cell, begin_ns)) {
            check.disagreements++;
        } else if (!needs_resync_) {
            check_.suspect(cell, begin_ns, read[cell]);
            check.quiet = false;
        }
        off += here;
    }
    if (needs_resync_) check.disagreements = 0;
    if (check.disagreements > 0) {
        disagreements_ += static_cast<std::uint64_t>(check.disagreements);
        // A record of an unknown task is missing or wrong.
        add_possible_error(std::max(off, kMostPages));
    }
    if (needs_resync_) {
        resyncs_++;
        needs_resync_ = begin_ns < std::max(folded_until_, shared_->lost_until_ns);
        if (!needs_resync_) peaks_.resynced();
        tasks_.resynced();
        take_over(read, found.changed, end_ns);
    }
    if (!cpus_cache(options_.scheme)) take_over_tasks(reading, begin_ns);
    if (check.quiet && check.disagreements == 0 && histories_.settled()) {
        // The counters are right. Baseline, nets and remainder must add up to them, too.
        const Members accounted = members_of(baseline_) + tasks_.net() + remainder_;
        const Members held_now = exact();
        if (accounted != held_now) {
            check.disagreements = 1;
            disagreements_++;
            remainder_ = remainder_ + (held_now - accounted);
            histories_.reset(counters_.flushed());
        } else {
            peaks_.settle_all(exact(), known_ns());
            peaks_.rest();
        }
    }
    return check;
}

/// Takes the counters of the reading, except those that changed meanwhile: their records are newer. hold() keeps the
/// values for another reading in the same watch, of a group that shares the mm.
void MmAccount::take_over(const std::vector<std::int64_t> &read, const std::vector<bool> &changed, std::uint64_t t_ns) {
    for (std::uint32_t cell = 0; cell < changed.size(); ++cell) {
        if (!changed[cell]) hold(cell, t_ns, read[cell]);
    }
    tasks_.rebase();
    rebase();
}

/// Takes what tasks cache from the reading: no record shows what a task cached after its last event.
void MmAccount::take_over_tasks(const CounterReading &reading, std::uint64_t begin_ns) {
    for (const TaskReading &task : reading.tasks) {
        Account *const account = tasks_.find_own(task.host_tid);
        if (account == nullptr || account->cached_ns + kReadingMarginNs >= begin_ns) continue;
        if (account->last_flush_ns + kReadingMarginNs >= begin_ns) continue;
        for (Member member : kAllMembers)
            tasks_.set_cached(*account, index_of(member), task.cached[member].n);
        account->cached_ns = begin_ns;
        note_task(task.host_tid, begin_ns);
    }
}

/// The lost records may be of any task. None of them changes a counter by more pages than a page table maps. Open
/// updates may depend on them, and so may all updates until the next comparison.
void MmAccount::lost(std::uint64_t records) {
    constexpr std::uint64_t kMostRecords = 1ULL << 30;
    add_possible_error(static_cast<std::int64_t>(std::min(records, kMostRecords)) * kMostPages);
}

/// Any net may be off by this many more pages from now on, and the mm needs a resync.
void MmAccount::add_possible_error(std::int64_t pages) {
    peaks_.lost(!std::exchange(needs_resync_, true));
    check_.forget();
    finish();
    shared_->visited += tasks_.size();
    tasks_.widen(pages);
}

void MmAccount::cpus_folded(std::uint64_t since_ns, std::uint64_t until_ns) {
    if (!cpus_cache(options_.scheme)) return;
    folded_until_ = std::max(folded_until_, until_ns);
    std::int64_t pages = 0;
    for (const auto &[cpu, number] : counters_.cpus_with_cells())
        for (const std::int32_t cached : counters_.cached_by(static_cast<std::size_t>(cpu)))
            pages += std::abs(std::int64_t{cached});
    add_possible_error(last_ns < since_ns ? 0 : pages);  // 0: no amount has been derived from the new counts yet
}

Members MmAccount::flushed() const {
    return members_of(counters_.flushed());
}

Members MmAccount::cached() const {
    return members_of(counters_.cached()) + members_of(tasks_.cached());
}

bool MmAccount::empty() const {
    return exact() == Members{};
}

bool MmAccount::may_be_empty() const {
    return empty() || view().exact() == Members{};
}

std::int64_t MmAccount::lag() const {
    std::int64_t lag = 0;
    for (const Member member : kRssMembers) {
        const std::int64_t flushed = counters_.flushed()[index_of(member)];
        lag += flushed + cached_of(index_of(member)) - std::max<std::int64_t>(flushed, 0);
    }
    return lag;
}

std::optional<Held> MmAccount::held() const {
    if (torn_down || needs_resync_) return std::nullopt;
    return Held{exact().rss(), {lag()}, generation};
}

/// Shows open updates as they would be settled if no more records came.
MmView MmAccount::view(int host_tgid) const {
    constexpr std::size_t kOfTask = 4;  // for naming, copying and printing it
    if (shared_ != nullptr) shared_->visited += counters_.cells() / kMembers + kOfTask * tasks_.size();
    if (histories_.settled()) return view_settled(host_tgid);
    MmAccount copy(*this);
    copy.shared_ = nullptr;
    copy.peaks_.detach();
    for (std::size_t m = 0; m < kMembers; ++m) {
        copy.histories_[m].settle_for_view(copy.out_);
        copy.out_.bound = copy.out_.sum_known = false;  // later records may decide otherwise
        copy.take(m);
    }
    MmView view = copy.view_settled(host_tgid);
    view.extremes.open = true;
    return view;
}

MmView MmAccount::view_settled(int host_tgid) const {
    MmView out;
    out.mm = mm;
    out.generation = generation;
    out.torn_down = torn_down;
    out.baseline = members_of(baseline_);
    out.at_start = at_start;
    out.start_approximate = start_approximate;
    out.baseline_approximate = resyncs_ > 0 || needs_resync_;
    out.needs_resync = needs_resync_;
    out.remainder = remainder_;
    for (Member member : kAllMembers)
        out.flushed[member] = {histories_[index_of(member)].count()};
    out.cached = cached();
    tasks_.show(out, tasks_cache(options_.scheme));
    std::copy(flushes_.counts().begin(), flushes_.counts().end(), out.flushes);
    out.flushes[static_cast<std::size_t>(FlushReason::Fold)] = 0;
    for (const auto &[cpu, number] : counters_.cpus_with_cells()) {
        const std::uint64_t *const folds = folds_.find(cpu);
        const CpuNet net{cpu, members_of(counters_.cached_by(static_cast<std::size_t>(cpu))),
                         folds == nullptr ? 0 : *folds};
        out.flushes[static_cast<std::size_t>(FlushReason::Fold)] += net.folds;
        if (net.folds != 0 || net.cached != Members{}) out.cpus.push_back(net);
    }
    out.disagreements = disagreements_;
    out.suspect = check_.suspects();
    out.resyncs = resyncs_;
    out.rss_min = {rss_min_};
    out.rss_max = {rss_max_};
    out.last = torn_down ? last : out.exact();
    out.extremes = peaks_.extremes();
    if (host_tgid != 0) peaks_.show_life(host_tgid, out);
    out.extremes.summed = options_.counting && options_.scheme != Scheme::Plain;
    return out;
}

}  // namespace rsslag::core
