// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "core/result.h"

namespace rsslag::system {

/// Warnings about processes that exist and cannot be read, once for each.
class Unreadable {
  public:
    /// Warns about a process, unless it has ended. `comm` may be empty.
    void note(int pid, const std::string &comm, const core::Error &why);
    /// Warns that the search for matching processes has failed for lack of resources, such as descriptors. Does not
    /// warn if there is no match, cgroup or user at present.
    void note_search(const core::Error &why);

    /// Number of processes.
    std::size_t size() const { return pids_.size(); }

  private:
    std::set<int> pids_;
    bool searches_failed_ = false;
};

}  // namespace rsslag::system
