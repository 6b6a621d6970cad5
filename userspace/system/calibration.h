// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/result.h"
#include "core/scheme.h"
#include "probe/snapshot.h"

namespace rsslag::system {

/// Determines which of stat, statm and status are exact on this kernel, by an experiment and never by the version. A
/// child process touches a few pages, too few to cause a flush, and its files are compared with its counters. All are
/// Unknown if no try gave a result.
core::Result<core::Calibration> calibrate(probe::SnapshotProbe &probe, core::Scheme scheme);

}  // namespace rsslag::system
