// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <termios.h>

#include <string>

namespace rsslag::terminal {

/// From now on a signal that ends the process, such as SIGSEGV, SIGQUIT or SIGALRM, first writes `restore` and sets the
/// terminal's modes. The signal still ends the process.
void restore_at_death(const std::string &restore, const termios &modes);
/// From now on such a signal also removes this file, until keep_at_death(). Remembers two files.
void remove_at_death(const std::string &path);
void keep_at_death();
/// From now on SIGXCPU restores the terminal and removes these files, too. If a timer sent it, rsslag then writes
/// `line` to stderr and ends with this exit status; until forget_deadline().
void end_at_deadline(std::string line, int status);
void forget_deadline();
/// From now on SIGINT, SIGTERM and SIGHUP, unless ignored or blocked, do the same, with this line, which may be empty,
/// and this status.
void end_at_stop(std::string line, int status);
/// Restores the earlier handlers.
void forget_restoring();

}  // namespace rsslag::terminal
