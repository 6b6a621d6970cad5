// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "rsslag/core/reading.h"
#include "rsslag/core/result.h"
#include "rsslag/procfs/files.h"

namespace rsslag::procfs {

/// A walk of the caller's own, through the full smaps.
struct OwnWalk {
    core::Walk walk;
    std::span<const Mapping> mappings;  ///< stay the caller's
};
using WalkHere = std::function<core::Result<OwnWalk>()>;

/// What a file that walks the page tables has summed up.
core::Walk walk_of(core::WalkFile file, const SmapsFields &sums, std::chrono::nanoseconds took);

}  // namespace rsslag::procfs
