// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rsslag/core/mapping.h"
#include "rsslag/procfs/process.h"

namespace rsslag::procfs {

/// /proc/PID/task/TID/syscall: the stack pointer of a thread that sleeps; nullopt: it runs (fs/proc/base.c
/// proc_pid_syscall()).
std::optional<std::uint64_t> parse_stack_pointer(std::string_view text);

/// Of the threads that sleep, but for the leader, whose stack has a name. Empty where the files may not be read.
std::vector<core::MappingListing::Stack> sleeping_stacks(const Process &process);

}  // namespace rsslag::procfs
