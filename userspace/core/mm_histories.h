// SPDX-License-Identifier: BSD-2-Clause
// The updates of an mm whose amounts are open.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "by_cpu.h"
#include "core/scheme.h"
#include "counter_history.h"
#include "mm_tasks.h"

namespace rsslag::core {

/// The history of each counter of an mm, and the latest record of each CPU, which bounds the times of updates: the
/// records of a CPU are in order.
class MmHistories {
  public:
    MmHistories(Scheme scheme, int cpus);

    CounterHistory &operator[](std::size_t member) { return histories_[member]; }
    const CounterHistory &operator[](std::size_t member) const { return histories_[member]; }
    bool has_cpu(std::size_t cpu) const { return cpu < cpus_; }
    /// The number of CPUs that complete_ns() visits.
    std::size_t cpus_seen() const { return seen_ns_.size(); }

    /// The event of a record, whose CPU must exist. Its update took effect after the previous records of its CPU and of
    /// its task.
    CounterEvent event_of(const rsslag_update &update, Account &account);
    /// To be called for a record of a fault of this task.
    void seen(const rsslag_fault &fault, Account &account);
    /// A record of the CPU: by `t_ns` it had read the counts of its earlier records of any member.
    void passed(int cpu, std::uint64_t t_ns);
    /// The time up to which all records have come: a CPU that is silent for kSilentNs has nothing in flight except an
    /// update of the last kLongestDelayNs.
    std::uint64_t complete_ns(std::uint64_t now) const;

    /// Starts again from these counts and drops all open updates.
    void reset(const std::array<std::int64_t, kMembers> &counts);
    /// Moves a task's open updates to another TID or tag.
    void retag(int from, int to);
    /// Whether no update is open.
    bool settled() const;
    std::vector<std::uint64_t> open_tickets() const;
    /// The tags of ended tasks that have open updates.
    std::unordered_set<int> open_former_tasks() const;

  private:
    bool cpus_cache_;
    std::array<CounterHistory, kMembers> histories_;
    std::size_t cpus_;              ///< possible CPUs
    ByCpu<std::uint64_t> seen_ns_;  ///< t_ns of the CPU's last update or fault record
};

}  // namespace rsslag::core
