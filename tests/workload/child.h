// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <functional>

#include "core/fd.h"
#include "core/result.h"
#include "workload/quiescence.h"

namespace rsslag::workload {

using core::Fd;

/// A forked child, and the pipe that it writes its report to. The pipe is close-on-exec in the child.
struct Child {
    pid_t pid = 0;
    Fd report;
};

/// Forks. The child runs `work`, reports the result, and then runs `rest`; it exits if `work` failed. The kernel kills
/// it when the calling thread ends.
core::Result<Child> fork_child(const std::function<core::Status()> &work, void (*rest)() = sleep_forever);

/// The report of a child.
enum class Outcome {
    Done,   ///< `work` succeeded
    Ended,  ///< no report: the child has exec'd or died, which closed the pipe
};
/// Waits for the report. If `work` failed, returns its error.
core::Result<Outcome> await_report(Child &child);

/// fork_child(), then waits until `work` is done and the child sleeps.
core::Result<pid_t> fork_sleeper(const std::function<core::Status()> &work);

}  // namespace rsslag::workload
