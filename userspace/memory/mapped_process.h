// SPDX-License-Identifier: BSD-2-Clause
// Processes, their mappings and the sums of these: what rsslag maps shows.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/process_reading.h"
#include "core/scheme.h"
#include "memory/baseline.h"
#include "memory/pages.h"
#include "memory/row_stacks.h"
#include "procfs/files.h"
#include "procfs/memory_map.h"

namespace rsslag::memory {

/// The sources of top's memory columns.
struct TopNumbers {
    std::optional<procfs::Statm> statm;   ///< of the leader, as top reads it: zeros if it has exited
    std::optional<procfs::Statm> living;  ///< if the leader has exited: of another thread
    std::optional<core::Kilobytes> vm_swap;
    std::optional<core::Kilobytes> mem_total;
};

/// One process, its mappings and their sums.
struct MappedProcess {
    int pid = 0;
    std::uint32_t uid = 0;  ///< real
    std::uint64_t start_ticks = 0;
    std::string comm;     ///< raw bytes, like the next three
    std::string exe;      ///< empty if it may not be read
    std::string program;  ///< procfs::program_path(); empty if it may not be read
    std::string cmdline;  ///< arguments separated by spaces
    TopNumbers top;
    std::optional<core::ProcessReading> reading;  ///< exact counters around the walk
    std::optional<std::string> why_not_exact;     ///< present if and only if there is no reading
    std::vector<procfs::Mapping> mappings;
    std::string internal_device;  ///< of the kernel's internal tmpfs
    procfs::Quadrants quadrants;
    procfs::MapSums sums;
    std::vector<procfs::MapGroup> groups;
    std::optional<PagesReport> pages;
    std::optional<ElfReport> elf;
    std::int64_t walk_us = 0;                             ///< open and read of smaps
    std::optional<std::vector<procfs::MapChange>> since;  ///< changes since the previous reading or the baseline
    std::vector<Asserted> asserted;
    std::optional<RowStacks> stacks;
    std::optional<std::string> why_no_stacks;  ///< present if they were requested and there are none
};

/// A process that could not be read, or not as requested.
struct UnmappedProcess {
    int pid = 0;
    std::string reason;
    std::optional<procfs::StatusFile> status{};  ///< present if it can be read although the mappings cannot
};

struct MapsDocument {
    std::chrono::system_clock::time_point time;
    std::string kernel;
    std::string arch;
    core::Machine machine;
    bool counted = false;  ///< whether the scheme is known and counters can be read
    std::vector<MappedProcess> processes;
    std::vector<UnmappedProcess> failed;
    std::optional<core::Truth> status_shows;  ///< what status shows; present if a process in `failed` has a status
};

}  // namespace rsslag::memory
