// SPDX-License-Identifier: BSD-2-Clause
// Readings without BPF and without privileges, from the files of /proc alone.
#pragma once

#include <functional>
#include <memory>

#include "core/proc_reading.h"
#include "core/result.h"
#include "procfs/process.h"
#include "system/walker.h"

namespace rsslag::system {

/// Whether this error means that BPF cannot be used at all, so that only /proc remains: a missing privilege or kernel
/// feature. False for a temporary lack of memory or descriptors.
bool can_fall_back_to_proc(const core::Error &why);

class ProcReader {
  public:
    /// Determines by experiment() which files are exact. `why`: why BPF cannot be used. Drops all capabilities except
    /// CAP_SYS_PTRACE, unless the caller has `dropped` what it does not need before it started other threads.
    /// Kind::Unsupported if /proc is not mounted or is of another PID namespace. `stop_waiting`: as for Walker; after
    /// it has returned true, take() does not wait long for a target's mmap_lock.
    static core::Result<ProcReader> open(const core::Error &why, std::function<bool()> stop_waiting = {},
                                         bool dropped = false);

    /// `walk`: also reads smaps_rollup, or smaps if that is missing; walk_state records a refused walk. Kind::Gone
    /// if the process has ended, Kind::Unsupported for a kernel thread or a zombie.
    core::Result<core::ProcReading> take(const procfs::Process &process, bool walk) const;
    /// Adds all processes that have memory to `document`, and those that cannot be read to its `failed`. Walks only if
    /// status is not exact on this kernel.
    core::Status read_all(core::ProcDocument &document) const;
    /// The machine and calibration, with the current time and no processes.
    core::ProcDocument document() const;

  private:
    explicit ProcReader(core::ProcDocument facts) : facts_(std::move(facts)) {}

    core::ProcDocument facts_;
    std::unique_ptr<Walker> walker_;  ///< null: this thread walks
};

}  // namespace rsslag::system
