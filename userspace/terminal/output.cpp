// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/output.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <tuple>

#include "core/fd.h"
#include "core/text.h"
#include "terminal/style.h"

namespace rsslag::terminal {

namespace {

/// As core::write_all(), but waits for the reader. ECANCELED: `stop` has become readable meanwhile.
int write_to_reader(int fd, std::string_view text, int stop) {
    for (;;) {
        const int err = core::write_all(fd, text);
        if (err != EAGAIN) return err;
        std::array<pollfd, 2> waiting{{{fd, POLLOUT, 0}, {stop, POLLIN, 0}}};  // poll() ignores a negative one
        core::uninterrupted([&] { return poll(waiting.data(), waiting.size(), -1); });
        if (waiting[1].revents != 0) return ECANCELED;
    }
}

}  // namespace

core::Status print(std::string_view text, int fd, int stop) {
    if (const int err = write_to_reader(fd, text, stop); err != 0) {
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
