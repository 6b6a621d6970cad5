// SPDX-License-Identifier: BSD-2-Clause
// Access to terminfo, in a separate file because <term.h> defines many common words as macros.
#pragma once

#include <string>

namespace rsslag::terminal {

/// Whether terminfo has an entry of this name, and the terminal can position its cursor.
bool can_be_drawn_on(const char *name, int fd);

/// The sequences that leave the alternate screen, show the cursor and end colours, keypad mode and, if `mouse`, reports
/// of clicks, for the current terminal.
std::string restoring(bool mouse);

}  // namespace rsslag::terminal
