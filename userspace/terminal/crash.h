// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rsslag::terminal {

/// From now on a signal of a crash first writes `restore` and sets the terminal's modes back to those of now.
void restore_on_crash(const std::string &restore);
/// Puts the handlers back that were there before.
void forget_crash();

}  // namespace rsslag::terminal
