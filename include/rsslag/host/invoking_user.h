// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "rsslag/core/result.h"

namespace rsslag::host {

/// Becomes the user who called sudo, doas or pkexec, if any, and drops all capabilities. For commands that only read
/// and write files, before they open the first one. Kind::BadInput as invoking_user(), Kind::Denied.
core::Status drop_to_invoking_user();

}  // namespace rsslag::host
