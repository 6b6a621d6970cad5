// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rsslag::trace {

/// One line: what is not there of a recording, and when it was; times since the attach, `to_ns` nullopt: its end.
std::string missing_text(const std::string &reason, std::uint64_t from_ns, std::optional<std::uint64_t> to_ns,
                         std::optional<std::uint64_t> records);

}  // namespace rsslag::trace
