// SPDX-License-Identifier: BSD-2-Clause
// All processes, or those of one user, read one after the other: the memory of each, and which of them share one mm.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/procfs/memory_use.h"

namespace rsslag::memory {

struct UnreadProcess {
    int pid = 0;
    core::Kind kind = core::Kind::Internal;
    std::string reason;
    std::optional<procfs::StatusFile> status{};  ///< if it may be read although the mappings may not
};

/// A process with the same smaps_rollup as another one, while kcmp(2) does not show whether the two share one mm. Both
/// are counted: if they do share it, `pss` is counted once too often.
struct Undecided {
    int pid = 0;
    int like = 0;  ///< PID of the other one, which was read before
    core::Kilobytes pss;
};

struct AllProcesses {
    std::vector<procfs::User> users;
    std::map<std::string, procfs::FileUse> files;  ///< only with `by_file`
    std::vector<UnreadProcess> failed;
    std::vector<Undecided> undecided;
    std::string why_undecided;  ///< empty if `undecided` is
};

/// Processes that share an mm are one User. `only`: read those with this real UID. `by_file`: read their mappings too.
AllProcesses read_all(const std::vector<pid_t> &pids, std::optional<uid_t> only, bool by_file);

}  // namespace rsslag::memory
