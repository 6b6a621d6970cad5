// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "core/result.h"
#include "memory.h"

namespace rsslag::workload {

/// Prints the error and ends the process. For failures of threads after start() has returned, since a busy workload
/// must not stop silently.
[[noreturn]] void die(const core::Error &error);

/// Makes the kernel kill this process (PR_SET_PDEATHSIG) when the thread of `parent` that forked it ends; kills it
/// immediately if `parent` has ended.
core::Status die_with(pid_t parent);

/// Maps readable and writable base pages with mmap's `flags` and `fd`; calls die() on failure.
Memory map_or_die(std::size_t pages, int flags, int fd = -1);
void unmap_or_die(Memory memory);

}  // namespace rsslag::workload
