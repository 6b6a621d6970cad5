// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "core/process_reading.h"
#include "core/result.h"

namespace rsslag::cli {

inline constexpr int kDone = 0;
inline constexpr int kDoesNotHold = 1;  ///< --check or --assert does not hold, or output could not be written
inline constexpr int kBadInput = 2;
inline constexpr int kNotAllowed = 3;       ///< this machine, user or target does not allow it
inline constexpr int kCommandFailed = 125;  ///< with `-- CMD`: rsslag itself failed

/// The exit status for an error of this kind.
int exit_status(core::Kind kind);

/// Prints the error and its remedy as one line on stderr and returns the exit status. If the error is that the reader
/// closed the pipe, prints nothing and returns kDone.
int fail(const core::Error &error);

/// Prints the text to stdout and returns kDone, or else what fail() returns.
int print(const std::string &text);

/// One line about processes that match a pattern but could not be read: their number and PIDs, and the first reason.
std::string unread_text(const std::vector<core::FailedTarget> &unread);

}  // namespace rsslag::cli
