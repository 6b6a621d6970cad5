// SPDX-License-Identifier: BSD-2-Clause
// The account against an exact reading, and what it looks like from outside.
#include <algorithm>
#include <set>

#include "mm_account.h"

namespace rsslag::core {
namespace {

constexpr std::uint64_t kWiderNs = 1'000'000;

constexpr std::size_t index_of(Member member) {
    return static_cast<std::size_t>(member);
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

Check MmAccount::compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns) {
    Check check{true, last_ns + kWiderNs < begin_ns, 0};
    const std::size_t cells = kMembers * (1 + locals_.size());
    const std::vector<std::int64_t> read = cells_of(reading, cells);
    if (!watched_) watch();
    // What each cell held from 1 ms before the reading on; a reading may have seen any of it.
    std::vector<std::vector<std::int64_t>> held(cells);
    std::vector<bool> changed(cells, false);
    for (std::size_t cell = 0; cell < cells; ++cell)
        held[cell] = {watched_from_[cell]};
    for (const Change &change : changes_) {
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
        if (std::find(held[cell].begin(), held[cell].end(), read[cell]) == held[cell].end()) check.disagreements++;
    }
    if (check.disagreements > 0 || doubtful_) {
        disagreements_ += doubtful_ ? 0 : static_cast<std::uint64_t>(check.disagreements);
        if (doubtful_) check.disagreements = 0;
        resyncs_++;
        doubtful_ = false;
        take_over(reading, changed);
    }
    if (options_.scheme != Scheme::Cpu) take_over_tasks(reading, begin_ns);
    return check;
}

/// A counter that changed meanwhile is known better from its record.
void MmAccount::take_over(const CounterReading &reading, const std::vector<bool> &changed) {
    const std::vector<std::int64_t> read = cells_of(reading, changed.size());
    for (std::uint32_t cell = 0; cell < changed.size(); ++cell) {
        if (!changed[cell]) set(cell, read[cell]);
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
            account.cached[index_of(member)] = task.cached[member].n;
    }
}

MmView MmAccount::view() const {
    MmView out;
    out.mm = mm;
    out.generation = generation;
    out.torn_down = torn_down;
    for (Member member : kAllMembers)
        out.baseline[member] = {baseline_[index_of(member)]};
    out.flushed = flushed();
    out.cached = cached();
    const auto entry = [this](int tid, const Account &account) {
        TaskNet net;
        net.host_tid = net.tid = tid;
        net.net = account.net();
        net.uncertain = {account.uncertain};
        net.updates = account.updates;
        net.flushes = account.flushes;
        net.last_flush_ns = account.last_flush_ns;
        if (options_.scheme == Scheme::Thread) {
            Members held;
            for (Member member : kAllMembers)
                held[member] = {account.cached[index_of(member)]};
            net.cached = held;
        }
        return net;
    };
    for (const auto &[tid, account] : members_)
        out.tasks.push_back(entry(tid, account));
    std::sort(out.tasks.begin(), out.tasks.end(),
              [](const TaskNet &a, const TaskNet &b) { return a.host_tid < b.host_tid; });
    for (const auto &[tid, account] : others_)
        out.others.push_back(entry(tid, account));
    out.exited = {ended_count_, ended_.net(), ended_faults_, ended_.updates, ended_.flushes};
    share_open(out);
    for (std::size_t cpu = 0; cpu < locals_.size(); ++cpu) {
        CpuNet net{static_cast<int>(cpu), {}, folds_[cpu]};
        for (Member member : kAllMembers)
            net.cached[member] = {locals_[cpu][index_of(member)]};
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

/// Updates of the last moment whose amounts are still open: their sum is known all the same, and belongs to those who
/// made them.
void MmAccount::share_open(MmView &out) const {
    Members left = out.exact() - out.baseline - out.exited.net;
    for (const TaskNet &task : out.tasks)
        left = left - task.net;
    for (const TaskNet &task : out.others)
        left = left - task.net;
    for (std::size_t m = 0; m < kMembers; ++m) {
        const Member member = kAllMembers[m];
        if (left[member].n == 0) continue;
        std::set<int> tids;
        for (const int tid : waiting(m))
            tids.insert(tid);
        TaskNet *taker = nullptr;
        for (auto *list : {&out.tasks, &out.others}) {
            for (TaskNet &task : *list) {
                if (tids.count(task.host_tid) == 0) continue;
                if (taker == nullptr) taker = &task;
                task.uncertain += Pages{std::abs(left[member].n)};
            }
        }
        if (taker != nullptr && tids.size() == 1) taker->uncertain = taker->uncertain - Pages{std::abs(left[member].n)};
        if (taker != nullptr) {
            taker->net[member] += left[member];
        } else if (!tids.empty()) {
            out.exited.net[member] += left[member];  // made by a task that has ended
        } else {
            out.flushed[member] = out.flushed[member] - left[member];  // read before the record of its fold came
        }
    }
}

std::vector<int> MmAccount::waiting(std::size_t member) const {
    return options_.scheme == Scheme::Cpu ? solvers_[member].open_tids() : chains_[member].waiting_tids();
}

}  // namespace rsslag::core
