// SPDX-License-Identifier: BSD-2-Clause
// Sums over processes by group, for a limited number of groups.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/proc_reading.h"
#include "core/reading.h"
#include "core/scheme.h"
#include "core/units.h"

namespace rsslag::metrics {

/// Sums over the processes of one group, in pages. An mm that several processes share counts once, for the group of the
/// first process. Pages that several mms share count in each.
struct Group {
    std::string name;
    core::Members flushed, cached;
    core::Pages lag;    ///< what a reader of the flushed counters (/proc/PID/stat) misses
    core::Pages bound;  ///< the sum of core::bound() of file, anon and shmem
    std::int64_t processes = 0, threads = 0;
    std::int64_t inexact = 0;  ///< processes whose counters changed while they were read
    /// Of processes that were read by /proc alone, which does not show what is cached: exact counters, and exact rss of
    /// those whose counters it does not show.
    core::Members undivided;
    core::Pages walked;
    std::int64_t with_members = 0;  ///< how many are in `undivided`
    std::int64_t unread = 0;        ///< processes whose exact rss /proc does not show
    std::int64_t without_lag = 0;   ///< processes whose lag it does not show

    core::Members exact() const { return flushed + cached + undivided; }
    core::Pages rss() const { return exact().rss() + walked; }
    /// Adds a process, but not its counters if the mm has been counted for another one.
    void add(const core::ProcessTotal &process, const core::Machine &machine, bool first_of_mm) {
        processes++;
        threads += process.threads;
        if (!first_of_mm) return;
        flushed += process.flushed;
        cached += process.cached;
        lag += core::lag(process.exact(), process.flushed);
        bound += core::bound(machine, process.tasks).rss;
        inexact += process.moved ? 1 : 0;
    }
    /// Of processes that share an mm, each counts.
    void add(const core::ProcReading &process) {
        processes++;
        threads += process.threads_count;
        inexact += process.moved ? 1 : 0;
        unread += process.exact ? 0 : 1;
        without_lag += process.lag ? 0 : 1;
        lag += process.lag.value_or(core::Pages{});
        with_members += process.members ? 1 : 0;
        if (process.members)
            undivided += *process.members;
        else
            walked += process.exact.value_or(core::Pages{});
    }
    Group &operator+=(const Group &other) {
        flushed += other.flushed;
        cached += other.cached;
        lag += other.lag;
        bound += other.bound;
        processes += other.processes;
        threads += other.threads;
        inexact += other.inexact;
        undivided += other.undivided;
        walked += other.walked;
        with_members += other.with_members;
        unread += other.unread;
        without_lag += other.without_lag;
        return *this;
    }
};

/// Sorts by start time. bpf/groups.bpf.h iterates in the same order, so that both count a shared mm for the same group.
void oldest_first(std::vector<core::ProcessTotal> &processes);

/// The name of the sum of all groups beyond the limit.
inline constexpr const char *kOther = "other";

class Grouping {
  public:
    explicit Grouping(const core::Machine &machine) : machine_(machine) {}
    void add(const std::string &group, const core::ProcessTotal &process);
    void add(const std::string &group, const core::ProcReading &process);
    /// Returns the `most` groups with the largest exact rss, in descending order, then the sum of the rest as kOther.
    /// The grouping is empty afterwards.
    std::vector<Group> take(std::size_t most);

  private:
    core::Machine machine_;
    std::map<std::string, Group> groups_;
    std::set<std::uint64_t> mms_;
};

}  // namespace rsslag::metrics
