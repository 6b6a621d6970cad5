// SPDX-License-Identifier: BSD-2-Clause
// The row at the bottom of a screen that names its keys, which can be clicked on.
#pragma once

#include <vector>

#include "live_state.h"

namespace rsslag::screen {

/// Draws the keys that fit into the last row: "q quit  ? help". A click on the name of a key, or on what it does, means
/// the key. Of several names in a part, "s S sort", what they do means the first.
void draw_keys(Grid &grid, const std::vector<Part> &keys, int width, bool utf8);

/// The key that a click of Click::What::Key means.
Key key_of(const Click &click);

}  // namespace rsslag::screen
