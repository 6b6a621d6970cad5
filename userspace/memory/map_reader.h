// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/process_reading.h"
#include "core/result.h"
#include "memory/mapped_process.h"
#include "procfs/memory_map.h"
#include "procfs/own_walk.h"
#include "procfs/process.h"

namespace rsslag::memory {

/// The devices of all mounts in rsslag's own mount namespace, and of the kernel's internal tmpfs. Kind::Corrupt if
/// mountinfo is malformed, else errors as procfs::Process::read().
core::Result<procfs::Devices> devices_here();

/// Whether the process maps a file of a file system that may show one page by several names: Devices::stacked and
/// subvolumes. False if its mounts or mappings cannot be read.
bool may_show_twice(pid_t pid);

/// Reads exact counters of a process before and after a walk of its mappings.
using ReadAround = std::function<core::Result<core::ProcessReading>(const procfs::Process &, const procfs::WalkHere &)>;

/// An error and its remedy in one line.
std::string error_text(const core::Error &error);

/// Reads the mappings of processes, with exact counters around the walk if these are available.
class MapReader {
  public:
    /// Reads the mounts, with errors as devices_here(). From here on, malloc keeps the memory that is freed after each
    /// reading.
    static core::Result<MapReader> open();

    /// Sets the function that reads the exact counters.
    void count_with(ReadAround read_around) { read_around_ = std::move(read_around); }
    /// Sets the reason why exact counters are not available.
    void no_counters(std::string why) { why_not_exact_ = std::move(why); }

    /// Reads one process. Fails only if the mappings cannot be read, with errors as procfs::Process::smaps_text().
    /// Without exact counters it sets MappedProcess::why_not_exact.
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
