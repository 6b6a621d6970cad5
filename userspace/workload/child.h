// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <functional>

#include "quiescence.h"
#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"

namespace rsslag::workload {

using core::Fd;

/// A forked child, and the pipe by which it is heard. The pipe is close-on-exec in the child.
struct Child {
    pid_t pid = 0;
    Fd report;
};

/// Forks. The child is killed when this process ends. It does `work`, reports how that went, and then does `rest`; a
/// child whose work failed exits.
core::Result<Child> fork_child(const std::function<core::Status()> &work, void (*rest)() = sleep_forever);

/// What is heard of it, waited for.
enum class Heard {
    Done,   ///< its work went well
    Ended,  ///< nothing: it has exec'd, or died, and the pipe is closed
};
core::Result<Heard> hear(Child &child);

/// fork_child() and then: done, and asleep.
core::Result<pid_t> fork_sleeper(const std::function<core::Status()> &work);

/// This process dies when `parent`'s thread that made it ends, or has ended by now.
core::Status die_with(pid_t parent);

}  // namespace rsslag::workload
