// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "rsslag/memory/used.h"

namespace rsslag::memory {

/// Values that do not exist or may not be read stay unknown.
MachineMemory read_machine();

}  // namespace rsslag::memory
