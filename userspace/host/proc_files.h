// SPDX-License-Identifier: BSD-2-Clause
// What files of /proc/PID say of memory, as one reading takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
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

/// stat, statm and status, as far as they can be read, and the real uid.
std::pair<core::ReaderValues, std::uint32_t> read_readers(const procfs::Process &process);

}  // namespace rsslag::host
