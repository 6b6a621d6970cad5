// SPDX-License-Identifier: BSD-2-Clause
// Processes, their mappings and what they come to: what rsslag maps renders.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/process_reading.h"
#include "rsslag/core/scheme.h"
#include "rsslag/memory/baseline.h"
#include "rsslag/memory/pages.h"
#include "rsslag/procfs/files.h"
#include "rsslag/procfs/memory_map.h"

namespace rsslag::memory {

/// What top's memory columns are made of.
struct TopNumbers {
    std::optional<procfs::Statm> statm;   ///< of the main thread, as top reads it: zeros where that has ended
    std::optional<procfs::Statm> living;  ///< then: of a thread that goes on
    std::optional<core::Kilobytes> vm_swap;
    std::optional<core::Kilobytes> mem_total;
};

/// One process, its mappings and what they come to.
struct MappedProcess {
    int pid = 0;
    std::uint32_t uid = 0;  ///< real
    std::uint64_t start_ticks = 0;
    std::string comm;     ///< raw bytes, as the next two
    std::string exe;      ///< empty where it may not be read
    std::string cmdline;  ///< arguments apart by a space
    TopNumbers top;
    std::optional<core::ProcessReading> reading;  ///< exact counters around the walk
    std::optional<std::string> why_not_exact;     ///< present exactly where there is no reading
    std::vector<procfs::Mapping> mappings;
    std::string internal_device;  ///< of the kernel's own tmpfs
    procfs::Quadrants quadrants;
    procfs::MapSums sums;
    std::vector<procfs::MapGroup> groups;
    std::optional<PagesReport> pages;
    std::optional<ElfReport> elf;
    std::int64_t walk_us = 0;                             ///< open and read of smaps
    std::optional<std::vector<procfs::MapChange>> since;  ///< the last look, or the baseline
    std::vector<Asserted> asserted;
};

/// One that could not be read, or not as asked for.
struct UnmappedProcess {
    int pid = 0;
    std::string reason;
    std::optional<procfs::StatusFile> status{};  ///< where that may be read, though its mappings may not
};

struct MapsDocument {
    std::chrono::system_clock::time_point time;
    std::string kernel;
    std::string arch;
    core::Machine machine;
    bool counted = false;  ///< whether the scheme is known and counters can be read
    std::vector<MappedProcess> processes;
    std::vector<UnmappedProcess> failed;
    std::optional<core::Truth> status_shows;  ///< where some of them have a status
};

}  // namespace rsslag::memory
