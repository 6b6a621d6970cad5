// SPDX-License-Identifier: BSD-2-Clause
// Ticks of traced processes summed up by what they are grouped by. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rsslag/core/tick.h"

namespace rsslag::metrics {

/// Counts of address spaces that are traced. An mm that several processes share counts once, for the first one's group.
struct TracedCounts {
    std::uint64_t updates = 0, updates_by_others = 0, faults = 0;
    std::array<std::uint64_t, core::kFlushReasons> flushes{};

    TracedCounts &operator+=(const TracedCounts &other);
};

/// What the traced processes of one group came to, since the first of them was traced.
struct TracedGroup {
    std::string name;
    std::int64_t processes = 0;  ///< that live
    std::int64_t doubtful = 0;   ///< of them: records were lost, and no reading has put it right yet
    TracedCounts counts;         ///< of those that have ended, too
    /// Between these is the most that a single process of the group has held.
    core::Pages peak_from, peak_to;
    bool peak_lossy = false;  ///< records were lost meanwhile: it may have been more
};

class TracedGroups {
  public:
    /// No more than so many names: processes of others count for kOther as long as they live.
    explicit TracedGroups(std::size_t most) : most_(most) {}

    /// `name`: asked for once, when a program is first told of.
    void take(const core::Tick &tick, const std::function<std::string()> &name);

    /// Those of which a process lives, or has lived since the last call; by name. Who comes back counts on, as nobody
    /// could tell a new count from one that has grown.
    std::vector<TracedGroup> groups();

  private:
    struct Entry {
        TracedGroup group;  ///< counts: of the mms that have ended
        std::set<int> processes;
        int mms = 0;         ///< that live: one may outlive the process that it counts for
        bool quiet = false;  ///< told of since its last process ended
    };
    struct Program {
        std::string group;
        std::string mm;
        bool doubtful = false;
    };
    struct Mm {
        std::string group;
        TracedCounts counts;
        std::set<int> processes;
    };

    Program &program_of(int pid, const std::function<std::string()> &name);
    std::string room_for(std::string name);
    void leave_mm(const std::string &id, int pid);
    void end(int pid);

    std::size_t most_;
    std::map<std::string, Entry> groups_;
    std::map<int, Program> programs_;  ///< by host PID
    std::map<std::string, Mm> mms_;    ///< by id
};

}  // namespace rsslag::metrics
