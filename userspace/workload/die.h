// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "memory.h"
#include "rsslag/core/result.h"

namespace rsslag::workload {

/// start() has long returned when one of its threads fails: a target that has quietly stopped being busy would be a
/// lie, so the process ends and says why.
[[noreturn]] void die(const core::Error &error);

/// Readable and writable base pages; mmap's `flags` and `fd`. Gives up where there are none.
Memory map_or_die(std::size_t pages, int flags, int fd = -1);
void unmap_or_die(Memory memory);

}  // namespace rsslag::workload
