// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <termios.h>

#include <string>

namespace rsslag::terminal {

/// From now on a signal that ends the process, such as SIGSEGV, SIGQUIT or SIGALRM, first writes `restore` and sets the
/// terminal's modes. The signal still ends the process.
void restore_at_death(const std::string &restore, const termios &modes);
/// From now on such a signal also removes this file, until keep_at_death().
void remove_at_death(const std::string &path);
void keep_at_death();
/// Restores the earlier handlers.
void forget_restoring();

}  // namespace rsslag::terminal
