// SPDX-License-Identifier: BSD-2-Clause
#include "system/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pwd.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "system/environment.h"
#include "system/privileges.h"

namespace rsslag::system {
namespace {

using core::Error;
using core::Kind;

Identity identity_of(const passwd &entry) {
    return {entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir, entry.pw_shell};
}

/// The id in an environment variable; nullopt if it is not set, Kind::BadInput if it is malformed.
core::Result<std::optional<uid_t>> id_from(const char *name) {
    const char *const text = std::getenv(name);
    if (text == nullptr) return std::optional<uid_t>{};
    uid_t id = 0;
    const std::string_view digits(text);
    const auto [after, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    if (error == std::errc{} && after == digits.data() + digits.size()) return std::optional(id);
    return Error{Kind::BadInput, fmt::format("the environment variable {} is not a user or group ID", name), 0,
                 fmt::format("unset {}", name)};
}

/// The user with this number, which need not exist in the user database.
Identity identity_of(uid_t uid, gid_t gid) {
    if (const passwd *const entry = getpwuid(uid)) return identity_of(*entry);
    return {uid, gid, "", "/", "/bin/sh"};
}

/// In the child: becomes the invoking user. setuid() must be last, as it gives up the capabilities that the other steps
/// need.
bool become(const Identity &user) {
    const bool grouped =
        user.name.empty() ? setgroups(1, &user.gid) == 0 : initgroups(user.name.c_str(), user.gid) == 0;
    if (!grouped || setgid(user.gid) != 0 || setuid(user.uid) != 0) return false;
    setenv("HOME", user.home.c_str(), 1);
    setenv("USER", user.name.c_str(), 1);
    setenv("LOGNAME", user.name.c_str(), 1);
    setenv("SHELL", user.shell.c_str(), 1);
    return true;
}

/// In the child: drops all capabilities, so that none passes the exec. Not for root, to whom exec gives all of them.
bool leave_capabilities_behind() {
    if (getuid() == 0) return true;
    return static_cast<bool>(keep_only({}));
}

/// In the child: starts a session with this controlling terminal. Keeps stderr if that is not a terminal.
void take_terminal(int terminal) {
    setsid();
    ioctl(terminal, TIOCSCTTY, 0);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fd != STDERR_FILENO || isatty(fd) == 1) dup2(terminal, fd);
    }
}

[[noreturn]] void run(const std::vector<std::string> &argv, const std::optional<Identity> &user, int go, int failure,
                      int terminal) {
    if (terminal >= 0) take_terminal(terminal);
    char byte = 0;
    if (core::uninterrupted([&] { return read(go, &byte, 1); }) != 1) _exit(0);  // rsslag failed before release()
    restore_signals();
    const std::vector<char *> arguments = core::pointers_to(argv);
    restore_variables();
    restore_descriptor_limit();
    int err = EPERM;
    if ((!user || become(*user)) && leave_capabilities_behind()) {
        execvp(arguments[0], arguments.data());
        err = errno;
    }
    const ssize_t reported = write(failure, &err, sizeof(err));
    _exit(reported == sizeof(err) ? 127 : 126);
}

Error system_error(const char *what) {
    return {Kind::Internal, fmt::format("{}: {}", what, std::strerror(errno)), errno, ""};
}

}  // namespace

core::Result<std::optional<Identity>> invoking_user() {
    using Found = std::optional<Identity>;
    if (getuid() != 0) return Found{};
    for (const auto &[uid_name, gid_name] :
         {std::pair{"SUDO_UID", "SUDO_GID"}, std::pair{"PKEXEC_UID", "PKEXEC_UID"}}) {
        const auto uid = id_from(uid_name);
        if (!uid) return uid.error();
        if (!*uid) continue;
        const auto gid = id_from(gid_name);
        if (!gid) return gid.error();
        return **uid == 0 ? Found{} : Found{identity_of(**uid, gid->value_or(**uid))};
    }
    const char *const doas = std::getenv("DOAS_USER");
    if (doas == nullptr) return Found{};
    const passwd *const entry = getpwnam(doas);
    if (entry == nullptr) {
        return Error{Kind::BadInput, fmt::format("DOAS_USER names no user: '{}'", core::printable(doas)), 0,
                     "unset DOAS_USER"};
    }
    return entry->pw_uid == 0 ? Found{} : Found{identity_of(*entry)};
}

core::Result<Command> Command::prepare(const std::vector<std::string> &argv, bool as_root, int terminal) {
    const auto user = as_root ? core::Result<std::optional<Identity>>(std::nullopt) : invoking_user();
    if (!user) return user.error();
    int go[2];
    int failure[2];
    if (pipe2(go, O_CLOEXEC) != 0) return system_error("cannot create a pipe");
    procfs::Fd go_read(go[0]);
    procfs::Fd go_write(go[1]);
    if (pipe2(failure, O_CLOEXEC) != 0) return system_error("cannot create a pipe");
    procfs::Fd failure_read(failure[0]);
    procfs::Fd failure_write(failure[1]);
    const pid_t pid = fork();
    if (pid < 0) return system_error("cannot fork");
    if (pid == 0) {
        go_write = procfs::Fd();
        run(argv, *user, go_read.get(), failure_write.get(), terminal);
    }
    Command command(argv.front(), pid, std::move(go_write), std::move(failure_read));
    // Now and not in wait(): without a pidfd CMD must not be started, as its end would go unnoticed.
    command.end_ = procfs::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!command.end_.open()) return system_error("cannot watch the command");
    return command;
}

Command::Command(std::string name, pid_t pid, procfs::Fd go, procfs::Fd failure)
    : name_(std::move(name)), pid_(pid), go_(std::move(go)), failure_(std::move(failure)) {}

Command::Command(Command &&other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, 0)),
      end_(std::move(other.end_)),
      go_(std::move(other.go_)),
      failure_(std::move(other.failure_)) {}

Command::~Command() {
    if (pid_ <= 0 || !go_.open()) return;  // released: it runs on
    go_ = procfs::Fd();
    waitpid(pid_, nullptr, 0);
}

core::Status Command::release() {
    const char byte = 1;
    if (write(go_.get(), &byte, 1) != 1) return system_error("cannot start the command");
    go_ = procfs::Fd();
    int err = 0;
    if (core::uninterrupted([&] { return read(failure_.get(), &err, sizeof(err)); }) != sizeof(err))
        return core::success();
    waitpid(pid_, nullptr, 0);
    return Error{err == ENOENT ? Kind::Gone : Kind::Denied,
                 fmt::format("cannot run '{}': {}", core::printable(name_), std::strerror(err)), err, ""};
}

std::optional<int> Command::status() {
    int status = 0;
    rusage usage{};
    const pid_t ended = core::uninterrupted([&] { return wait4(pid_, &status, 0, &usage); });
    constexpr int kUnknown = 125;  // as when rsslag itself fails, so not 0
    if (ended != pid_) return kUnknown;
    max_rss_kb_ = usage.ru_maxrss;
    if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<int> Command::wait(std::optional<std::chrono::milliseconds> timeout, StopSignals &stop) {
    std::array<pollfd, 2> waiting{{{end_.get(), POLLIN, 0}, {stop.fd(), POLLIN, 0}}};
    const auto deadline = std::chrono::steady_clock::now() + timeout.value_or(std::chrono::milliseconds{});
    for (;;) {
        int left = -1;
        if (timeout) {
            const auto rest = deadline - std::chrono::steady_clock::now();
            left =
                static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(rest).count()));
        }
        const int ready = poll(waiting.data(), waiting.size(), left);
        if (ready == 0 || (waiting[1].revents != 0 && stop.stop_requested())) return std::nullopt;
        if (ready < 0 || waiting[0].revents == 0) continue;
        return status();
    }
}

core::Status Command::terminate() {
    if (kill(pid_, SIGTERM) == 0 || errno == ESRCH) return core::success();
    return Error{Kind::Denied, fmt::format("cannot terminate the command: {}", std::strerror(errno)), errno, ""};
}

int shell_status(const core::Error &error) {
    return error.err == ENOENT ? 127 : 126;
}

}  // namespace rsslag::system
