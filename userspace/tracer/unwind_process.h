// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "core/fd.h"
#include "core/result.h"
#include "recording/bytes.h"
#include "unwinder.h"

namespace rsslag::tracer {

/// An Unwinder in a process of its own. It reads the files of traced processes with libelf and libdw, so a file that
/// makes them fail does not end the trace. It has no capability except to read files of other users, and no descriptor
/// except the connection and /proc/kallsyms.
class UnwindProcess {
  public:
    /// Forks. Must be called before this process starts a thread. Kind::Io.
    static core::Result<UnwindProcess> start(const core::SampleOptions &options);
    UnwindProcess(UnwindProcess &&other) noexcept;
    UnwindProcess &operator=(UnwindProcess &&) = delete;
    /// Ends the process.
    ~UnwindProcess();

    pid_t pid() const { return pid_; }
    /// Waits for the answer. If the process has ended or does not answer for two minutes: all stacks are
    /// StackEnd::Dropped, and so are those of later batches.
    Unwinder::Result unwound(const Unwinder::Batch &batch);

  private:
    UnwindProcess(pid_t pid, core::Fd connection) : pid_(pid), connection_(std::move(connection)) {}

    pid_t pid_;
    core::Fd connection_;  ///< closed: the process has failed
};

/// The form in which the two processes exchange data. A batch is trusted, a result is not.
recording::Bytes encoded(const Unwinder::Batch &batch);
Unwinder::Batch batch_of(recording::ByteReader in);
recording::Bytes encoded(const Unwinder::Result &result);
/// nullopt: it is not the result of this batch.
std::optional<Unwinder::Result> result_of(recording::ByteReader in, const Unwinder::Batch &batch);

}  // namespace rsslag::tracer
