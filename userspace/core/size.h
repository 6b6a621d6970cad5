// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace rsslag::core {

/// Parses the argument of `option`: 512K, 8M or 1G; a bare number is bytes. Kind::BadInput if it is none of these, or
/// less than `least` or more than `most`, with the remedy `range`. Pure.
Result<std::uint64_t> parse_size(const char *option, const std::string &argument, std::uint64_t least,
                                 std::uint64_t most, const char *range);

}  // namespace rsslag::core
