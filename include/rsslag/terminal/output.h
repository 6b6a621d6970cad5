// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "rsslag/core/result.h"

namespace rsslag::terminal {

/// Writes all of it to stdout, or to stderr. What keeps output from being written is Kind::Io; fail() takes a reader
/// who closed the pipe, and wanted no more, for no failure.
core::Status print(std::string_view text, int fd = STDOUT_FILENO);

/// Whether it is that: the reader has closed the pipe.
inline bool is_unread(const core::Error &error) {
    return error.kind == core::Kind::Io && error.err == EPIPE;
}

/// One line on stderr, whatever it quotes.
void complain(const std::string &line);

}  // namespace rsslag::terminal
