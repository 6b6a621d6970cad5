// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "rsslag/core/result.h"
#include "rsslag/core/scheme.h"
#include "rsslag/probe/snapshot.h"

namespace rsslag::host {

/// Tells which of stat, statm and status lie on this kernel, by experiment: a child of its own touches a few pages,
/// fewer than would flush, and what the files then say is compared with its counters. Never looked up by version.
core::Result<core::Calibration> calibrate(probe::SnapshotProbe &probe, core::Scheme scheme);

}  // namespace rsslag::host
