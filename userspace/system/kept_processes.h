// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>

#include "core/result.h"
#include "procfs/process.h"

namespace rsslag::system {

/// Identifies processes from one reading to the next: by a descriptor of their /proc directories or, for those that
/// come when descriptors are scarce, by their start times.
class KeptProcesses {
  public:
    /// The process that was opened first under this number of the caller; valid until the next call. Kind::Gone if it
    /// has ended, errors as procfs::Process::open().
    core::Result<const procfs::Process *> of(int number, pid_t pid);
    void forget(int number) { known_.erase(number); }

  private:
    struct Known {
        std::optional<procfs::Process> kept;
        std::optional<std::uint64_t> started;
    };

    std::map<int, Known> known_;
    std::optional<procfs::Process> opened_;  ///< if descriptors are scarce: the process of the last call
};

}  // namespace rsslag::system
