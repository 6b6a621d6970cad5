// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/result.h"

namespace rsslag::system {

/// Becomes invoking_user(), if there is one, and drops all capabilities. Commands that only read and write files call
/// it before they open the first one. Errors as invoking_user(); Kind::Denied if the user cannot be changed,
/// Kind::Internal if capabilities cannot be dropped.
core::Status drop_to_invoking_user();

}  // namespace rsslag::system
