// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "rsslag/core/process_reading.h"
#include "rsslag/core/result.h"
#include "rsslag/memory/mapped_process.h"
#include "rsslag/procfs/memory_map.h"
#include "rsslag/procfs/own_walk.h"
#include "rsslag/procfs/process.h"

namespace rsslag::memory {

/// The devices of all mounts in rsslag's own mount namespace, and of the kernel's internal tmpfs.
core::Result<procfs::Devices> devices_here();

/// Reads exact counters of a process before and after a walk of its mappings.
using ReadAround = std::function<core::Result<core::ProcessReading>(const procfs::Process &, const procfs::WalkHere &)>;

/// An error and its remedy in one line.
std::string error_text(const core::Error &error);

/// Reads the mappings of processes, with exact counters around the walk if these are available.
class MapReader {
  public:
    /// Reads the mounts. From here on, malloc keeps the memory that is freed after each reading.
    static core::Result<MapReader> open();

    /// `read_around` reads the exact counters.
    void count_with(ReadAround read_around) { read_around_ = std::move(read_around); }
    /// Exact counters are not available, for this reason.
    void no_counters(std::string why) { why_not_exact_ = std::move(why); }

    /// Fails if the mappings cannot be read. Without exact counters it succeeds, and why_not_exact is set.
    core::Result<MappedProcess> read(const procfs::Process &process);

    const procfs::Devices &devices() const { return devices_; }

  private:
    explicit MapReader(procfs::Devices devices) : devices_(std::move(devices)) {}

    core::Result<MappedProcess> read_once(const procfs::Process &process);

    procfs::Devices devices_;
    ReadAround read_around_;
    std::optional<std::string> why_not_exact_;
};

}  // namespace rsslag::memory
