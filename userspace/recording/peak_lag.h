// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "core/units.h"

namespace rsslag::recording {

/// The largest lag in a trace. Stored for convenience: a replay computes it from the records.
struct PeakLag {
    std::uint64_t t_ns = 0;  ///< since Header::start_ns
    int pid = 0;
    core::Pages lag;  ///< core::lag(); 0: no process ever lagged
};

}  // namespace rsslag::recording
