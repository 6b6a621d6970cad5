// SPDX-License-Identifier: BSD-2-Clause
#include "recent_growth.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exporters/growth_rules.h"
#include "fault_cause.h"

namespace rsslag::analysis {
namespace {

using core::NoFault;
using core::Pages;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
/// No screen shows more rows.
constexpr std::size_t kMostRows = 100;

bool any_flag(std::uint16_t flags, std::uint16_t flag) {
    return (flags & flag) != 0;
}

/// Keeps the rows with the largest amounts, largest first. Returns the sum of the others.
template <class Row>
Pages keep_largest(std::vector<Row> &rows) {
    const auto larger = [](const Row &a, const Row &b) { return a.came > b.came; };
    Pages others;
    if (rows.size() > kMostRows) {
        std::nth_element(rows.begin(), rows.begin() + kMostRows, rows.end(), larger);
        for (std::size_t i = kMostRows; i < rows.size(); ++i)
            others += rows[i].came;
        rows.resize(kMostRows);
    }
    std::sort(rows.begin(), rows.end(), larger);
    return others;
}

}  // namespace

/// The receiver for exporters::attribute().
struct RecentGrowth::Into {
    using Mapping = std::string_view;
    RecentGrowth &recent;
    Space &space;
    Sums &sums;

    static std::string_view mapping(std::string_view name) { return name; }
    std::string_view *last_fault(int tid) const {
        const auto last = recent.faulted_.find(tid);
        return last == recent.faulted_.end() ? nullptr : &last->second;
    }
    void faulted(int tid, std::string_view mapping) const { recent.faulted_[tid] = mapping; }
    void by_fault(std::string_view mapping, int tid, Pages pages) const {
        row(sums.mappings, mapping, sums.other_mappings) += pages;
        row(sums.threads, tid, sums.other_threads) += pages;
        space.recorded += pages;
    }
    void by_none(NoFault why, Pages pages) const {
        sums.no_fault[static_cast<std::size_t>(why)] += pages;
        space.recorded += pages;
    }

  private:
    template <class Rows, class Key>
    Pages &row(Rows &rows, const Key &key, Pages &others) const {
        if (const auto found = rows.find(key); found != rows.end()) return found->second;
        if (rows.size() >= kMostOfSecond || recent.rows_ >= kMost) return others;
        recent.rows_++;
        return rows[key];
    }
};

RecentGrowth::Space &RecentGrowth::fresh(std::uint64_t mm, int pid, std::uint64_t t_ns) {
    drop(mm);
    Space &space = spaces_[mm];
    space.pid = pid;
    space.born = ++births_;
    space.begin_ns = t_ns;
    return space;
}

RecentGrowth::Space &RecentGrowth::space_of(std::uint64_t mm, std::uint64_t t_ns) {
    const auto found = spaces_.find(mm);
    return found != spaces_.end() ? found->second : fresh(mm, 0, t_ns);
}

void RecentGrowth::drop(std::uint64_t mm) {
    const auto found = spaces_.find(mm);
    if (found == spaces_.end()) return;
    for (const auto &[second, sums] : found->second.seconds)
        rows_ -= sums.rows();
    spaces_.erase(found);
}

std::string_view RecentGrowth::mapping_at(Space &space, std::uint64_t mm, std::uint64_t address,
                                          const core::Ledger &ledger) {
    if (space.pid == 0) space.pid = ledger.tgid_of(mm);
    return table_.name_at(space.pid, address);
}

/// Records come in the order of their time, except those whose amount is settled later.
RecentGrowth::Sums &RecentGrowth::second_of(Space &space, std::uint64_t t_ns) {
    const std::uint64_t second = t_ns / kSecondNs;
    auto &seconds = space.seconds;
    if (seconds.empty() || seconds.back().first < second) {
        expire(space, t_ns);
        return seconds.emplace_back(second, Sums()).second;
    }
    const auto at = std::partition_point(seconds.begin(), seconds.end(),
                                         [second](const auto &each) { return each.first < second; });
    return at->second;
}

void RecentGrowth::expire(Space &space, std::uint64_t t_ns) {
    auto &seconds = space.seconds;
    while (!seconds.empty() && seconds.front().first + kSeconds <= t_ns / kSecondNs) {
        rows_ -= seconds.front().second.rows();
        seconds.pop_front();
    }
}

void RecentGrowth::learn(int host_tid, const core::Ledger &ledger) {
    const auto [at, is_new] = threads_.try_emplace(host_tid);
    if (!is_new) return;
    const auto task = ledger.task(host_tid);
    at->second = task ? Thread{task->tid, task->comm} : Thread{host_tid, ""};
}

void RecentGrowth::note(const rsslag_update &update, const core::Applied &applied, const core::Ledger &ledger) {
    if (!applied.known) return;
    if (const auto held = ledger.held_by_all()) course_of_all_.add(update.t_ns, *held);
    if (const auto held = ledger.held(update.mm)) space_of(update.mm, update.t_ns).course.add(update.t_ns, *held);
    if (cpus_cache_) note_owner(space_of(update.mm, update.t_ns), update, applied);
    exporters::UpdateRow row;
    row.at.t_ns = update.t_ns;
    row.at.mm = update.mm;
    row.at.tid = update.tid;
    row.member = core::member_of(update.member);
    row.pages = applied.pages;
    row.from_faults = applied.from_faults;
    row.newborn = any_flag(update.flags, RSSLAG_NEWBORN);
    row.teardown = any_flag(update.flags, RSSLAG_TEARDOWN);
    row.by_other = applied.by_other;
    if (!exporters::may_grow(row)) return;
    const bool cached = applied.reason && *applied.reason != core::FlushReason::Direct;
    if (cached && *applied.reason != core::FlushReason::Fold) row.type = exporters::UpdateRow::Type::Flush;
    Space &space = space_of(update.mm, update.t_ns);
    row.fault = cause_of(update);
    if (row.fault) row.mapping = mapping_at(space, update.mm, update.address, ledger);
    learn(update.tid, ledger);
    if (applied.ticket != 0) {
        open_[applied.ticket] = {row, update.mm, space.born};
    } else if (row.pages) {
        exporters::attribute(row, Into{*this, space, second_of(space, update.t_ns)});
    }
}

void RecentGrowth::note(const core::SettledUpdate &amount) {
    const auto open = open_.extract(amount.ticket);
    if (open.empty() || !amount.pages) return;
    const Open &update = open.mapped();
    const auto space = spaces_.find(update.mm);
    if (space == spaces_.end() || space->second.born != update.born) return;
    exporters::UpdateRow row = update.row;
    row.pages = amount.pages;
    exporters::attribute(row, Into{*this, space->second, second_of(space->second, row.at.t_ns)});
}

void RecentGrowth::note(const rsslag_fault &fault, const core::Members &came, const core::Ledger &ledger) {
    if (fault.mm == 0) return;
    Space &space = space_of(fault.mm, fault.t_ns);
    exporters::FaultRow row;
    row.at.mm = fault.mm;
    row.at.tid = fault.tid;
    row.fault = cause_of(fault);
    row.came = came;
    row.after = any_flag(fault.flags, RSSLAG_AFTER_FAULT);
    row.mapping = mapping_at(space, fault.mm, fault.address, ledger);
    learn(fault.tid, ledger);
    exporters::attribute(row, Into{*this, space, second_of(space, fault.t_ns)});
}

/// The memory that a process has after a fork, or a program after its exec, is not growth.
void RecentGrowth::note(const rsslag_task &task, int parent) {
    const int pid = task.ns_tgid > 0 ? task.ns_tgid : task.tgid;
    const int tid = task.ns_tid > 0 ? task.ns_tid : task.tid;
    const bool thread = any_flag(task.flags, RSSLAG_SAME_GROUP);
    const bool shares = any_flag(task.flags, RSSLAG_SHARES_MM);
    if (const auto known = threads_.find(task.tid); known != threads_.end())
        known->second = {tid, std::string(task.comm, strnlen(task.comm, sizeof(task.comm)))};
    switch (task.kind) {
        case RSSLAG_NEWTASK:
            if (thread) table_.thread_begins(pid, tid, task.stack_pointer);
            if (!thread) table_.fork(parent, pid, shares);
            if (!shares && task.mm != 0) fresh(task.mm, pid, task.t_ns);
            break;
        case RSSLAG_EXEC:
            table_.exec(pid);
            faulted_.erase(task.tid);
            if (task.mm != 0) fresh(task.mm, pid, task.t_ns);
            break;
        case RSSLAG_EXIT:
            any_flag(task.flags, RSSLAG_GROUP_DEAD) ? table_.exit(pid) : table_.thread_ends(pid, tid);
            faulted_.erase(task.tid);
            break;
        default: break;
    }
}

void RecentGrowth::note(const core::GroupView &adopted) {
    if (adopted.mm == 0) return;
    const auto known = spaces_.find(adopted.mm);
    if (known != spaces_.end() && known->second.pid == 0) known->second.pid = adopted.tgid;
}

void RecentGrowth::note(const core::MappingChange &change) {
    any_names_ = true;
    table_.change(change);
}

void RecentGrowth::note(const core::MappingListing &listing) {
    any_names_ = true;
    table_.list(listing);
}

RecentGrowth::Sums RecentGrowth::total(const Space &space) {
    Sums all;
    for (const auto &[second, sums] : space.seconds) {
        for (const auto &[mapping, pages] : sums.mappings)
            all.mappings[mapping] += pages;
        for (const auto &[tid, pages] : sums.threads)
            all.threads[tid] += pages;
        all.other_mappings += sums.other_mappings;
        all.other_threads += sums.other_threads;
        for (std::size_t i = 0; i < core::kNoFaults; ++i)
            all.no_fault[i] += sums.no_fault[i];
    }
    return all;
}

/// Names of live threads come from the ledger.
RecentGrowth::Thread RecentGrowth::name_of(int host_tid, const core::MmView &mm) const {
    const auto living = std::lower_bound(mm.tasks.begin(), mm.tasks.end(), host_tid,
                                         [](const core::TaskNet &net, int tid) { return net.host_tid < tid; });
    if (living != mm.tasks.end() && living->host_tid == host_tid) return {living->tid, living->comm};
    const auto known = threads_.find(host_tid);
    return known != threads_.end() ? known->second : Thread{host_tid, ""};
}

/// A fold empties the cache of the member on this CPU. A record with an unknown amount is one of a fold.
void RecentGrowth::note_owner(Space &space, const rsslag_update &update, const core::Applied &applied) {
    const auto member = core::member_of(update.member);
    if (!member) return;
    auto &threads = space.owners[update.cpu];
    if (update.cached != 0) {
        if (applied.pages) threads[update.tid][*member] += *applied.pages;
        return;
    }
    for (auto each = threads.begin(); each != threads.end();) {
        each->second[*member] = {};
        each = each->second == core::Members{} ? threads.erase(each) : std::next(each);
    }
}

std::vector<core::RecentGrowth::Owner> RecentGrowth::owners_of(const Space &space, const core::MmView &mm) const {
    constexpr std::size_t kShown = 3;
    std::vector<core::RecentGrowth::Owner> owners;
    for (const auto &[cpu, threads] : space.owners) {
        std::vector<std::pair<Pages, int>> largest;
        for (const auto &[host_tid, members] : threads)
            if (members.rss().n != 0) largest.emplace_back(members.rss(), host_tid);
        std::sort(largest.begin(), largest.end(), [](const auto &a, const auto &b) {
            return std::pair(std::abs(b.first.n), a.second) < std::pair(std::abs(a.first.n), b.second);
        });
        if (largest.size() > kShown) largest.resize(kShown);
        for (const auto &[pages, host_tid] : largest) {
            Thread thread = name_of(host_tid, mm);
            owners.push_back({cpu, thread.tid, std::move(thread.comm), pages});
        }
    }
    return owners;
}

core::RecentGrowth RecentGrowth::of(const core::MmView &mm, std::uint64_t t_ns) {
    Space &space = space_of(mm.mm, t_ns);
    space.generation = mm.generation;
    expire(space, t_ns);
    const Pages exact = mm.torn_down ? mm.last.rss() : mm.exact().rss();
    const Pages missing = exact - space.exact.value_or(mm.at_start.rss()) - space.recorded;
    space.exact = exact;
    space.recorded = {};
    if (missing.n != 0) second_of(space, t_ns).no_fault[static_cast<std::size_t>(NoFault::NotRecorded)] += missing;
    const Sums sums = total(space);
    core::RecentGrowth growth;
    growth.course = space.course.take();
    growth.owners = owners_of(space, mm);
    const std::uint64_t window = kSeconds * kSecondNs;
    growth.from_ns = std::max(space.begin_ns, t_ns - std::min(t_ns, window));
    growth.any_names = any_names_;
    growth.other_mappings = sums.other_mappings;
    growth.other_threads = sums.other_threads;
    growth.no_fault = sums.no_fault;
    for (const auto &[host_tid, pages] : sums.threads) {
        Thread thread = name_of(host_tid, mm);
        growth.threads.push_back({thread.tid, std::move(thread.comm), pages});
    }
    const auto comm_of = [&growth, &mm](int tid) -> std::optional<std::string> {
        for (const core::TaskNet &task : mm.tasks)
            if (task.tid == tid) return task.comm;
        for (const auto &thread : growth.threads)
            if (thread.tid == tid) return thread.comm;
        return std::nullopt;
    };
    for (const auto &[mapping, pages] : sums.mappings)
        growth.mappings.push_back({std::string(mapping), pages});
    // The sum of several updates may be known before the amount of each.
    const bool waits = std::any_of(open_.begin(), open_.end(), [&](const auto &each) {
        return each.second.mm == mm.mm && each.second.born == space.born;
    });
    Pages &not_told = growth.no_fault[static_cast<std::size_t>(NoFault::NotRecorded)];
    if (waits && not_told.n != 0) {
        growth.other_threads += not_told;
        growth.mappings.push_back({"(mapping not known yet)", std::exchange(not_told, {})});
    }
    growth.other_mappings += keep_largest(growth.mappings);
    for (auto &mapping : growth.mappings)
        mapping.name = core::with_comm(mapping.name, comm_of);
    growth.other_threads += keep_largest(growth.threads);
    return growth;
}

void RecentGrowth::forget(const core::MmView &mm) {
    const auto found = spaces_.find(mm.mm);
    if (found != spaces_.end() && found->second.generation == mm.generation) drop(mm.mm);
}

void RecentGrowth::forget_until(std::uint64_t t_ns, const core::Ledger &ledger) {
    if (t_ns < next_forget_ns_) return;
    next_forget_ns_ = t_ns + kSecondNs;
    std::unordered_set<int> kept;
    std::vector<std::uint64_t> over;
    for (auto &[mm, space] : spaces_) {
        expire(space, t_ns);
        if (space.seconds.empty() && !ledger.has(mm)) over.push_back(mm);
        for (const auto &[second, sums] : space.seconds)
            for (const auto &[tid, pages] : sums.threads)
                kept.insert(tid);
    }
    for (const std::uint64_t mm : over)
        drop(mm);
    for (const auto &[ticket, open] : open_)
        kept.insert(open.row.at.tid);
    std::erase_if(threads_, [&kept](const auto &each) { return !kept.contains(each.first); });
}

}  // namespace rsslag::analysis
