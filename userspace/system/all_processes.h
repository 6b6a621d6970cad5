// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "core/process_reading.h"
#include "core/reading.h"
#include "system/snapshotter.h"

namespace rsslag::system {

/// Reads all processes that have an mm, in one pass of a BPF task iterator.
class AllProcesses {
  public:
    struct Pass {
        core::SnapshotDocument facts;  ///< machine, kernel, calibration, time
        std::vector<core::ProcessTotal> processes;
        std::chrono::microseconds took{};
    };

    /// As Snapshotter::open(), with SnapshotterOptions::totals.
    static core::Result<AllProcesses> open(SnapshotterOptions options);

    core::Result<Pass> read();
    /// For readings of single processes.
    Snapshotter &snapshotter() { return snapshotter_; }

  private:
    explicit AllProcesses(Snapshotter snapshotter) : snapshotter_(std::move(snapshotter)) {}

    Snapshotter snapshotter_;
};

}  // namespace rsslag::system
