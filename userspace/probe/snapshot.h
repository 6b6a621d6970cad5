// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "core/reading.h"
#include "core/result.h"
#include "probe/traits.h"

namespace rsslag::probe {

/// Reads exact counters with a BPF iter/task program, in O(tasks + CPUs), without a stream of records and without a
/// walk. Every read needs CAP_BPF and CAP_PERFMON, not only open().
class SnapshotProbe {
  public:
    /// Loads the program for the kernel's scheme; with `totals` also the one for read_all(). Kind::Unsupported for an
    /// unknown layout, which the message names, or a kernel without the iterator. Kind::Denied, with the whole remedy,
    /// if the kernel refuses this user.
    static core::Result<SnapshotProbe> open(const KernelTraits &traits, const core::Machine &machine,
                                            bool totals = false);

    ~SnapshotProbe();
    SnapshotProbe(SnapshotProbe &&) noexcept;
    SnapshotProbe &operator=(SnapshotProbe &&) noexcept;

    /// One pass over the tasks of thread group `tgid`, a PID in rsslag's own PID namespace. If mm_users is larger than
    /// the number of tasks found, a second pass over all tasks also finds those of other groups that share the mm.
    /// Kind::Gone if the group has no mm: it has ended, is a zombie, or is a kernel thread.
    core::Result<core::CounterReading> read(pid_t tgid);

    /// Reads every process that has an mm, ascending by host TGID, in one pass over all tasks. For thread groups that
    /// share an mm, each entry contains the whole mm. Requires open() with `totals`.
    core::Result<std::vector<core::ProcessTotal>> read_all();

  private:
    struct State;
    explicit SnapshotProbe(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::probe
