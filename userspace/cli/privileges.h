// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include <sys/capability.h>

#include "rsslag/core/result.h"

namespace rsslag::cli {

/// Gives up every capability but those in `keep` that it has, in all sets, for good.
core::Status keep_only(std::span<const cap_value_t> keep);

}  // namespace rsslag::cli
