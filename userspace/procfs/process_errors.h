// SPDX-License-Identifier: BSD-2-Clause
// What an errno from below /proc/PID means.
#pragma once

#include <optional>
#include <string>

#include "rsslag/core/result.h"
#include "rsslag/procfs/process.h"

namespace rsslag::procfs {

/// The process has not been reaped: its directory still answers.
bool still_there(const Process &process);

inline constexpr const char *kProc = "/proc";

/// Where nothing of procfs is at /proc, no process can be looked for. Another root, as tests have, may be anything.
std::optional<core::Error> no_procfs(const std::string &root);
core::Error foreign_proc();

/// For an errno that needs no second look at the process: Denied with its remedy, Gone, else Io.
core::Error failure(pid_t pid, const char *name, int err);

/// As above, but a file that is missing although the process is there is Unsupported by this kernel, and ESRCH from a
/// process that is there means that it has no memory (a zombie, a kernel thread).
core::Error failure_below(const Process &process, const char *name, int err);

/// The process is there but has no memory to walk.
core::Error no_memory(pid_t pid);

}  // namespace rsslag::procfs
