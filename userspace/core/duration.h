// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <string_view>

#include "core/result.h"

namespace rsslag::core {

/// Parses "500ms", "2s", "1m", "1h" or "1.5s"; a number without a unit is in seconds. At most 1e12 ms. Kind::BadInput
/// otherwise. Pure.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// As parse_duration(); Kind::BadInput also below 10 ms.
Result<std::chrono::milliseconds> parse_interval(std::string_view text);

}  // namespace rsslag::core
