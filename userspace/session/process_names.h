// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "documents/top.h"
#include "system/walker.h"

namespace rsslag::session {

/// The users, cgroups and arguments of the processes of `top`. They are read on a thread of their own, since arguments
/// take the process's mmap_lock (fs/proc/base.c get_mm_cmdline).
class ProcessNames {
  public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::size_t kAtOnce = 256;
    static constexpr std::chrono::seconds kOld{10};

    /// `patience`: how long fill() waits at most, at least 20 ms.
    explicit ProcessNames(std::chrono::milliseconds patience = std::chrono::milliseconds{50})
        : walker_([] { return true; }, patience) {}

    /// Sets `names` of the processes whose names are known. Then reads the names of at most kAtOnce processes: first of
    /// those that are new or have a new mm, by descending lag, then of those that were read more than kOld ago. Names
    /// that are not read in time are set by a later call.
    void fill(std::vector<documents::TopProcess> &processes);

  private:
    struct Known {
        std::uint64_t started_ns = 0, mm = 0;
        Clock::time_point read_at{};
        documents::ProcessNames names;
    };
    struct Job;

    void take_results();

    std::unordered_map<int, Known> known_;  ///< by host TGID
    std::shared_ptr<Job> job_;              ///< the last one; shared with the thread
    system::Walker walker_;
};

}  // namespace rsslag::session
