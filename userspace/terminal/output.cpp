// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <tuple>

#include "core/fd.h"
#include "core/text.h"
#include "terminal/style.h"

namespace rsslag::terminal {

namespace {

/// Waits until the descriptor takes text. False: rsslag must stop, and for a second it has taken none.
bool takes_text(int fd, MustStop must_stop) {
    constexpr int kLookMs = 50, kLooks = 20;
    for (int looks = 0; looks < kLooks;) {
        pollfd waiting{fd, POLLOUT, 0};
        if (core::uninterrupted([&] { return poll(&waiting, 1, kLookMs); }) != 0) return true;
        if (must_stop != nullptr && must_stop()) ++looks;
    }
    return false;
}

/// Whether a write may wait for a reader.
bool has_reader(int fd) {
    struct stat about {};
    return fstat(fd, &about) != 0 || !S_ISREG(about.st_mode);
}

std::array<std::atomic<bool>, STDERR_FILENO + 1> is_used;

const char *name_of(int fd) {
    return fd == STDERR_FILENO ? "stderr" : "stdout";
}

/// As core::write_all(), but waits for the reader. ECANCELED: see takes_text().
int write_to_reader(int fd, std::string_view text, MustStop must_stop) {
    if (must_stop != nullptr && !has_reader(fd)) must_stop = nullptr;
    // A pipe that takes text takes this much without blocking (pipe_poll() and pipe_write() in fs/pipe.c).
    const std::size_t piece = must_stop == nullptr ? text.size() : PIPE_BUF;
    while (!text.empty()) {
        if (must_stop != nullptr && !takes_text(fd, must_stop)) return ECANCELED;
        std::string_view left = text.substr(0, piece);
        const std::size_t before = left.size();
        const int err = core::write_all(fd, left);
        text.remove_prefix(before - left.size());
        if (err != 0 && err != EAGAIN) return err;
        if (err == EAGAIN && must_stop == nullptr) takes_text(fd, must_stop);
    }
    return 0;
}

}  // namespace

core::Error cannot_write(std::string_view name, int err) {
    return {core::Kind::Io, fmt::format("cannot write {}: {}", core::printable(name), std::strerror(err)), err, ""};
}

core::Status print_to(std::string_view name, std::string_view text, int fd, MustStop must_stop) {
    if (fd == STDOUT_FILENO || fd == STDERR_FILENO) is_used.at(static_cast<std::size_t>(fd)) = true;
    const int err = write_to_reader(fd, text, must_stop);
    return err == 0 ? core::success() : cannot_write(name, err);
}

core::Status print(std::string_view text, int fd, MustStop must_stop) {
    return print_to(name_of(fd), text, fd, must_stop);
}

core::Status close_output(int fd) {
    const int err = is_used.at(static_cast<std::size_t>(fd)) ? core::error_at_close(fd) : 0;
    return err == 0 ? core::success() : cannot_write(name_of(fd), err);
}

std::string error_text(const std::string &line) {
    return fmt::format("rsslag: {}\n", core::harmless(line, locale_is_utf8()));
}

void print_error(const std::string &line) {
    // An error of writing stderr cannot be reported.
    std::ignore = print(error_text(line), STDERR_FILENO);
}

}  // namespace rsslag::terminal
