// SPDX-License-Identifier: BSD-2-Clause
// Attributes all memory in use to processes, the page cache and parts of the kernel. Pure.
//
// The rows add up to MemTotal - MemFree. A page is in one row only, as far as the kernel's counters allow it: Cached
// includes Shmem, and both include mapped pages, so Shmem and Pss are subtracted; VmallocUsed includes the stacks of
// tasks if they are mapped (CONFIG_VMAP_STACK, kernel/fork.c), and the BPF arrays that processes map; Slab is not in
// vmalloc; hugetlb is in no Pss and on no LRU list. Pss_File includes the pages that drivers map into processes, which
// Cached does not. Three overlaps cannot be subtracted: a mapped page of the swap cache counts in AnonPages too, a
// driver may have the pages that it maps from vmalloc, and Percpu includes the first chunk (mm/percpu.c
// pcpu_setup_first_chunk), which MemTotal does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "procfs/memory_use.h"
#include "procfs/system.h"

namespace rsslag::memory {

/// The rows, in the order of the output.
enum class UsedBy : std::uint8_t {
    ProcessAnon,
    ProcessFile,
    ProcessShmem,
    ProcessDrivers,
    OtherAnon,
    PartlyMapped,
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
/// As in JSON: "page_cache".
std::string_view name(UsedBy by);

struct UsedRow {
    UsedBy by = UsedBy::Unaccounted;
    std::optional<core::Kilobytes> kb;  ///< nullopt: this kernel does not report it. Negative if counters lag
    bool difference = false;            ///< computed from numbers of different moments, or otherwise approximate
};

/// The hugetlb pool of one page size (/sys/kernel/mm/hugepages).
struct HugePool {
    core::Kilobytes page;
    std::int64_t total = 0;
    std::int64_t free = 0;
    std::int64_t reserved = 0;  ///< free pages that are reserved for mappings
    std::int64_t surplus = 0;   ///< above the configured size, returned to the system when freed
};

/// A mounted tmpfs or devtmpfs.
struct TmpfsUse {
    std::string where;  ///< the mount point, raw
    core::Kilobytes used;
    std::optional<core::Kilobytes> size;  ///< read_machine() leaves out those without a limit
};

/// Values of the whole machine that /proc/meminfo does not contain.
struct MachineMemory {
    procfs::VmStat vmstat;
    std::optional<core::Pages> cpu_lists;  ///< procfs::parse_zoneinfo()
    std::optional<bool> stacks_in_vmalloc;
    std::optional<bool> balloon_in_total;  ///< whether MemTotal includes the pages that a balloon took
    bool sees_all_processes = true;        ///< false: not in the initial PID namespace, or hidepid= hides some
    /// The size of the anonymous folios that are mapped in part only (nr_anon_partially_mapped in sysfs, from 6.12).
    std::optional<core::Kilobytes> partly_mapped;
    std::vector<HugePool> pools;  ///< ascending by size
    std::vector<TmpfsUse> tmpfs;  ///< largest first; empty ones are left out
};

/// Changes of machine-wide numbers between the two readings of meminfo.
struct Drift {
    std::optional<core::Kilobytes> in_use, anon, cached, shmem;
    bool large = false;  ///< one of them exceeds 1 % of the memory in use, and 4 MiB
};

struct Used {
    std::optional<core::Kilobytes> in_use;  ///< MemTotal - MemFree
    std::vector<UsedRow> rows;              ///< all of them, in order; those with a number add up to in_use
    Drift drift;
    /// Mapped of meminfo minus Pss of file and shmem: pages that are mapped only by processes that were not read.
    std::optional<core::Kilobytes> mapped_by_others;
    std::optional<core::Kilobytes> balloon;  ///< the size of a balloon, whether or not MemTotal includes it
};

/// Attributes the memory in use. `before` and `after` were read before and after the processes; `processes` is the sum
/// of their Pss, procfs::total_parts().
Used account(const procfs::MemInfo &before, const procfs::MemInfo &after, const procfs::Parts &processes,
             const MachineMemory &machine, const core::PageSize &page_size);

/// MachineMemory::balloon_in_total, from the virtio feature bits as in sysfs: the lowest first, '1' for each that was
/// negotiated. A balloon that deflates when memory runs out (bit 2) does not change MemTotal
/// (drivers/virtio/virtio_balloon.c).
std::optional<bool> balloon_in_total(std::string_view features);

/// Decodes the octal escapes of mountinfo ("\040").
std::string unescaped(std::string_view where);

}  // namespace rsslag::memory
