// SPDX-License-Identifier: BSD-2-Clause
// Readings without BPF and without privileges, by what the kernel shows to anybody.
#pragma once

#include "rsslag/core/proc_reading.h"
#include "rsslag/core/result.h"
#include "rsslag/procfs/process.h"

namespace rsslag::host {

/// Whether that keeps BPF from being used at all, so that /proc alone is left: a right or a kernel that lacks
/// something.
bool leaves_proc(const core::Error &why);

class ProcReader {
  public:
    /// Finds out which files are exact here, with some pages of this process's own. `why`: BPF cannot be used. Drops
    /// all capabilities but CAP_SYS_PTRACE. Kind::Unsupported where /proc is none of this process's.
    static core::Result<ProcReader> open(const core::Error &why);

    /// `walk`: smaps_rollup too, or where that is missing smaps. Kind::Gone, also where there is no memory.
    /// What may not be walked has its walk_state.
    core::Result<core::ProcReading> take(const procfs::Process &process, bool walk) const;
    /// All that have memory; walked only where status is not exact.
    std::vector<core::ProcReading> read_all() const;
    /// Without processes; the time is now's.
    core::ProcDocument document() const;

  private:
    explicit ProcReader(core::ProcDocument facts) : facts_(std::move(facts)) {}

    core::ProcDocument facts_;
};

}  // namespace rsslag::host
