// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "rsslag/core/reading.h"
#include "rsslag/core/result.h"
#include "rsslag/probe/traits.h"

namespace rsslag::probe {

/// Reads exact counters through an iter/task program: no event stream, no page-table walk, O(tasks + CPUs).
/// Needs CAP_BPF and CAP_PERFMON for as long as it reads.
class SnapshotProbe {
  public:
    /// Loads the one program that fits the kernel's scheme. Kind::Unsupported for an unknown layout (named) or a
    /// kernel without the iterator, Kind::Denied where the kernel refuses, with the whole remedy.
    /// `totals`: another program, for read_all(), is loaded too.
    static core::Result<SnapshotProbe> open(const KernelTraits &traits, const core::Machine &machine,
                                            bool totals = false);

    ~SnapshotProbe();
    SnapshotProbe(SnapshotProbe &&) noexcept;
    SnapshotProbe &operator=(SnapshotProbe &&) noexcept;

    /// One pass over the tasks that share the mm of thread group `tgid`, a PID of rsslag's own PID namespace. Tasks of
    /// other groups that share the mm are found too (a second pass over all tasks, only when mm_users says there are
    /// any). Kind::Gone where the group has no mm: it is gone, a zombie, or a kernel thread.
    core::Result<core::CounterReading> read(pid_t tgid);

    /// Every process that has memory of its own, ascending by host TGID, in one pass over all tasks. Groups that share
    /// an mm each come with all that it holds.
    core::Result<std::vector<core::ProcessTotal>> read_all();

  private:
    struct State;
    explicit SnapshotProbe(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::probe
