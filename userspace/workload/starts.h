// SPDX-License-Identifier: BSD-2-Clause
// The functions in registry.cpp's table; each has the contract of Workload::start.
#pragma once

#include "sizes.h"

namespace rsslag::workload {

using Started = core::Result<Facts>;

// threads.cpp
Started start_classic(const Options &given);
Started start_few_pages(const Options &given);
Started start_many_threads(const Options &given);
Started start_single(const Options &given);
// per_cpu.cpp
Started start_per_cpu(const Options &given);
// busy.cpp
Started start_busy(const Options &given);
Started start_storm(const Options &given);

}  // namespace rsslag::workload
