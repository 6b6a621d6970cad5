// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "rsslag/memory/used.h"

namespace rsslag::memory {

/// What may not be read, or is not there, stays unknown.
MachineMemory read_machine();

}  // namespace rsslag::memory
