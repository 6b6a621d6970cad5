// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rsslag::system {

/// The best guess for a mistyped word. This is the element of `known` that needs the fewest edits (deletions,
/// insertions, replacements, swaps of neighbours) of bytes; of several, the first. It may need at most one edit per
/// three bytes of the word, and at least one is allowed. If there is no such element, the only element that starts with
/// `word` is returned if `word` has at least 3 bytes. nullopt: no guess. Words of less than 2 or more than 64 bytes are
/// ignored.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string> &known);

}  // namespace rsslag::system
