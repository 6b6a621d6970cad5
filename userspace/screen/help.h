// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "documents/grid.h"

namespace rsslag::screen {

/// The help of one screen.
struct Help {
    std::vector<std::string> keys;   ///< "s  sort by the next column", in ASCII; two of at most 28 columns fit into 60
    std::vector<std::string> notes;  ///< lines below the keys; one of a single word is a heading
};

/// Draws the keys in two columns, then the notes, over what the area shows. If the area is too small for all keys, the
/// help begins further up, but not in the first row of the screen.
void draw_help(documents::Grid &grid, documents::Area area, const Help &help);

}  // namespace rsslag::screen
