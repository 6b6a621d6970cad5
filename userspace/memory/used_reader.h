// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "memory/used.h"

namespace rsslag::memory {

/// Reads all of MachineMemory. Values that do not exist or cannot be read stay nullopt.
MachineMemory read_machine();

}  // namespace rsslag::memory
