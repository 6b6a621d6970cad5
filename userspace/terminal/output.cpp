// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/terminal/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <tuple>

#include "rsslag/core/text.h"
#include "rsslag/terminal/style.h"

namespace rsslag::terminal {

core::Status print(std::string_view text, int fd) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        if (errno == EINTR) continue;
        return core::Error{
            core::Kind::Io,
            fmt::format("cannot write {}: {}", fd == STDERR_FILENO ? "stderr" : "stdout", std::strerror(errno)), errno,
            ""};
    }
    return core::success();
}

void print_error(const std::string &line) {
    const std::string text = fmt::format("rsslag: {}\n", core::harmless(line, locale_is_utf8()));
    // An error of writing stderr cannot be reported.
    std::ignore = print(text, STDERR_FILENO);
}

}  // namespace rsslag::terminal
