// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "core/result.h"
#include "workload/workload.h"

namespace rsslag::workload {

struct HoldOptions {
    /// The process ends with this one. Set again after the exec: an exec that raises capabilities, as root's does,
    /// clears the setting (commit_creds()).
    std::optional<pid_t> parent = std::nullopt;
    /// Ends after this time and prints nothing, because it is CMD of another command and must not disturb its output.
    /// nullopt: prints "ready PID" and the facts, and waits for SIGINT, SIGTERM or SIGHUP.
    std::optional<std::chrono::milliseconds> time = std::nullopt;
};

/// Makes this process one that holds `workload` and little else: names it like the workload, builds the workload up
/// and waits. The error is that of start(), or Kind::Io if stdout cannot be written.
core::Status hold(const Workload &workload, const Options &options, const HoldOptions &how);

}  // namespace rsslag::workload
