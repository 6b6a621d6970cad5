// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/fd.h"
#include "core/result.h"

namespace rsslag::workload {

/// A child that runs this program with arguments that make it call hold(). The kernel kills it when the calling thread
/// ends.
class Held {
  public:
    static core::Result<Held> start(const std::vector<std::string> &argv);
    ~Held();
    Held(Held &&other) noexcept;
    Held &operator=(Held &&) = delete;

    pid_t pid() const { return pid_; }

    /// Waits until the workload is ready. False if it ended, and has printed the reason on stderr.
    core::Result<bool> await_ready();

    /// Sends `signal` (0: none), waits for the process and returns its exit status. nullopt: a signal ended the
    /// process; or this process may not send it a signal, and it ends with this process.
    std::optional<int> end(int signal);

  private:
    Held(pid_t pid, core::Fd from) : pid_(pid), from_(std::move(from)) {}

    pid_t pid_;
    core::Fd from_;  ///< its stdout
};

}  // namespace rsslag::workload
