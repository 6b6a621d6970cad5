// SPDX-License-Identifier: BSD-2-Clause
#include "workload/held.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <tuple>
#include <utility>

#include "die.h"
#include "failure.h"

namespace rsslag::workload {

namespace {

core::Error internal(const char *call) {
    core::Error error = failed(call, errno);
    error.kind = core::Kind::Internal;
    return error;
}

}  // namespace

core::Result<Held> Held::start(const std::vector<std::string> &argv) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return internal("pipe");
    core::Fd from(ends[0]);
    const core::Fd to(ends[1]);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) return internal("fork");
    if (pid == 0) {
        std::ignore = die_with(parent);
        if (dup2(to.get(), STDOUT_FILENO) < 0) _exit(1);
        execv("/proc/self/exe", core::pointers_to(argv).data());
        _exit(3);  // as rsslag exits if the machine does not allow something
    }
    return Held(pid, std::move(from));
}

Held::~Held() {
    end(SIGKILL);
}

Held::Held(Held &&other) noexcept : pid_(std::exchange(other.pid_, 0)), from_(std::move(other.from_)) {}

core::Result<bool> Held::await_ready() {
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t got = core::uninterrupted([&] { return read(from_.get(), buffer.data(), buffer.size()); });
        if (got < 0) return internal("read");
        if (got == 0) return false;
        // The facts come in one write(2).
        if (std::string_view(buffer.data(), static_cast<std::size_t>(got)).find('\n') != std::string_view::npos)
            return true;
    }
}

std::optional<int> Held::end(int signal) {
    if (pid_ <= 0) return 0;
    const pid_t pid = std::exchange(pid_, 0);
    if (kill(pid, signal) != 0) return std::nullopt;
    int status = 0;
    core::uninterrupted([&] { return waitpid(pid, &status, 0); });
    return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

}  // namespace rsslag::workload
