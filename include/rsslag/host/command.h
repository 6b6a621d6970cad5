// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/host/signals.h"
#include "rsslag/procfs/process.h"

namespace rsslag::host {

/// Who runs CMD: the user who called sudo, doas or pkexec, or the user that rsslag itself runs as.
struct Identity {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name, home, shell;
};

/// The user behind sudo (SUDO_UID), doas (DOAS_USER) or pkexec (PKEXEC_UID); nullopt where there is none or rsslag
/// does not run as root. Where they name one that cannot be understood: Kind::BadInput, as root is not who called.
core::Result<std::optional<Identity>> invoking_user();

/// CMD of `rsslag … -- CMD ARG…`. It is forked early, while rsslag still may change users and before rsslag opens
/// anything of its own, then waits for release() right before its exec: probes are in place by then, and no
/// descriptor or capability of rsslag's leaks into it.
class Command {
  public:
    /// `terminal` (-1: none): a terminal that becomes its controlling one and its stdin, stdout and stderr.
    static core::Result<Command> prepare(const std::vector<std::string> &argv, bool as_root, int terminal = -1);

    ~Command();
    Command(Command &&other) noexcept;
    Command &operator=(Command &&) = delete;

    pid_t pid() const { return pid_; }

    /// Lets it exec. Not found: Kind::Gone with err ENOENT, not executable: Kind::Denied; see shell_status().
    core::Status release();

    /// Waits until it ends, at most `timeout` (nullopt: without end), or until `stop` says that rsslag shall end. Its
    /// status as shells give it (128 + N for a signal N), nullopt where it still runs.
    std::optional<int> wait(std::optional<std::chrono::milliseconds> timeout, StopSignals &stop);
    /// Readable when it has ended.
    int end_fd() const { return end_.get(); }

    /// Once it has ended: ru_maxrss of its wait4(2), which includes children that it has waited for.
    std::optional<std::int64_t> max_rss_kb() const { return max_rss_kb_; }
    /// … and the signal that ended it.
    std::optional<int> signal() const { return signal_; }

    /// Asks it to end with TERM. Of another user, where rsslag may not: Kind::Denied, and it runs on.
    core::Status terminate();

  private:
    Command(pid_t pid, procfs::Fd go, procfs::Fd failure);
    /// Of one that has ended.
    std::optional<int> status();

    pid_t pid_;
    procfs::Fd end_;      ///< readable when it has ended
    procfs::Fd go_;       ///< written or closed by us
    procfs::Fd failure_;  ///< errno of a failed exec, or closed by the exec
    std::optional<std::int64_t> max_rss_kb_;
    std::optional<int> signal_;
};

/// 127 for a command that was not found, 126 for one that cannot be executed.
int shell_status(const core::Error &error);

}  // namespace rsslag::host
