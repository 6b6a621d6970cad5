// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "procfs/process.h"
#include "system/signals.h"

namespace rsslag::system {

/// The user that CMD runs as.
struct Identity {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name, home, shell;
};

/// The user who called sudo (SUDO_UID), doas (DOAS_USER) or pkexec (PKEXEC_UID); nullopt if none of these variables is
/// set, the user is root, or rsslag does not run as root. Kind::BadInput if a variable is malformed or DOAS_USER does
/// not exist: CMD must not run as root then.
core::Result<std::optional<Identity>> invoking_user();

/// CMD of `rsslag … -- CMD ARG…`. prepare() forks early, while rsslag may still change users and before it opens files,
/// so that the child inherits no descriptor or capability. The child waits right before its exec until release(), which
/// is called when the probes are attached.
class Command {
  public:
    /// Forks. CMD will run as invoking_user() unless `as_root`. `terminal`: descriptor of the terminal that becomes
    /// CMD's controlling terminal, stdin, stdout and, if stderr is a terminal now, stderr; -1: none. Errors as
    /// invoking_user(); Kind::Internal if a system call fails.
    static core::Result<Command> prepare(const std::vector<std::string> &argv, bool as_root, int terminal = -1);

    ~Command();
    Command(Command &&other) noexcept;
    Command &operator=(Command &&) = delete;

    pid_t pid() const { return pid_; }

    /// Starts the exec of CMD and waits for its result. Kind::Gone with err ENOENT if CMD is not found, Kind::Denied if
    /// it cannot be executed; see shell_status().
    core::Status release();

    /// Waits until CMD ends or `stop` requests a stop, at most for `timeout` (nullopt: no limit). Returns CMD's exit
    /// status as shells do (128 + N for a signal N), or 125 if wait4(2) fails; nullopt: CMD still runs.
    std::optional<int> wait(std::optional<std::chrono::milliseconds> timeout, StopSignals &stop);
    /// A pidfd: readable once CMD has ended.
    int end_fd() const { return end_.get(); }

    /// ru_maxrss of CMD's wait4(2), kB; includes children that CMD has waited for. nullopt before CMD has ended.
    std::optional<std::int64_t> max_rss_kb() const { return max_rss_kb_; }
    /// The signal that ended CMD; nullopt: none, or CMD still runs.
    std::optional<int> signal() const { return signal_; }

    /// Sends SIGTERM. Kind::Denied if CMD belongs to another user that rsslag may not signal.
    core::Status terminate();

  private:
    Command(std::string name, pid_t pid, procfs::Fd go, procfs::Fd failure);
    /// Reaps CMD, which has ended.
    std::optional<int> status();

    std::string name_;  ///< as typed
    pid_t pid_;
    procfs::Fd end_;      ///< pidfd
    procfs::Fd go_;       ///< a byte written here releases CMD; closing it ends CMD before its exec
    procfs::Fd failure_;  ///< CMD writes the errno of a failed exec; closed by the exec
    std::optional<std::int64_t> max_rss_kb_;
    std::optional<int> signal_;
};

/// Exit status for an error of release(): 127 if the command was not found, 126 if it cannot be executed.
int shell_status(const core::Error &error);

}  // namespace rsslag::system
