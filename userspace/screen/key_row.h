// SPDX-License-Identifier: BSD-2-Clause
// The row at the bottom of a screen that names its keys, which can be clicked on.
#pragma once

#include <vector>

#include "live_state.h"

namespace rsslag::screen {

/// Draws the keys that fit into the last row: "q quit  ? help". A click on the name of a key, or on what it does, means
/// the key. If a part has several names, "s S sort", its text means the first.
void draw_keys(Grid &grid, const std::vector<Part> &keys, int width, bool utf8);

/// The keys while the help is shown, and while the user chooses columns.
std::vector<Part> keys_of_help();
std::vector<Part> keys_of_chooser();

/// The key that a click of Click::What::Key means.
Key key_of(const Click &click);

}  // namespace rsslag::screen
