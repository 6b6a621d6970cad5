// SPDX-License-Identifier: BSD-2-Clause
// Sums over the ticks of traced processes, by group. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/tick.h"

namespace rsslag::metrics {

/// Counts of traced mms. An mm that several processes share counts once, for the group of the first one.
struct TracedCounts {
    std::uint64_t updates = 0, updates_by_others = 0, faults = 0;
    std::array<std::uint64_t, core::kFlushReasons> flushes{};

    TracedCounts &operator+=(const TracedCounts &other);
};

/// Totals of the traced processes of one group since the first of them was traced.
struct TracedGroup {
    std::string name;
    std::int64_t processes = 0;     ///< living processes
    std::int64_t needs_resync = 0;  ///< living processes whose records were lost and that no reading has resynced yet
    TracedCounts counts;            ///< also of processes that have ended
    /// The peak of a single process of the group lies between these.
    core::Pages peak_from, peak_to;
    bool peak_lossy = false;  ///< records were lost meanwhile: the peak may be higher
};

class TracedGroups {
  public:
    /// `most`: the limit of names; processes of further groups count for kOther as long as they live.
    explicit TracedGroups(std::size_t most) : most_(most) {}

    /// `name` is called once per program, at its first tick.
    void take(const core::Tick &tick, const std::function<std::string()> &name);

    /// Groups with a process that lives or has lived since the last call, sorted by name. If a group returns later, its
    /// counts continue, unless another group has taken its place: a scraper may not notice that a counter restarted.
    std::vector<TracedGroup> groups();

  private:
    struct Entry {
        TracedGroup group;  ///< its counts: of mms that have ended
        std::set<int> processes;
        int mms = 0;         ///< living mms; an mm may outlive the process that it counts for
        bool quiet = false;  ///< reported since its last process ended
    };
    struct Program {
        std::string group;
        std::string mm;
        bool needs_resync = false;
    };
    struct Mm {
        std::string group;
        TracedCounts counts;
        std::set<int> processes;
    };

    Program &program_of(int pid, const std::function<std::string()> &name);
    std::string place_for(std::string name);
    void leave_mm(const std::string &id, int pid);
    void end(int pid);

    std::size_t most_;
    std::map<std::string, Entry> groups_;
    std::map<int, Program> programs_;  ///< by host PID
    std::map<std::string, Mm> mms_;    ///< by id
};

}  // namespace rsslag::metrics
