// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::system {

/// Opens standard descriptors that are closed. Otherwise the next opened file would get that number, and output would
/// go to it.
void open_standard_descriptors();

/// If rsslag runs with file capabilities (AT_SECURE), removes the variables that libraries read and that the C library
/// does not clear. The environment comes from a user without these capabilities. ncurses reads terminal descriptions
/// from $TERMINFO, $TERMINFO_DIRS and $HOME/.terminfo and does not detect file capabilities.
void remove_unsafe_variables();

/// Restores these variables; for CMD's process, which has no such capabilities.
void restore_variables();

/// Notes which signals are ignored, and ignores SIGPIPE.
void take_over_signals();

/// Whether this signal was ignored when rsslag started, as nohup(1) does it.
bool was_ignored(int signal);

/// Restores what take_over_signals() has noted; for CMD's process.
void restore_signals();

/// Raises RLIMIT_NOFILE to its hard limit; shells usually set 1,024. Each traced process and each CPU's ring takes a
/// descriptor.
void raise_descriptor_limit();

/// Restores RLIMIT_NOFILE; for CMD's process, which may rely on the lower limit (select(2)).
void restore_descriptor_limit();

}  // namespace rsslag::system
