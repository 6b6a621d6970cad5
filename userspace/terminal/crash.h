// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <termios.h>

#include <string>

namespace rsslag::terminal {

/// From now on a signal of a crash first writes `restore` and sets the terminal's modes.
void restore_on_crash(const std::string &restore, const termios &modes);
/// Puts the handlers back that were there before.
void forget_crash();

}  // namespace rsslag::terminal
