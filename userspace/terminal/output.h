// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "core/fd.h"
#include "core/result.h"

namespace rsslag::terminal {

/// As core::must_stop.
using MustStop = bool (*)();

/// Writes all of the text to stdout or stderr. Kind::Io if that fails; fail() of the command line does not treat a
/// closed pipe as a failure. It waits for the reader; once rsslag must stop, only as long as the reader reads something
/// in each second.
core::Status print(std::string_view text, int fd = STDOUT_FILENO, MustStop must_stop = core::must_stop);
/// The same for another file, such as a FIFO; `name` is for the error.
core::Status print_to(std::string_view name, std::string_view text, int fd, MustStop must_stop = core::must_stop);

/// Kind::Io, with the reason.
core::Error cannot_write(std::string_view name, int err);
/// Returns the error that closing stdout or stderr reports if print() has written to it. Call it when all is written.
core::Status close_output(int fd);

/// Whether the reader has closed the pipe, or rsslag must stop and does not wait for it.
inline bool reader_closed(const core::Error &error) {
    return error.kind == core::Kind::Io && (error.err == EPIPE || error.err == ECANCELED);
}

/// The text that print_error() writes.
std::string error_text(const std::string &line);
/// Writes one line to stderr through core::harmless().
void print_error(const std::string &line);

}  // namespace rsslag::terminal
