// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::system {

/// The factor for limits of CPU time: 1 unless this machine is far slower than the one on which they were measured. The
/// call takes about 2 ms on the latter.
double slowness();

}  // namespace rsslag::system
