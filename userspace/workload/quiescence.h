// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "rsslag/core/result.h"

namespace rsslag::workload {

/// A word that one task sets and another waits for (a futex). Within one mm.
struct Signal {
    std::atomic<std::uint32_t> raised{0};

    void raise();
    void await();
};

/// Blocks in a system call without a timeout; touches no memory, whatever signals come.
[[noreturn]] void sleep_forever();

/// Sleeps for one of so many equal parts of a time; not at all where that is none.
void sleep_part(std::chrono::milliseconds whole, std::size_t parts);

/// Returns once each task of `pid` but the caller itself sleeps (state S) or is a zombie. A task that sleeps for ever
/// tells nobody, so this looks until it is so; Kind::Internal when it never is.
core::Status await_sleep(pid_t pid);

}  // namespace rsslag::workload
