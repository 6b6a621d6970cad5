// SPDX-License-Identifier: BSD-2-Clause
// Whose all memory in use is: processes, the page cache, the kernel. Pure.
//
// The rows add up to MemTotal - MemFree, each page in one of them as far as the kernel counts it once: Cached includes
// Shmem and what of both is mapped, so that Pss is taken off; VmallocUsed includes stacks of tasks where they are
// mapped (CONFIG_VMAP_STACK, kernel/fork.c); Slab is not in vmalloc; hugetlb is in no Pss and no LRU list. Two overlaps
// cannot be taken off: a page of the swap cache that is mapped counts as AnonPages too, and Percpu has the first chunk
// (mm/percpu.c pcpu_setup_first_chunk), which MemTotal does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/units.h"
#include "rsslag/procfs/memory_use.h"
#include "rsslag/procfs/system.h"

namespace rsslag::memory {

/// In the order in which they are shown.
enum class UsedBy : std::uint8_t {
    ProcessAnon,
    ProcessFile,
    ProcessShmem,
    OtherAnon,
    PageCache,
    Shmem,
    SwapCache,
    SlabReclaimable,
    SlabUnreclaimable,
    OtherReclaimable,
    PageTables,
    KernelStacks,
    PerCpu,
    Vmalloc,
    Hugetlb,
    Compressed,
    Gpu,
    WriteCopies,
    Balloon,
    Poisoned,
    CpuLists,
    Unaccounted,
};
/// "page_cache", as JSON has it.
std::string_view name(UsedBy by);

struct UsedRow {
    UsedBy by = UsedBy::Unaccounted;
    std::optional<core::Kilobytes> kb;  ///< nullopt: this kernel does not tell. Negative where counters lag
    bool difference = false;            ///< of numbers that were read at different moments
};

/// The pages of one size that hugetlb keeps (/sys/kernel/mm/hugepages).
struct HugePool {
    core::Kilobytes page;
    std::int64_t total = 0;
    std::int64_t free = 0;
    std::int64_t reserved = 0;  ///< of the free ones: promised to mappings
    std::int64_t surplus = 0;   ///< above nr_hugepages, given back when freed
};

/// A file system in shmem that is mounted here.
struct TmpfsUse {
    std::string where;  ///< raw
    core::Kilobytes used;
    std::optional<core::Kilobytes> size;  ///< nullopt: no limit
};

/// What of the machine is asked beside /proc/meminfo.
struct MachineMemory {
    procfs::VmStat vmstat;
    std::optional<core::Pages> cpu_lists;
    std::optional<bool> stacks_in_vmalloc;
    std::optional<bool> balloon_in_total;  ///< whether MemTotal still has what a balloon took
    bool sees_all_processes = true;        ///< false: of another PID namespace, or hidden by hidepid=
    std::vector<HugePool> pools;           ///< ascending by size
    std::vector<TmpfsUse> tmpfs;           ///< largest first; those that hold something
};

/// How far numbers of the whole machine went between the two readings.
struct Drift {
    std::optional<core::Kilobytes> in_use, anon, cached, shmem;
    bool large = false;  ///< beyond a hundredth of what is in use, and 4 MiB
};

struct Used {
    std::optional<core::Kilobytes> in_use;  ///< MemTotal - MemFree
    std::vector<UsedRow> rows;              ///< all of them, in order; those with a number add up to in_use
    Drift drift;
    /// Of files and shmem what only processes map that were not read.
    std::optional<core::Kilobytes> mapped_by_others;
    std::optional<core::Kilobytes> balloon;  ///< what one holds, wherever it counts
};

Used account(const procfs::MemInfo &before, const procfs::MemInfo &after, const procfs::Parts &processes,
             const MachineMemory &machine, const core::PageSize &page_size);

/// Of virtio's feature bits, as sysfs has them: '1' for each that was agreed on, the lowest first. A balloon that
/// deflates when memory runs out leaves MemTotal as it is (drivers/virtio/virtio_balloon.c).
std::optional<bool> balloon_in_total(std::string_view features);

/// "\040" and the like undone, as mountinfo writes them.
std::string unescaped(std::string_view where);

}  // namespace rsslag::memory
