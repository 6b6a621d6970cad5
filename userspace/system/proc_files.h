// SPDX-License-Identifier: BSD-2-Clause
// Reads the files of /proc/PID that show memory, for one reading.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/reading.h"
#include "core/reconcile.h"
#include "procfs/process.h"

namespace rsslag::system {

/// The result of a walk.
struct Walked {
    core::WalkState state = core::WalkState::Skipped;
    std::optional<core::Walk> walk;         ///< only if Done
    std::vector<procfs::Mapping> mappings;  ///< of walk_smaps(), as evidence
};

/// Reads smaps.
Walked walk_smaps(const procfs::Process &process);
/// Reads smaps_rollup, or smaps if smaps_rollup does not exist or cannot be parsed, as may happen up to 6.2.
Walked walk_any(const procfs::Process &process);

/// The values of the files that show counters: stat, statm and status.
struct Counted {
    core::ReaderValues readers;                ///< as far as they can be read
    std::optional<core::ReaderValues> living;  ///< those of a living thread, if the main thread has ended
    std::uint32_t uid = 0;                     ///< real
    std::optional<core::Kilobytes> hugetlb;    ///< not part of RSS in any of these files
};
Counted read_counted(const procfs::Process &process);

}  // namespace rsslag::system
