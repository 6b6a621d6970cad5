// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "rsslag/core/units.h"

namespace rsslag::recording {

/// Where a trace hid most: a cache, that nothing needs to be true.
struct Peak {
    std::uint64_t t_ns = 0;  ///< since Header::start_ns
    int pid = 0;
    core::Pages lag;  ///< exact - what stat said; 0: nothing ever lagged
};

}  // namespace rsslag::recording
