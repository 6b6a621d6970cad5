// SPDX-License-Identifier: BSD-2-Clause
// What files of the whole machine say that memory views need: /proc/meminfo, vmstat, zoneinfo and /proc/PID/mountinfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/core/units.h"

namespace rsslag::procfs {

/// /proc/meminfo. A line that this kernel does not print is nullopt.
/// `cached` has neither buffers nor the swap cache, but all of `shmem`; `page_tables` has no `sec_page_tables`.
struct MemInfo {
    std::optional<core::Kilobytes> total, free, available, swap_total, swap_free;
    std::optional<core::Kilobytes> buffers, cached, swap_cached, anon_pages, mapped, shmem;
    std::optional<core::Kilobytes> kernel_reclaimable, slab_reclaimable, slab_unreclaimable, kernel_stack, page_tables,
        sec_page_tables, bounce, writeback_tmp, vmalloc_used, per_cpu, hardware_corrupted, zswap, hugetlb, balloon,
        gpu_active, gpu_reclaim;
};

/// The few lines of /proc/vmstat that /proc/meminfo does not have. A line that is not printed is nullopt.
struct VmStat {
    std::optional<core::Pages> zspages;          ///< of zsmalloc: zram, and zswap where it uses that
    std::optional<core::Pages> balloon_pages;    ///< from 6.16
    std::optional<core::Pages> balloon_inflate;  ///< ever taken; minus the next: what a balloon holds
    std::optional<core::Pages> balloon_deflate;  ///< ever given back
};

/// One line of mountinfo (fs/proc_namespace.c show_mountinfo).
struct Mount {
    std::uint64_t id = 0;  ///< as statx(2) has it
    std::string device;    ///< as smaps writes it: "08:01", hexadecimal
    std::string where;     ///< the kernel's escapes (\040) kept
    std::string type;      ///< of the file system: "ext4"
    std::string source;    ///< likewise: "/dev/root"
    std::string options;   ///< of the file system: "rw,dax=always"
};

/// Text without MemTotal is Corrupt.
core::Result<MemInfo> parse_meminfo(std::string_view text);
core::Result<VmStat> parse_vmstat(std::string_view text);
/// The free pages that CPUs keep in lists of their own, which MemFree does not count (mm/vmstat.c
/// zoneinfo_show_print, the "count:" lines below "pagesets"). Text without one is Corrupt.
core::Result<core::Pages> parse_zoneinfo(std::string_view text);
core::Result<std::vector<Mount>> parse_mountinfo(std::string_view text);
/// The path in the "0::" line of /proc/PID/cgroup, of the v2 hierarchy; nullopt where there is none.
std::optional<std::string> parse_cgroup(std::string_view text);

core::Result<MemInfo> read_meminfo(const std::string &root = "/proc");
core::Result<VmStat> read_vmstat(const std::string &root = "/proc");
core::Result<core::Pages> read_zoneinfo(const std::string &root = "/proc");
/// A number alone in a file, as sysfs has them; nullopt where there is none.
std::optional<std::uint64_t> read_single_number(const std::string &path);
/// The first line of such a file.
std::optional<std::string> read_single_line(const std::string &path);

/// Whether the kernel's types, in BTF, use this name: of a type, a member or a function. nullopt: they cannot be read.
std::optional<bool> kernel_types_name(std::string_view name, const std::string &path = "/sys/kernel/btf/vmlinux");

}  // namespace rsslag::procfs
