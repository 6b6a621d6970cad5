// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::core {

/// "500ms", "2s", "1m", "1h", "1.5s"; a number without a unit is in seconds. Kind::BadInput otherwise. Pure.
Result<std::chrono::milliseconds> parse_duration(std::string_view word);

/// The same; Kind::BadInput below 10 ms, too.
Result<std::chrono::milliseconds> parse_interval(std::string_view word);

}  // namespace rsslag::core
