// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rsslag::core {

/// What was meant by a word that is none of `known`: the one that becomes it by the fewest letters left out, added,
/// replaced or swapped with their neighbour, at most a third of the word's; or the only one that begins with it. The
/// earlier of two that are as near. Bytes, not characters.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string> &known);

}  // namespace rsslag::core
