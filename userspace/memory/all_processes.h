// SPDX-License-Identifier: BSD-2-Clause
// Reads the memory of all processes, or of those of one user, one after the other, and finds which share one mm.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "procfs/memory_use.h"

namespace rsslag::memory {

struct UnreadProcess {
    int pid = 0;
    core::Kind kind = core::Kind::Internal;
    std::string reason;
    std::optional<procfs::StatusFile> status{};  ///< present if it can be read although the mappings cannot
    std::string remedy{};                        ///< empty: there is none
};

/// A process with the same smaps_rollup as another one, for which kcmp(2) does not show whether both share one mm. Both
/// are counted, so if they share it, `pss` is counted once too often.
struct Undecided {
    int pid = 0;
    int like = 0;  ///< PID of the other process, which was read before
    core::Kilobytes pss;
};

struct AllProcesses {
    std::vector<procfs::User> users;
    std::map<std::string, procfs::FileUse> files;  ///< only with `by_file`
    std::vector<UnreadProcess> failed;
    std::vector<Undecided> undecided;
    std::string why_undecided;  ///< why kcmp(2) failed; empty if `undecided` is empty
};

/// Reads these processes. Those that share an mm become one User. `only`: read only processes with this real UID.
/// `by_file`: read their mappings too.
AllProcesses read_all(const std::vector<pid_t> &pids, std::optional<uid_t> only, bool by_file);

}  // namespace rsslag::memory
