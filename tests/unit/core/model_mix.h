// SPDX-License-Identifier: BSD-2-Clause
// Random work for the tasks of the model.
#pragma once

#include "model_kernel.h"

namespace rsslag::core::test {

struct Mix {
    int threads = 4;          ///< most of a group
    bool storm_only = false;  ///< single-page anon faults and munmap of 2,048 pages, as the benchmark's storm
    bool lifecycle = true;    ///< with new threads, forks, execs, exits
    bool huge_pages = false;
    int groups = 6;  ///< most at a time
};

/// Plans for traced tasks, and for kswapd and an untraced writer; never ends the last traced task.
Planner mixed_work(ModelKernel &kernel, const Mix &mix);

}  // namespace rsslag::core::test
