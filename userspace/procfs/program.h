// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "procfs/process.h"

namespace rsslag::procfs {

/// The path of the program that a process runs, with the name by which it was started. This is argv[0] if it resolves
/// to the inode of /proc/PID/exe, e.g. through a link (redis-server is a link to redis-check-rdb). Otherwise it is the
/// result of exe(), including its errors and the empty string. A process controls its argv[0], so a name that does not
/// resolve to its own executable is ignored.
core::Result<std::string> program_path(const Process &process);

/// The arguments of a process, separated by spaces, raw bytes; empty if they cannot be read. Reading them takes the
/// process's mmap_lock (fs/proc/base.c get_mm_cmdline).
std::string command_line(const Process &process);

/// Whether `name` names this process: it equals `comm` (from stat) or the base name of its program. If the executable
/// cannot be read (another user's process), a name of more than 15 characters matches if it starts with `comm` and
/// equals the base name in argv[0].
bool has_name(const Process &process, std::string_view comm, std::string_view name);

}  // namespace rsslag::procfs
