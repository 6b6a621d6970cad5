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

/// As core::write_all(), but waits for the reader. ECANCELED: rsslag must stop meanwhile.
int write_to_reader(int fd, std::string_view text) {
    constexpr int kLookMs = 50;
    for (;;) {
        const int err = core::write_all(fd, text);
        if (err != EAGAIN) return err;
        if (core::must_stop && core::must_stop()) return ECANCELED;
        pollfd waiting{fd, POLLOUT, 0};
        core::uninterrupted([&] { return poll(&waiting, 1, kLookMs); });
    }
}

}  // namespace

core::Status print(std::string_view text, int fd) {
    if (const int err = write_to_reader(fd, text); err != 0) {
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
