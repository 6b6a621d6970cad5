// SPDX-License-Identifier: BSD-2-Clause
// All processes, or those of one user, read one after the other: what each holds, and which of them share one mm.
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
    std::optional<procfs::StatusFile> status{};  ///< where that may be read, though its mappings may not
};

/// A process that looks like another one to the kB, where the kernel does not tell whether the two share one mm. Both
/// are counted: if they do, `pss` is there once more than it should.
struct Undecided {
    int pid = 0;
    int like = 0;  ///< read before
    core::Kilobytes pss;
};

struct AllProcesses {
    std::vector<procfs::User> users;
    std::map<std::string, procfs::FileUse> files;  ///< by file only
    std::vector<UnreadProcess> failed;
    std::vector<Undecided> undecided;
    std::string why_undecided;  ///< empty where there is none
};

/// Processes that share an mm are one user of it. `only`: those of a real UID. `by_file` reads their mappings too.
AllProcesses read_all(const std::vector<pid_t> &pids, std::optional<uid_t> only, bool by_file);

}  // namespace rsslag::memory
