// SPDX-License-Identifier: BSD-2-Clause
// What keys do in every list of the screen.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rsslag/view/screen.h"

namespace rsslag::view {

/// By how many rows a key moves the selection, further than any list to its ends; nullopt: it moves nothing.
std::optional<std::int64_t> move_of(const Key &key);

/// By name, whatever its case, or by the first digits of the number; an empty filter lets all through.
bool matches_filter(std::string_view comm, int number, std::string_view filter);
/// What a key does to a filter that is being typed; whether that ends it.
bool edit_filter(std::string &filter, const Key &key);
/// The next step on the ladder from 10 ms to a minute.
std::chrono::milliseconds stepped(std::chrono::milliseconds interval, bool up);

}  // namespace rsslag::view
