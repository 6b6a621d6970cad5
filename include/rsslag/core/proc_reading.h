// SPDX-License-Identifier: BSD-2-Clause
// What /proc alone tells of a process, where BPF cannot be used.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/process_reading.h"

namespace rsslag::core {

/// Which file of /proc the exact RSS is from.
enum class ProcSource : std::uint8_t {
    Nothing,     ///< none that may be read here is exact
    StatusFile,  ///< with the members (fs/proc/task_mmu.c task_mem, from 6.12 by exact sums)
    Walk,        ///< smaps_rollup or smaps: the page tables, without the members
};

/// One process, read without BPF.
struct ProcReading {
    int pid = 0;
    std::uint32_t uid = 0;  ///< real
    std::uint64_t start_ticks = 0;
    std::string comm;  ///< raw bytes
    std::int64_t threads_count = 0;
    ReaderValues readers;
    std::optional<ReaderValues> living;  ///< of a thread that goes on, where the main thread has ended
    std::optional<Kilobytes> hugetlb;    ///< which RSS does not count
    std::optional<Walk> walk;
    std::optional<Members> members;  ///< exact, of ProcSource::Status
    std::optional<Pages> exact;      ///< RSS
    std::optional<Pages> lag;  ///< exact − what stat says of a task that has memory; who caches it, nobody tells

    WalkState walk_state = WalkState::Skipped;
    ProcSource source = ProcSource::Nothing;
    bool leader_gone = false;  ///< the main thread has ended: stat, statm and status see no memory
    bool moved = false;        ///< the files that count said something else afterwards
    bool confirmed = false;    ///< exact by status and by a walk that says the same, and nothing moved
};

/// Fills in `source`, what is exact and the lag, by the readers that are exact on this kernel and by the walk. Where
/// status is exact the walk is not needed.
void reconcile(ProcReading &reading, const Calibration &calibration, const PageSize &page_size);

/// "status", the name of the walked file, or "nothing".
std::string_view source_name(const ProcReading &reading);

/// Many of them, and the machine.
struct ProcDocument {
    std::chrono::system_clock::time_point time;
    std::string kernel;  ///< uname -r
    std::string arch;    ///< uname -m
    PageSize page_size;
    int cpus_online = 1;
    Calibration calibration;
    std::string why_no_bpf;  ///< with what would help
    std::vector<ProcReading> processes;
    std::vector<FailedTarget> failed;
};

}  // namespace rsslag::core
