// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::system {

/// What limits of CPU time are multiplied by: 1 unless this machine is far slower than the one that they were measured
/// on. Takes about 2 ms there.
double slowness();

}  // namespace rsslag::system
