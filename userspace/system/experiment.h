// SPDX-License-Identifier: BSD-2-Clause
// Finds out which files of /proc show exact counters on this kernel, without BPF, a child process or a version check.
#pragma once

#include <cstdint>
#include <span>

#include "core/scheme.h"

namespace rsslag::system {

/// Classifies a file by the rss, in pages, that it showed before the first page was touched and after each one. Exact
/// if at least 3/4 of the steps are +1, Flushed if at least 3/4 are 0, else Unknown. Other threads of the process may
/// change the remaining steps. Pure.
core::Truth classify_steps(std::span<const std::int64_t> shown);

/// Touches new pages of the calling process one by one, classifies stat, statm and status, and unmaps the pages.
/// Unknown if new memory is resident without a fault (mlockall) or cannot be mapped.
core::Calibration experiment();

}  // namespace rsslag::system
