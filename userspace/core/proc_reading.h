// SPDX-License-Identifier: BSD-2-Clause
// A process as /proc alone shows it, for systems where BPF cannot be used.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process_reading.h"

namespace rsslag::core {

/// The file of /proc that the exact RSS comes from.
enum class ProcSource : std::uint8_t {
    Nothing,     ///< no readable file is exact on this kernel
    StatusFile,  ///< with members (fs/proc/task_mmu.c task_mem, exact since 82241a83cd15: 6.16, 6.15.7, 6.12.39)
    Walk,        ///< smaps_rollup or smaps, i.e. the page tables; without members
};

/// One process, read without BPF.
struct ProcReading {
    int pid = 0;
    std::uint32_t uid = 0;  ///< real
    std::uint64_t start_ticks = 0;
    std::string comm;  ///< raw bytes
    std::int64_t threads_count = 0;
    ReaderValues readers;
    std::optional<ReaderValues> living;  ///< of a living thread, if the main thread has ended
    std::optional<Kilobytes> hugetlb;    ///< not part of RSS
    std::optional<Walk> walk;
    std::optional<Members> members;  ///< exact; only from ProcSource::StatusFile
    std::optional<Pages> exact;      ///< exact rss
    /// `exact` minus the rss in stat of a task that has an mm; nullopt if `exact` or stat is unknown, or stat is not
    /// calibrated.
    std::optional<Pages> lag;

    WalkState walk_state = WalkState::Skipped;
    ProcSource source = ProcSource::Nothing;
    bool leader_gone = false;  ///< the main thread has ended: stat, statm and status show no memory
    bool moved = false;        ///< a second read of the files that matter differed from the first
    bool confirmed = false;    ///< status and the walk agree exactly, and `moved` is false
};

/// Fills in source, members, exact, lag and confirmed, from the files that are exact on this kernel and from the walk.
/// The walk is not needed if status is exact.
void reconcile(ProcReading &reading, const Calibration &calibration, const PageSize &page_size);

/// "status", the name of the walked file, or "nothing".
std::string_view source_name(const ProcReading &reading);

/// A list of processes with facts about the machine.
struct ProcDocument {
    std::chrono::system_clock::time_point time;
    std::string kernel;  ///< uname -r
    std::string arch;    ///< uname -m
    PageSize page_size;
    int cpus_online = 1;
    Calibration calibration;
    std::string why_no_bpf;  ///< the reason and the remedy
    std::vector<ProcReading> processes;
    std::vector<FailedTarget> failed;
};

}  // namespace rsslag::core
