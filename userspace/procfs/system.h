// SPDX-License-Identifier: BSD-2-Clause
// Parsers of files that the memory views need: /proc/meminfo, vmstat and zoneinfo, and mountinfo and cgroup of a
// process. Malformed text is Kind::Corrupt, as in files.h. The functions read_… return Kind::Io if the file cannot be
// read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace rsslag::procfs {

/// /proc/meminfo. A line that this kernel does not print is nullopt.
/// `cached` excludes buffers and the swap cache and includes `shmem`; `page_tables` excludes `sec_page_tables`.
struct MemInfo {
    std::optional<core::Kilobytes> total, free, available, swap_total, swap_free;
    std::optional<core::Kilobytes> buffers, cached, swap_cached, anon_pages, mapped, shmem;
    std::optional<core::Kilobytes> active_anon, inactive_anon, unevictable;  ///< the LRU lists
    std::optional<core::Kilobytes> kernel_reclaimable, slab_reclaimable, slab_unreclaimable, kernel_stack, page_tables,
        sec_page_tables, bounce, writeback_tmp, vmalloc_used, per_cpu, hardware_corrupted, zswap, hugetlb, balloon,
        gpu_active, gpu_reclaim;
};

/// Lines of /proc/vmstat that /proc/meminfo does not have. A line that this kernel does not print is nullopt.
struct VmStat {
    std::optional<core::Pages> zspages;          ///< of zsmalloc: zram, and zswap if it uses zsmalloc
    std::optional<core::Pages> balloon_pages;    ///< from 6.16
    std::optional<core::Pages> balloon_inflate;  ///< pages ever taken; the balloon's size is this − balloon_deflate
    std::optional<core::Pages> balloon_deflate;  ///< pages ever given back
};

/// One line of mountinfo (fs/proc_namespace.c show_mountinfo).
struct Mount {
    std::uint64_t id = 0;      ///< as in stx_mnt_id of statx(2)
    std::uint64_t parent = 0;  ///< id of the mount that contains the mount point
    std::string device;        ///< as smaps prints it: "08:01", hexadecimal
    std::string where;         ///< the mount point, with the kernel's escapes (\040)
    std::string type;          ///< of the file system: "ext4"
    std::string source;        ///< of the file system: "/dev/root"
    std::string options;       ///< of the file system: "rw,dax=always"
};

/// Kind::Corrupt also if there is no MemTotal.
core::Result<MemInfo> parse_meminfo(std::string_view text);
core::Result<VmStat> parse_vmstat(std::string_view text);
/// The free pages in per-CPU lists, which MemFree does not count (mm/vmstat.c zoneinfo_show_print, the "count:" lines
/// below "pagesets"). Kind::Corrupt also if there is no such line.
core::Result<core::Pages> parse_zoneinfo(std::string_view text);
core::Result<std::vector<Mount>> parse_mountinfo(std::string_view text);
/// The path in the "0::" line of /proc/PID/cgroup, of the v2 hierarchy; nullopt if there is none.
std::optional<std::string> parse_cgroup(std::string_view text);

core::Result<MemInfo> read_meminfo(const std::string &root = "/proc");
core::Result<VmStat> read_vmstat(const std::string &root = "/proc");
core::Result<core::Pages> read_zoneinfo(const std::string &root = "/proc");
/// The number in a file of sysfs that contains one number; nullopt if there is none.
std::optional<std::uint64_t> read_single_number(const std::string &path);
/// The first line of a file; nullopt if it cannot be read.
std::optional<std::string> read_single_line(const std::string &path);

/// Whether a type, a member or a function in the kernel's BTF has this name. nullopt: BTF cannot be read.
std::optional<bool> kernel_types_name(std::string_view name, const std::string &path = "/sys/kernel/btf/vmlinux");

}  // namespace rsslag::procfs
