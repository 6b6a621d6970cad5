// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rsslag::analysis {

/// One line about a missing part of a recording. Times are since the attach; `to_ns` nullopt: until the end.
std::string missing_text(const std::string &reason, std::uint64_t from_ns, std::optional<std::uint64_t> to_ns,
                         std::optional<std::uint64_t> records);

}  // namespace rsslag::analysis
