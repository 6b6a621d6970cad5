// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/mapping.h"
#include "procfs/process.h"

namespace rsslag::procfs {

/// The stack pointer in /proc/PID/task/TID/syscall; nullopt if the thread is running (fs/proc/base.c
/// proc_pid_syscall()).
std::optional<std::uint64_t> parse_stack_pointer(std::string_view text);

/// The stack pointers of all blocked threads except the leader, whose stack the kernel names. Empty if reading is
/// denied.
std::vector<core::MappingListing::Stack> sleeping_stacks(const Process &process);

}  // namespace rsslag::procfs
