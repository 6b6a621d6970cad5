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

/// The devices of all mounts that this process sees, and of the kernel's own tmpfs.
core::Result<procfs::Devices> devices_here();

/// Takes exact counters of a process around a walk of its mappings.
using ReadAround = std::function<core::Result<core::ProcessReading>(const procfs::Process &, const procfs::WalkHere &)>;

/// A failure in one line.
std::string words_of(const core::Error &error);

/// Reads the mappings of processes, with exact counters around the walk where these can be had.
class MapReader {
  public:
    /// Mounts are read; what readings of mappings free is kept from here on.
    static core::Result<MapReader> open();

    /// Counters are taken by `read_around`.
    void count_with(ReadAround read_around) { read_around_ = std::move(read_around); }
    /// None can be, and why.
    void no_counters(std::string why) { why_not_exact_ = std::move(why); }

    /// Fails where the mappings may not or cannot be read; exact counters may be missing all the same.
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
