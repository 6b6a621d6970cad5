// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "rsslag/core/result.h"
#include "rsslag/procfs/process.h"

namespace rsslag::procfs {

/// The path of the program that a process runs, by the name that it was started under: argv[0] where that leads to the
/// inode of /proc/PID/exe, as a link does (redis-server, where the file is redis-check-rdb), else what exe() says, of
/// which it has the errors and the empty string too. A process may say anything in argv[0], but gets no other name by
/// it than one of its own executable.
core::Result<std::string> program_path(const Process &process);

/// Whether a user who types `name` means this process: its name (`comm`, as stat has it), or its program's. Of another
/// user's process, whose executable is not shown, the kernel's 15 characters of a longer name are enough where argv[0]
/// has the rest.
bool goes_by(const Process &process, std::string_view comm, std::string_view name);

}  // namespace rsslag::procfs
