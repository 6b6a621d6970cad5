// SPDX-License-Identifier: BSD-2-Clause
// What files of /proc/PID say of memory, as one reading takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rsslag/core/reading.h"
#include "rsslag/core/reconcile.h"
#include "rsslag/procfs/process.h"

namespace rsslag::host {

/// What a walk brings along: the sums, and with full smaps the mappings, which are evidence.
struct Walked {
    core::WalkState state = core::WalkState::Skipped;
    std::optional<core::Walk> walk;
    std::vector<procfs::Mapping> mappings;
};

Walked walk_smaps(const procfs::Process &process);
/// smaps_rollup, or smaps: up to 6.2 the first may be missing or useless where the other is not.
Walked walk_any(const procfs::Process &process);

/// What the files that count say.
struct Counted {
    core::ReaderValues readers;                ///< stat, statm and status of the process, as far as they can be read
    std::optional<core::ReaderValues> living;  ///< … of a thread that goes on, where its main thread has ended
    std::uint32_t uid = 0;                     ///< real
    std::optional<core::Kilobytes> hugetlb;    ///< which none of them counts
};
Counted read_counted(const procfs::Process &process);

}  // namespace rsslag::host
