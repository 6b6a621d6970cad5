// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/capability.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rsslag/core/mapping.h"
#include "rsslag/core/process_reading.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/reading.h"
#include "rsslag/core/result.h"
#include "rsslag/probe/traits.h"
#include "rsslag/procfs/own_walk.h"
#include "rsslag/procfs/process.h"

namespace rsslag::host {

/// How this kernel counts, from its BTF; needs no privilege.
core::Result<core::Scheme> running_scheme();

/// What a caller needs beyond readings of single processes.
struct SnapshotterOptions {
    bool totals = false;  ///< read_all(), too
    std::vector<cap_value_t> capabilities;
    bool walks = true;       ///< by smaps: what other users' take is kept
    bool calibrated = true;  ///< else nobody is told which files of /proc lie
    bool dropped = false;    ///< capabilities are: by now there are threads that would keep them
    /// Asked now and then while a walk waits for a target's mmap_lock: whether that is no longer waited for. Walks then
    /// have a thread of their own, which is left behind. None: they are waited for.
    std::function<bool()> impatient = {};
    const probe::KernelTraits *traits = nullptr;  ///< as the caller has found them; else they are looked for
};

/// Takes exact readings of processes: the probe, the files of /proc and the judgement, put together.
class Snapshotter {
  public:
    /// Loads the probe, calibrates the readers on a child of its own, drops what capabilities are not needed after
    /// that, except those that the caller still wants. Built without the tracer: Kind::Unsupported.
    static core::Result<Snapshotter> open(const SnapshotterOptions &options = {});

    ~Snapshotter();
    Snapshotter(Snapshotter &&) noexcept;
    Snapshotter &operator=(Snapshotter &&) noexcept;

    /// A bracketed reading of just this process, whoever has its PID later. Kernel threads and zombies are
    /// Kind::Unsupported, a process that ends meanwhile Kind::Gone.
    core::Result<core::ProcessReading> take(const procfs::Process &process, bool walk);
    /// The same, not judged yet: for whoever compares it with a stream of updates.
    core::Result<core::RawReading> take_raw(const procfs::Process &process, bool walk);
    /// All mappings; `walk`: with what each holds.
    core::Result<core::MappingListing> list_mappings(const procfs::Process &process, bool walk) const;
    /// The same around a walk of the caller's, whose failure is the reading's.
    core::Result<core::ProcessReading> take_around(const procfs::Process &process, const procfs::WalkHere &walk);
    /// Just the counters, in one pass.
    core::Result<core::TimedCounters> read_counters(pid_t pid);

    /// Every process that has memory of its own, in one pass.
    core::Result<std::vector<core::ProcessTotal>> read_all();

    /// As readings have it, of an mm that need not have been read.
    std::string mm_id(std::uint64_t mm) const;
    /// What mm_id() mixes addresses with.
    std::uint64_t id_key() const;

    /// With everything but processes and failures filled in.
    core::SnapshotDocument document() const;

  private:
    struct State;
    explicit Snapshotter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::host
