// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <tuple>

#include "core/fd.h"
#include "core/text.h"
#include "terminal/style.h"

namespace rsslag::terminal {

core::Status print(std::string_view text, int fd) {
    if (const int err = core::write_all(fd, text); err != 0) {
        return core::Error{
            core::Kind::Io,
            fmt::format("cannot write {}: {}", fd == STDERR_FILENO ? "stderr" : "stdout", std::strerror(err)), err, ""};
    }
    return core::success();
}

std::string error_text(const std::string &line) {
    return fmt::format("rsslag: {}\n", core::harmless(line, locale_is_utf8()));
}

void print_error(const std::string &line) {
    // An error of writing stderr cannot be reported.
    std::ignore = print(error_text(line), STDERR_FILENO);
}

}  // namespace rsslag::terminal
