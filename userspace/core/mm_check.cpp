// SPDX-License-Identifier: BSD-2-Clause
// The account against an exact reading, and what it looks like from outside.
#include <algorithm>

#include "mm_account.h"

namespace rsslag::core {
namespace {

constexpr std::uint64_t kWiderNs = 1'000'000;

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

Check MmAccount::compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    Check check{true, last_ns + kWiderNs < begin_ns, 0};
    const std::size_t cells = kMembers * (1 + locals_.size());
    const std::vector<std::int64_t> read = cells_of(reading, cells);
    if (!watched_) watch();
    // What each cell held from 1 ms before the reading on; a reading may have seen any of it.
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
    for (std::size_t cell = 0; cell < cells; ++cell) {
        if (unknown[cell]) continue;
        if (std::find(held[cell].begin(), held[cell].end(), read[cell]) == held[cell].end()) check.disagreements++;
    }
    if (check.disagreements > 0 || doubtful_) {
        disagreements_ += doubtful_ ? 0 : static_cast<std::uint64_t>(check.disagreements);
        if (doubtful_) check.disagreements = 0;
        resyncs_++;
        doubtful_ = false;
        take_over(reading, changed, end_ns);
    } else if (check.quiet && settled() && !adds_up()) {
        // The counters are right, but what tasks did does not lead to them: a record was misread.
        check.disagreements = 1;
        disagreements_++;
        resyncs_++;
        rebase();
    }
    if (options_.scheme != Scheme::Cpu) take_over_tasks(reading, begin_ns);
    return check;
}

bool MmAccount::adds_up() const {
    return members_of(baseline_) + nets() == flushed() + cached();
}

/// Whether every update has its amount.
bool MmAccount::settled() const {
    return std::none_of(solvers_.begin(), solvers_.end(), [](const FoldSolver &solver) { return solver.open(); }) &&
           std::none_of(chains_.begin(), chains_.end(), [](const FlushChain &chain) { return chain.waiting(); });
}

/// A counter that changed meanwhile is known better from its record. Held, as another group that shares the mm may have
/// been read in the same watch.
void MmAccount::take_over(const CounterReading &reading, const std::vector<bool> &changed, std::uint64_t t_ns) {
    const std::vector<std::int64_t> read = cells_of(reading, changed.size());
    for (std::uint32_t cell = 0; cell < changed.size(); ++cell) {
        if (!changed[cell]) hold(cell, t_ns, read[cell]);
    }
    rebase();
}

/// No record tells what a task did after its last event, nor that one ended of which no exit was told.
void MmAccount::take_over_tasks(const CounterReading &reading, std::uint64_t begin_ns) {
    for (const TaskReading &task : reading.tasks) {
        const auto found = members_.find(task.host_tid);
        if (found == members_.end() || found->second.cached_ns + kWiderNs >= begin_ns) continue;
        Account &account = found->second;
        if (account.last_flush_ns + kWiderNs >= begin_ns) continue;
        for (Member member : kAllMembers)
            set_cached(account, index_of(member), task.cached[member].n);
    }
}

TaskNet MmAccount::entry(int tid, const Account &account) const {
    TaskNet net;
    net.host_tid = net.tid = tid;
    net.net = account.net();
    net.uncertain = {account.uncertain};
    net.updates = account.updates;
    net.flushes = account.flushes;
    net.last_flush_ns = account.last_flush_ns;
    if (options_.scheme == Scheme::Thread) net.cached = members_of(account.cached);
    return net;
}

MmView MmAccount::view() const {
    MmView out;
    out.mm = mm;
    out.generation = generation;
    out.torn_down = torn_down;
    out.baseline = members_of(baseline_);
    out.flushed = flushed();
    out.cached = cached();
    out.tasks.reserve(members_.size());
    for (const auto &[tid, account] : members_)
        out.tasks.push_back(entry(tid, account));
    std::sort(out.tasks.begin(), out.tasks.end(),
              [](const TaskNet &a, const TaskNet &b) { return a.host_tid < b.host_tid; });
    for (const auto &[tid, account] : others_)
        out.others.push_back(entry(tid, account));
    out.exited = {ended_count_, ended_.net(), ended_faults_, ended_.updates, ended_.flushes};
    share_open(out);
    for (std::size_t cpu = 0; cpu < locals_.size(); ++cpu) {
        const CpuNet net{static_cast<int>(cpu), members_of(locals_[cpu]), folds_[cpu]};
        if (net.folds != 0 || net.cached != Members{}) out.cpus.push_back(net);
    }
    out.updates = updates_;
    out.updates_by_others = updates_by_others_;
    std::copy(flushes_.begin(), flushes_.end(), out.flushes);
    out.disagreements = disagreements_;
    out.resyncs = resyncs_;
    out.rss_min = {rss_min_};
    out.rss_max = {rss_max_};
    return out;
}

/// Updates of the last moment whose amounts are still open: as they would come out if nothing more came.
void MmAccount::share_open(MmView &out) const {
    const auto give = [&out](int tid, Member member, std::int64_t pages, std::int64_t uncertain) {
        for (auto *list : {&out.tasks, &out.others}) {
            for (TaskNet &task : *list) {
                if (task.host_tid != tid) continue;
                task.net[member].n += pages;
                task.uncertain.n += uncertain;
                return;
            }
        }
        out.exited.net[member].n += pages;  // made by a task that has ended
    };
    for (std::size_t m = 0; m < kMembers; ++m) {
        std::vector<FoldSolver::Solved> solved;
        if (solvers_[m].open()) FoldSolver(solvers_[m]).advance(~0ULL, solved);
        for (const FoldSolver::Solved &each : solved)
            give(each.tid, kAllMembers[m], each.pages, each.uncertain);
        std::vector<FlushChain::Link> links;
        if (chains_[m].waiting()) FlushChain(chains_[m]).finish(links);
        for (const FlushChain::Link &link : links)
            give(link.update.tid, kAllMembers[m], link.pages, 0);
    }
    Members said = out.baseline + out.exited.net;
    for (const auto *list : {&out.tasks, &out.others}) {
        for (const TaskNet &task : *list)
            said += task.net;
    }
    // Counts may hold a fold whose record has not come.
    out.flushed = out.flushed - (out.exact() - said);
}

}  // namespace rsslag::core
