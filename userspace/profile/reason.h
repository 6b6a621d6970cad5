// SPDX-License-Identifier: BSD-2-Clause
// Why pages come or go, as far as the state of the thread shows it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/samples.h"

namespace rsslag::profile {

enum class Reason : std::uint8_t {
    PageFault,
    Munmap,  ///< also shmdt
    Madvise,
    Mremap,
    Mmap,  ///< populates, or replaces mappings
    Brk,
    Mlock,
    Exec,
    Fork,
    Exit,
    Truncate,  ///< also fallocate
    Syscall,   ///< another one
    Reclaim,   ///< by any thread
    KernelThread,
    OtherProcess,
    Unknown,
};

/// `pid`: of the mm. `went`: whether pages went. The numbers of system calls are those of x86-64.
Reason reason_of(const core::Sample &sample, int pid, bool went);

/// "page_fault" and so on.
std::string_view name(Reason reason);

}  // namespace rsslag::profile
