// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rsslag::core {

/// The best guess for a mistyped word: the element of `known` with the fewest edits (deletions, insertions,
/// replacements, swaps of neighbours), but at most a third of the word's bytes or one, the first of equals; else the
/// only element that starts with `word`, if that has at least 3 bytes. Bytes, not characters. nullopt: no guess.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string> &known);

}  // namespace rsslag::core
