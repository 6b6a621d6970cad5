// SPDX-License-Identifier: BSD-2-Clause
#include "crash.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace rsslag::terminal {
namespace {

constexpr std::array<int, 5> kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// A signal handler can reach nothing but what is static.
struct Rescue {
    std::array<char, 256> bytes{};
    std::size_t size = 0;
    termios modes{};
    std::array<struct sigaction, kCrashes.size()> before{};
};
Rescue rescue;

/// Only async-signal-safe calls; the signal then takes its course.
void on_crash(int signal) {
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, rescue.bytes.data(), rescue.size);
    tcsetattr(STDIN_FILENO, TCSANOW, &rescue.modes);
    raise(signal);
}

}  // namespace

void restore_on_crash(const std::string &restore, const termios &modes) {
    rescue.size = std::min(restore.size(), rescue.bytes.size());
    std::memcpy(rescue.bytes.data(), restore.data(), rescue.size);
    rescue.modes = modes;
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (std::size_t i = 0; i < kCrashes.size(); ++i)
        sigaction(kCrashes[i], &action, &rescue.before[i]);
}

void forget_crash() {
    for (std::size_t i = 0; i < kCrashes.size(); ++i)
        sigaction(kCrashes[i], &rescue.before[i], nullptr);
}

}  // namespace rsslag::terminal
