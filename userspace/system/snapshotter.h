// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/mapping.h"
#include "core/process_reading.h"
#include "core/raw_reading.h"
#include "core/reading.h"
#include "core/result.h"
#include "probe/traits.h"
#include "procfs/own_walk.h"
#include "procfs/process.h"

namespace rsslag::system {

/// The scheme of this kernel, from its BTF; needs no privilege. Kind::Unsupported if it is unknown.
core::Result<core::Scheme> running_scheme();

struct SnapshotterOptions {
    bool totals = false;                    ///< also load what read_all() needs
    std::vector<cap_value_t> capabilities;  ///< to keep in addition, for the caller
    bool walks = true;                      ///< keep the capabilities for smaps and pagemap of other users' processes
    bool calibrated = true;                 ///< determine which files of /proc are exact; false: all are Unknown
    bool command_lines = false;             ///< each walk also reads the arguments of the process
    bool dropped = false;  ///< do not drop capabilities: the caller has done so before it started other threads
    /// Called repeatedly while a walk waits for a target's mmap_lock; if it returns true, the walk is abandoned soon
    /// (see Walker). Walks then run on a thread of their own, which may continue. Empty: the caller waits for every
    /// walk.
    std::function<bool()> stop_waiting = {};
    const probe::KernelTraits *traits = nullptr;  ///< null: open() reads them from BTF
};

/// Takes exact readings of processes: reads the counters by BPF and the files of /proc, and reconciles them.
class Snapshotter {
  public:
    /// Loads the probe, calibrates the readers with a child process, and drops all capabilities except those that
    /// readings and the caller need. Kind::Unsupported in a build without the tracer; else errors as
    /// SnapshotProbe::open().
    static core::Result<Snapshotter> open(const SnapshotterOptions &options = {});

    ~Snapshotter();
    Snapshotter(Snapshotter &&) noexcept;
    Snapshotter &operator=(Snapshotter &&) noexcept;

    /// Reads the counters, then the files of /proc and, with `walk`, the page tables, then the counters again. A
    /// process that reuses the PID is not read. Kind::Unsupported for kernel threads and zombies, Kind::Gone if the
    /// process ends meanwhile.
    core::Result<core::ProcessReading> take(const procfs::Process &process, bool walk);
    /// As take(), without the verdict, for a comparison with the ledger.
    core::Result<core::RawReading> take_raw(const procfs::Process &process, bool walk);
    /// All mappings, from maps or, with `walk`, from smaps with the Rss of each. Kind::Gone if `stop_waiting` ended the
    /// walk.
    core::Result<core::MappingListing> list_mappings(const procfs::Process &process, bool walk) const;
    /// As procfs::absent_pages(). Kind::Gone if it takes too long, as list_mappings().
    core::Result<std::vector<std::uint64_t>> absent_pages(const procfs::Process &process,
                                                          std::vector<std::uint64_t> addresses) const;
    /// As take(), with the caller's walk. Also returns the errors of `walk`.
    core::Result<core::ProcessReading> take_around(const procfs::Process &process, const procfs::WalkHere &walk);
    /// Reads only the counters. Errors as probe::SnapshotProbe::read().
    core::Result<core::TimedCounters> read_counters(pid_t pid);

    /// Reads every process that has an mm, in one pass. Requires SnapshotterOptions::totals.
    core::Result<std::vector<core::ProcessTotal>> read_all();

    /// The id that readings show for the mm_struct at this address.
    std::string mm_id(std::uint64_t mm) const;
    /// The random key of mm_id().
    core::IdKey id_key() const;

    /// Machine, kernel and calibration, with the current time; no processes.
    core::SnapshotDocument document() const;

  private:
    struct State;
    explicit Snapshotter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::system
