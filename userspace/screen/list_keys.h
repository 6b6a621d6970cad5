// SPDX-License-Identifier: BSD-2-Clause
// Keys that have the same meaning in every list of the screen.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "screen/screen.h"

namespace rsslag::screen {

/// The number of rows by which a key moves the selection; for Home and End it is larger than any list. nullopt: the key
/// does not move the selection.
std::optional<std::int64_t> move_of(const Key &key);

inline constexpr std::string_view kNoFilter = "there is no filter: / enters one";

/// The key with the same meaning that the screens know: ? for F1 and h.
Key known_key(const Key &key);

/// By how many rows n and N move the selection among the matches of a filter; the first one follows the last one.
/// nullopt: another key.
std::optional<std::int64_t> match_move_of(const Key &key, std::size_t selected, std::size_t count);

/// Whether the filter is part of the name (case ignored) or a prefix of the number; an empty filter matches all.
bool matches_filter(std::string_view comm, int number, std::string_view filter);
/// Applies a key to the filter that the user types; returns whether the input ends.
bool edit_filter(std::string &filter, const Key &key);
/// The next longer (`up`) or shorter interval among the steps from 10 ms to one minute.
std::chrono::milliseconds stepped(std::chrono::milliseconds interval, bool up);

}  // namespace rsslag::screen
