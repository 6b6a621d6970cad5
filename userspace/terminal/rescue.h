// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <termios.h>

#include <string>

namespace rsslag::terminal {

/// From now on a signal that ends the process, be it a crash, Ctrl-\ or an alarm, first writes `restore` and sets the
/// terminal's modes. The process still dies of it.
void restore_at_death(const std::string &restore, const termios &modes);
/// Such a death takes this file away, too, until keep_at_death().
void remove_at_death(const std::string &path);
void keep_at_death();
/// Puts the handlers back that were there before.
void forget_restoring();

}  // namespace rsslag::terminal
