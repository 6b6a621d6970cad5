// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "rsslag/core/result.h"

namespace rsslag::cli {

inline constexpr int kDone = 0;
inline constexpr int kDoesNotHold = 1;  ///< --check or --assert, or output that could not be written
inline constexpr int kBadInput = 2;
inline constexpr int kNotAllowed = 3;       ///< this machine, user or target does not allow it
inline constexpr int kCommandFailed = 125;  ///< with `-- CMD`: rsslag itself failed

int exit_status(core::Kind kind);

/// One line on stderr, what was wrong and what would be right; returns the status to end with.
int fail(const core::Error &error);

}  // namespace rsslag::cli
