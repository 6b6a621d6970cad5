// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/result.h"

namespace rsslag::workload {

/// A flag that one task sets and another waits for, within one mm (a futex).
struct Signal {
    std::atomic<std::uint32_t> raised{0};

    void raise();
    void await();
};

/// Blocks in a system call without a timeout and touches no memory, even if signals come.
[[noreturn]] void sleep_forever();

/// Sleeps for `whole` / `parts`.
void sleep_part(std::chrono::milliseconds whole, std::size_t parts);

/// Returns when each task of `pid` except the caller sleeps (state S) or is a zombie. Polls, since there is no
/// notification. Kind::Internal if a task does not sleep within two minutes.
core::Status await_sleep(pid_t pid);

}  // namespace rsslag::workload
