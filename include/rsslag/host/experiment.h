// SPDX-License-Identifier: BSD-2-Clause
// Which files of /proc show exact counters on this kernel, told without BPF, without a child and without a version.
#pragma once

#include <cstdint>
#include <span>

#include "rsslag/core/scheme.h"

namespace rsslag::host {

/// What a reader showed before a page was touched, and after each further one. Exact ones follow step by step, flushed
/// ones stand still up to a flush; other threads of the process may add to some steps. Unknown where most are neither.
/// Pure.
core::Truth classify_steps(std::span<const std::int64_t> shown);

/// Touches some pages of its own, which it gives back. Unknown where memory comes touched
/// (mlockall) or cannot be had.
core::Calibration experiment();

}  // namespace rsslag::host
