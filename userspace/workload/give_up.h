// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "rsslag/core/result.h"

namespace rsslag::workload {

/// start() has long returned when one of its threads fails: a target that has quietly stopped being busy would be a
/// lie, so the process ends and says why.
[[noreturn]] void give_up(const core::Error &error);

}  // namespace rsslag::workload
