// SPDX-License-Identifier: BSD-2-Clause
// What terminfo knows of the terminal; apart, as <term.h> makes macros of many plain words.
#pragma once

#include <string>

namespace rsslag::terminal {

/// Whether it is known and can place its cursor.
bool can_be_drawn_on(const char *name, int fd);

/// Leaves the alternate screen, shows the cursor, ends colours and the keypad's own mode. Of the terminal in use.
std::string restoring();

}  // namespace rsslag::terminal
