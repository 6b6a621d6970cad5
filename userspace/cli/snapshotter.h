// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "rsslag/core/result.h"
#include "rsslag/procfs/process.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::cli {

/// How this kernel counts, from its BTF; needs no privilege.
core::Result<core::Scheme> running_scheme();

/// Takes exact readings of processes: the probe, the files of /proc and the judgement, put together.
class Snapshotter {
  public:
    /// Loads the probe, calibrates the readers on a child of its own, drops what capabilities are not needed after
    /// that. Built without the tracer: Kind::Unsupported.
    static core::Result<Snapshotter> open();

    ~Snapshotter();
    Snapshotter(Snapshotter &&) noexcept;
    Snapshotter &operator=(Snapshotter &&) noexcept;

    /// A bracketed reading of just this process, whoever has its PID later. Kernel threads and zombies are
    /// Kind::Unsupported, a process that ends meanwhile Kind::Gone.
    core::Result<view::ProcessReading> take(const procfs::Process &process, bool walk);

    /// With everything but processes and failures filled in.
    view::SnapshotDocument document() const;

  private:
    struct State;
    explicit Snapshotter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::cli
