// SPDX-License-Identifier: BSD-2-Clause
#include "rescue.h"

#include <fcntl.h>
#include <pthread.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

namespace rsslag::terminal {
namespace {

/// Signals whose default action does not end the process, and signals that cannot be caught.
constexpr std::array kSpared{SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG, SIGWINCH};

constexpr std::array kStops{SIGINT, SIGTERM, SIGHUP};

/// How rsslag ends after a signal.
struct Ending {
    std::string line;  ///< written to stderr
    int status = 0;    ///< the exit status
    std::atomic<bool> set = false;

    void set_to(std::string last_line, int exit_status) {
        line = std::move(last_line);
        status = exit_status;
        set = true;
    }
};

/// Static: a signal handler has no other state.
struct Rescue {
    std::array<char, 256> bytes{};
    std::size_t size = 0;
    termios modes{};
    int nowhere = -1;  ///< /dev/null
    std::array<struct sigaction, NSIG> before{};
    std::array<bool, NSIG> caught{};
    std::array<std::array<char, PATH_MAX>, 4> paths{};
    std::atomic<std::size_t> removed = 0;  ///< the number of paths in use
    std::atomic<bool> drawn = false;       ///< the terminal is to be restored
    Ending deadline, stop;
    struct sigaction before_deadline {};
};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free);
Rescue rescue;

/// A background process must not touch the terminal: that would stop it (SIGTTOU). Without job control it may.
bool is_ours() {
    const pid_t front = tcgetpgrp(STDIN_FILENO);
    return front < 0 || front == getpgrp();
}

/// Redirects stdout to /dev/null, so that other threads draw no more; a write in progress goes first.
void restore_terminal() {
    const int other = rescue.nowhere < 0 ? -1 : dup(STDOUT_FILENO);
    if (other >= 0) dup2(rescue.nowhere, STDOUT_FILENO);
    const int terminal = other >= 0 ? other : STDOUT_FILENO;
    // Resume output after Ctrl-S: TCOON undoes only a TCOOFF (drivers/tty/tty_ioctl.c).
    tcflow(terminal, TCOOFF);
    tcflow(terminal, TCOON);
    [[maybe_unused]] const ssize_t written = write(terminal, rescue.bytes.data(), rescue.size);
    tcsetattr(STDIN_FILENO, TCSANOW, &rescue.modes);
}

void unblock(int signal) {
    sigset_t just_this;
    sigemptyset(&just_this);
    sigaddset(&just_this, signal);
    pthread_sigmask(SIG_UNBLOCK, &just_this, nullptr);
}

/// Makes only async-signal-safe calls. The raised signal is delivered again, with its default action.
void on_death(int signal, siginfo_t *info, void * /*context*/) {
    if (rescue.drawn && is_ours()) restore_terminal();
    for (std::size_t i = 0; i < rescue.removed; ++i)
        unlink(rescue.paths[i].data());
    const bool deadline = signal == SIGXCPU && info->si_code == SI_TIMER;
    const bool stop = std::find(kStops.begin(), kStops.end(), signal) != kStops.end();
    if ((deadline && rescue.deadline.set) || (stop && rescue.stop.set)) {
        const Ending &ending = deadline ? rescue.deadline : rescue.stop;
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, ending.line.data(), ending.line.size());
        _exit(ending.status);
    }
    raise(signal);
    unblock(signal);
}

struct sigaction rescuing() {
    struct sigaction action {};
    action.sa_sigaction = on_death;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_SIGINFO;
    sigfillset(&action.sa_mask);
    return action;
}

}  // namespace

void restore_at_death(const std::string &restore, const termios &modes) {
    rescue.size = std::min(restore.size(), rescue.bytes.size());
    std::memcpy(rescue.bytes.data(), restore.data(), rescue.size);
    rescue.modes = modes;
    rescue.nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    rescue.drawn = true;
    const struct sigaction action = rescuing();
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction &before = rescue.before[static_cast<std::size_t>(signal)];
        const bool spared = std::find(kSpared.begin(), kSpared.end(), signal) != kSpared.end();
        // sigaction() fails for signals that the C library reserves; an ignored signal ends nothing.
        if (spared || sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
        rescue.caught[static_cast<std::size_t>(signal)] = sigaction(signal, &action, nullptr) == 0;
    }
}

void remove_at_death(const std::string &path) {
    const std::size_t place = rescue.removed;
    if (place == rescue.paths.size() || path.size() >= rescue.paths[place].size()) return;
    std::memcpy(rescue.paths[place].data(), path.c_str(), path.size() + 1);
    rescue.removed = place + 1;
}

void keep_at_death() {
    rescue.removed = 0;
}

void end_at_deadline(std::string line, int status) {
    rescue.deadline.set_to(std::move(line), status);
    const struct sigaction action = rescuing();
    sigaction(SIGXCPU, &action, &rescue.before_deadline);
    unblock(SIGXCPU);
}

void forget_deadline() {
    if (rescue.deadline.set.exchange(false)) sigaction(SIGXCPU, &rescue.before_deadline, nullptr);
}

void end_at_stop(std::string line, int status) {
    rescue.stop.set_to(std::move(line), status);
    const struct sigaction action = rescuing();
    for (const int signal : kStops) {
        struct sigaction before {};
        if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
        sigaction(signal, &action, nullptr);
        unblock(signal);
    }
}

void forget_restoring() {
    rescue.drawn = false;
    for (int signal = 1; signal < NSIG; ++signal) {
        bool &caught = rescue.caught[static_cast<std::size_t>(signal)];
        if (std::exchange(caught, false)) sigaction(signal, &rescue.before[static_cast<std::size_t>(signal)], nullptr);
    }
    if (rescue.nowhere >= 0) close(std::exchange(rescue.nowhere, -1));
}

}  // namespace rsslag::terminal
