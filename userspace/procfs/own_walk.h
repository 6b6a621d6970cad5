// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "core/reading.h"
#include "core/result.h"
#include "procfs/files.h"

namespace rsslag::procfs {

/// A walk of the full smaps by the caller of Snapshotter::take_around().
struct OwnWalk {
    core::Walk walk;
    std::span<const Mapping> mappings;  ///< owned by the caller
};
using WalkHere = std::function<core::Result<OwnWalk>()>;

/// The result of a walk: the sums that smaps or smaps_rollup printed.
core::Walk walk_of(core::WalkFile file, const SmapsFields &sums, std::chrono::nanoseconds took);

}  // namespace rsslag::procfs
