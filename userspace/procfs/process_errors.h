// SPDX-License-Identifier: BSD-2-Clause
// Maps an errno from a file below /proc/PID to an Error.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "procfs/process.h"

namespace rsslag::procfs {

/// Whether the process has not been reaped, i.e. its directory still has files.
bool still_there(const Process &process);

inline constexpr const char *kProc = "/proc";

/// The error if `root` is "/proc" and no procfs is mounted there. Another `root`, as in tests, is not checked.
std::optional<core::Error> no_procfs(const std::string &root);
/// The Kind::Unsupported error if the mounted /proc belongs to another PID namespace.
core::Error foreign_proc();

/// For an errno that does not depend on the state of the process: Denied with its remedy, Gone, else Io.
core::Error failure(pid_t pid, const char *name, int err);

/// As failure(), except while the process still exists: a missing file is Unsupported (Gone below task/), and ESRCH
/// means that the process has no mm (a zombie, a kernel thread).
core::Error failure_below(const Process &process, const char *name, int err);

/// The Kind::Denied error for a process that exists and that a /proc with hidepid does not show.
core::Error hidden(pid_t pid);

/// The Kind::Gone error for a process that exists and has no mm.
core::Error no_memory(pid_t pid);

}  // namespace rsslag::procfs
