// SPDX-License-Identifier: BSD-2-Clause
// Processes summed up by what they are grouped by, and by no more groups than are asked for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rsslag/core/reading.h"
#include "rsslag/core/scheme.h"

namespace rsslag::metrics {

/// What the processes of one group hold together, in pages. What several of them share by one mm counts once, for the
/// group of the first; pages that several mms share count in each.
struct Group {
    std::string name;
    core::Members flushed, cached;
    core::Pages lag;    ///< what the group's own counters hide from /proc/PID/stat
    core::Pages bound;  ///< the most that they may hide
    std::int64_t processes = 0, threads = 0;
    std::int64_t inexact = 0;  ///< processes whose counters changed while they were read

    core::Members exact() const { return flushed + cached; }
    Group &operator+=(const Group &other);
};

/// Those that began first stand first: as bpf/groups.bpf.h goes through them, so that an mm counts for the same group
/// there.
void oldest_first(std::vector<core::ProcessTotal> &processes);

/// What those that do not fit are together.
inline constexpr const char *kOther = "other";

class Grouping {
  public:
    explicit Grouping(const core::Machine &machine) : machine_(machine) {}
    void add(const std::string &group, const core::ProcessTotal &process);
    /// The `most` groups that hold most, the largest first, then the rest of them as kOther.
    std::vector<Group> take(std::size_t most);

  private:
    core::Machine machine_;
    std::map<std::string, Group> groups_;
    std::set<std::uint64_t> mms_;
};

}  // namespace rsslag::metrics
