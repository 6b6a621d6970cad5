// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::host {

/// A process with capabilities of its file (AT_SECURE) has rights that its user lacks, and that user's environment.
/// What libraries would read from it and the C library does not clear itself is put away: ncurses looks for terminal
/// descriptions in $TERMINFO, $TERMINFO_DIRS and $HOME/.terminfo, and cannot tell such a process from a plain one.
void put_environment_away();

/// In CMD's process, which has no such rights: gives it back.
void give_environment_back();

/// Each process that is read, and each CPU's ring, takes a descriptor: from now on as many as the hard limit allows, where
/// shells allow 1,024.
void raise_descriptor_limit();

/// In CMD's process, which may count on the lower one (select(2)): as it was.
void restore_descriptor_limit();

}  // namespace rsslag::host
