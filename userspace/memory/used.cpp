// SPDX-License-Identifier: BSD-2-Clause
#include "memory/used.h"

#include <algorithm>
#include <cstdlib>

namespace rsslag::memory {
namespace {

using core::Kilobytes;
using Maybe = std::optional<Kilobytes>;

/// nullopt if one of the two is.
Maybe minus(const Maybe &a, const Maybe &b) {
    return a && b ? Maybe(*a - *b) : std::nullopt;
}

Maybe plus(const Maybe &a, const Maybe &b) {
    return a && b ? Maybe(*a + *b) : std::nullopt;
}

/// The sum of those that this kernel reports; nullopt if it reports neither.
Maybe either(const Maybe &a, const Maybe &b) {
    return a && b ? plus(a, b) : (a ? a : b);
}

Kilobytes known(const Maybe &kb) {
    return procfs::or_zero(kb);
}

Maybe kernel_vmalloc(const procfs::MemInfo &info, std::optional<bool> has_stacks) {
    if (!info.vmalloc_used || !info.kernel_stack) return info.vmalloc_used;
    const Kilobytes without = *info.vmalloc_used - *info.kernel_stack;
    // Every architecture that can map stacks does so by default. A negative difference shows that this kernel does not.
    if (!has_stacks) return without.n < 0 ? *info.vmalloc_used : without;
    return *has_stacks ? without : *info.vmalloc_used;
}

/// zram and zswap. Up to 6.14 zswap may use an allocator other than zsmalloc: the larger number is a lower bound of
/// both together.
Maybe compressed(const procfs::MemInfo &info, const MachineMemory &machine, const core::PageSize &page_size) {
    const Maybe zsmalloc = machine.vmstat.zspages ? Maybe(page_size.kb(*machine.vmstat.zspages)) : std::nullopt;
    if (!zsmalloc || !info.zswap) return zsmalloc ? zsmalloc : info.zswap;
    return std::max(*zsmalloc, *info.zswap);
}

Maybe held_by_balloon(const procfs::MemInfo &info, const procfs::VmStat &stat, const core::PageSize &page_size) {
    if (info.balloon) return info.balloon;
    if (stat.balloon_pages) return page_size.kb(*stat.balloon_pages);
    if (!stat.balloon_inflate || !stat.balloon_deflate) return std::nullopt;
    return page_size.kb(*stat.balloon_inflate - *stat.balloon_deflate);
}

/// nullopt, so that no row counts it, if it is not known whether MemTotal includes the balloon.
Maybe balloon_row(const Maybe &held, std::optional<bool> in_total) {
    if (!held || held->n == 0) return held;
    if (!in_total) return std::nullopt;
    return *in_total ? *held : Kilobytes{};
}

/// The pages of large anonymous folios that are not mapped although other pages of the folio are. The LRU lists contain
/// the whole folio, AnonPages only the mapped pages. The lists also contain shmem and the swap cache.
Maybe not_mapped(const procfs::MemInfo &info, const Maybe &most) {
    const Maybe lists = plus(info.active_anon, info.inactive_anon);
    if (!lists || !info.anon_pages || !info.shmem) return most && most->n == 0 ? most : std::nullopt;
    Kilobytes left = *lists - *info.anon_pages - *info.shmem - known(info.swap_cached);
    // Locked pages are unevictable, but so are those of ramfs, so this list requires the upper bound.
    if (most) left += known(info.unevictable);
    return std::clamp(left, Kilobytes{}, most.value_or(std::max(left, Kilobytes{})));
}

Drift drift_of(const procfs::MemInfo &before, const procfs::MemInfo &after) {
    Drift drift;
    const Maybe in_use = minus(after.total, after.free);
    drift.in_use = minus(in_use, minus(before.total, before.free));
    drift.anon = minus(after.anon_pages, before.anon_pages);
    drift.cached = minus(after.cached, before.cached);
    drift.shmem = minus(after.shmem, before.shmem);
    constexpr std::int64_t kLeast = 4 * 1024;
    const std::int64_t most = std::max(kLeast, known(in_use).n / 100);
    for (const Maybe &moved : {drift.in_use, drift.anon, drift.cached, drift.shmem})
        drift.large = drift.large || std::abs(known(moved).n) > most;
    return drift;
}

}  // namespace

std::string_view name(UsedBy by) {
    switch (by) {
        case UsedBy::ProcessAnon: return "process_anon";
        case UsedBy::ProcessFile: return "process_file";
        case UsedBy::ProcessShmem: return "process_shmem";
        case UsedBy::ProcessDrivers: return "process_drivers";
        case UsedBy::OtherAnon: return "other_anon";
        case UsedBy::PartlyMapped: return "partly_mapped";
        case UsedBy::PageCache: return "page_cache";
        case UsedBy::Shmem: return "shmem";
        case UsedBy::SwapCache: return "swap_cache";
        case UsedBy::SlabReclaimable: return "slab_reclaimable";
        case UsedBy::SlabUnreclaimable: return "slab_unreclaimable";
        case UsedBy::OtherReclaimable: return "other_reclaimable";
        case UsedBy::PageTables: return "page_tables";
        case UsedBy::KernelStacks: return "kernel_stacks";
        case UsedBy::PerCpu: return "per_cpu";
        case UsedBy::Vmalloc: return "vmalloc";
        case UsedBy::Hugetlb: return "hugetlb";
        case UsedBy::Compressed: return "compressed";
        case UsedBy::Gpu: return "gpu";
        case UsedBy::WriteCopies: return "write_copies";
        case UsedBy::Balloon: return "balloon";
        case UsedBy::Poisoned: return "poisoned";
        case UsedBy::CpuLists: return "cpu_lists";
        case UsedBy::Unaccounted: return "unaccounted";
    }
    return "";
}

Used account(const procfs::MemInfo &before, const procfs::MemInfo &after, const procfs::Parts &processes,
             const MachineMemory &machine, const core::PageSize &page_size) {
    Used used;
    used.in_use = minus(after.total, after.free);
    used.drift = drift_of(before, after);
    used.balloon = held_by_balloon(after, machine.vmstat, page_size);
    used.mapped_by_others = minus(after.mapped, plus(plus(processes.file, processes.drivers), processes.shmem));
    Kilobytes sum;
    const auto add = [&](UsedBy by, const Maybe &kb, bool difference = false) {
        used.rows.push_back({by, kb, difference});
        sum += known(kb);
    };
    const Maybe cache = minus(plus(after.cached, after.buffers), after.shmem);
    add(UsedBy::ProcessAnon, processes.anon);
    add(UsedBy::ProcessFile, processes.file, processes.drivers.n != 0);
    add(UsedBy::ProcessShmem, processes.shmem);
    add(UsedBy::ProcessDrivers, processes.file ? Maybe(processes.drivers) : std::nullopt, true);
    // Without Pss by member, these three include the pages that processes map.
    add(UsedBy::OtherAnon, minus(after.anon_pages, known(processes.anon)), true);
    add(UsedBy::PartlyMapped, not_mapped(after, machine.partly_mapped), true);
    add(UsedBy::PageCache, minus(cache, known(processes.file)), true);
    add(UsedBy::Shmem, minus(after.shmem, known(processes.shmem)), true);
    add(UsedBy::SwapCache, after.swap_cached);
    add(UsedBy::SlabReclaimable, after.slab_reclaimable);
    add(UsedBy::SlabUnreclaimable, after.slab_unreclaimable);
    add(UsedBy::OtherReclaimable, minus(after.kernel_reclaimable, after.slab_reclaimable));
    add(UsedBy::PageTables, either(after.page_tables, after.sec_page_tables));
    add(UsedBy::KernelStacks, after.kernel_stack);
    add(UsedBy::PerCpu, after.per_cpu);
    add(UsedBy::Vmalloc, minus(kernel_vmalloc(after, machine.stacks_in_vmalloc), processes.bpf_maps),
        !machine.stacks_in_vmalloc || processes.bpf_maps.n != 0);
    add(UsedBy::Hugetlb, after.hugetlb);
    add(UsedBy::Compressed, compressed(after, machine, page_size));
    add(UsedBy::Gpu, either(after.gpu_active, after.gpu_reclaim));
    add(UsedBy::WriteCopies, either(after.bounce, after.writeback_tmp));
    add(UsedBy::Balloon, balloon_row(used.balloon, machine.balloon_in_total));
    add(UsedBy::Poisoned, after.hardware_corrupted);
    add(UsedBy::CpuLists, machine.cpu_lists ? Maybe(page_size.kb(*machine.cpu_lists)) : std::nullopt, true);
    add(UsedBy::Unaccounted, minus(used.in_use, sum), true);
    return used;
}

std::optional<bool> balloon_in_total(std::string_view features) {
    constexpr std::size_t kDeflateOnOom = 2;  // VIRTIO_BALLOON_F_DEFLATE_ON_OOM
    if (features.size() <= kDeflateOnOom) return std::nullopt;
    return features[kDeflateOnOom] == '1';
}

std::string unescaped(std::string_view where) {
    const auto octal = [](char digit) { return digit >= '0' && digit <= '7'; };
    std::string path;
    for (std::size_t i = 0; i < where.size(); ++i) {
        const std::string_view digits = where.substr(i + 1, 3);
        if (where[i] == '\\' && digits.size() == 3 && std::ranges::all_of(digits, octal)) {
            path += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
            i += 3;
        } else {
            path += where[i];
        }
    }
    return path;
}

}  // namespace rsslag::memory
