// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rsslag/core/result.h"
#include "rsslag/host/snapshotter.h"
#include "rsslag/procfs/memory_map.h"
#include "rsslag/procfs/process.h"
#include "rsslag/view/maps.h"

namespace rsslag::cli {

/// The devices of all mounts that this process sees, and of the kernel's own tmpfs.
core::Result<procfs::Devices> devices_here();

/// Reads the mappings of processes, with exact counters around the walk where this machine and user allow them.
class MapReader {
  public:
    /// Keeps of its capabilities only what reading other users' files takes, and those of `wanted`.
    static core::Result<MapReader> open(const std::vector<cap_value_t> &wanted);

    /// Fails where the mappings may not or cannot be read; exact counters may be missing all the same.
    core::Result<view::MappedProcess> read(const procfs::Process &process);

    /// With everything but processes and failures filled in.
    view::MapsDocument document() const;
    const procfs::Devices &devices() const { return devices_; }

  private:
    explicit MapReader(procfs::Devices devices) : devices_(std::move(devices)) {}

    core::Result<view::MappedProcess> read_once(const procfs::Process &process);

    procfs::Devices devices_;
    std::optional<host::Snapshotter> snapshotter_;
    std::optional<std::string> why_not_exact_;
};

}  // namespace rsslag::cli
