// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "rsslag/core/result.h"

namespace rsslag::host {

/// Before files are opened by a command that needs nothing but files: becomes the user who called sudo, doas or pkexec,
/// whose the files are and shall be, and gives up every capability.
core::Status drop_to_invoking_user();

}  // namespace rsslag::host
