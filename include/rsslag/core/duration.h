// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::core {

/// "500ms", "2s", "1m", "1.5s"; a bare number is seconds. Pure.
Result<std::chrono::milliseconds> parse_duration(std::string_view word);

/// A duration of at least 10 ms.
Result<std::chrono::milliseconds> parse_interval(std::string_view word);

}  // namespace rsslag::core
