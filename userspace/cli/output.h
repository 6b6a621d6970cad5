// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::cli {

/// Writes all of it to stdout. A reader that closed its pipe ends the program quietly with status 0, as it wanted no
/// more; anything else that keeps output from being written is Kind::Io.
core::Status print(std::string_view text);

}  // namespace rsslag::cli
