// SPDX-License-Identifier: BSD-2-Clause
// The memory files under /proc/PID and their parsers. A parser is pure: text in, values or an Error out.
// A missing field is nullopt, never a guess. Malformed text is Kind::Corrupt with the file, the 1-based line and the
// fault. The kernel ends each of these files with a newline; text without one was cut off, perhaps within its last
// number, and is Corrupt too. Lines with an unknown key are ignored; a known line that appears twice is Corrupt.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace rsslag::procfs {

/// /proc/PID/stat, the fields rsslag needs (man 5 proc; fs/proc/array.c do_task_stat).
/// If the leader has exited and other threads of the process live on, zombie() is true and num_threads > 1. Then vsize,
/// rss and all of statm are 0 and status has no Vm lines, although the process has memory.
struct Stat {
    int pid = 0;                    ///< field 1, in the PID namespace of the mount
    std::string comm;               ///< field 2, raw bytes: may contain spaces, parentheses, newlines, anything
    char state = '?';               ///< field 3
    int ppid = 0;                   ///< field 4
    std::uint64_t flags = 0;        ///< field 9, task->flags (PF_EXITING 0x4, PF_KTHREAD 0x00200000)
    std::uint64_t min_flt = 0;      ///< field 10, of all threads
    std::uint64_t maj_flt = 0;      ///< field 12, of all threads
    std::int64_t num_threads = 0;   ///< field 20
    std::uint64_t start_ticks = 0;  ///< field 22, clock ticks after boot
    std::uint64_t vsize_bytes = 0;  ///< field 23
    core::Pages rss;                ///< field 24: flushed counters only, each clamped at 0

    bool kernel_thread() const { return (flags & 0x00200000U) != 0; }
    /// Since do_exit() began: the mm may be gone although the task is not a zombie yet.
    bool exiting() const { return (flags & 0x4U) != 0; }
    bool zombie() const { return state == 'Z' || state == 'X' || state == 'x'; }
};

/// /proc/PID/statm, in pages (fs/proc/task_mmu.c task_statm).
struct Statm {
    core::Pages size, resident, shared, text, lib, data, dirty;
};

/// /proc/PID/status. The Vm and Rss lines are absent if the task has no mm (kernel threads, zombies).
struct StatusFile {
    std::string name;  ///< "Name:", with the kernel's \n and \\ escapes undone
    int tgid = 0;
    int pid = 0;
    int ppid = 0;
    std::uint32_t real_uid = 0;
    std::uint32_t effective_uid = 0;
    int threads = 0;
    std::vector<int> ns_pids;  ///< "NSpid:", outermost visible namespace first; empty if the line is missing
    std::optional<core::Kilobytes> vm_size, vm_hwm, vm_rss, hugetlb;
    std::array<std::optional<core::Kilobytes>, core::kMembers> members;  ///< RssFile, RssAnon and so on

    const std::optional<core::Kilobytes> &of(core::Member member) const {
        return members[static_cast<std::size_t>(member)];
    }
};

/// The sizes that smaps_rollup prints, or smaps for one mapping. nullopt: this kernel does not print the line.
struct SmapsFields {
    std::optional<core::Kilobytes> rss, pss, pss_dirty, pss_anon, pss_file, pss_shmem, shared_clean, shared_dirty,
        private_clean, private_dirty, referenced, anonymous, ksm, lazy_free, anon_huge_pages, shmem_pmd_mapped,
        file_pmd_mapped, shared_hugetlb, private_hugetlb, swap, swap_pss, locked;
};

/// 0 for a line that this kernel does not print.
inline core::Kilobytes or_zero(const std::optional<core::Kilobytes> &field) {
    return field.value_or(core::Kilobytes{});
}

/// /proc/PID/smaps_rollup.
struct Rollup {
    SmapsFields sums;
};

/// One mapping of /proc/PID/smaps.
struct Mapping {
    std::uint64_t start = 0;  ///< address of the first byte
    std::uint64_t end = 0;    ///< address after the last byte
    std::string perms;        ///< "rw-p"
    std::uint64_t offset = 0;
    std::string device;  ///< "08:01", hexadecimal
    std::uint64_t inode = 0;
    std::string name;        ///< as the kernel prints it, with escapes (\012) and " (deleted)"; empty: unnamed
    std::string recognised;  ///< the likely name of unnamed anonymous memory, by recognise(); else empty
    core::Kilobytes size;
    SmapsFields fields;
    std::optional<core::Kilobytes> kernel_page_size, mmu_page_size;
    std::optional<std::int64_t> thp_eligible, protection_key;
    std::string vm_flags;  ///< "rd wr mr mw me ac sd"; empty if no flag is set

    /// Whether VmFlags contains `flag`, which has two letters (fs/proc/task_mmu.c show_smap_vma_flags).
    bool has_flag(std::string_view flag) const;
};

core::Result<Stat> parse_stat(std::string_view text);
core::Result<Statm> parse_statm(std::string_view text);
core::Result<StatusFile> parse_status(std::string_view text);
/// Kind::Corrupt also if the text has no Rss or no Locked, which is the last line on every kernel.
core::Result<Rollup> parse_smaps_rollup(std::string_view text);
/// Returns an empty list for empty text: a zombie or a kernel thread has no mappings. Kind::Corrupt also if a mapping
/// has no Size, Rss or VmFlags (its last line on every kernel), or a Size other than end - start.
core::Result<std::vector<Mapping>> parse_smaps(std::string_view text);
/// Parses /proc/PID/maps into mappings without size and fields. Does not detect that text was cut off after a line.
core::Result<std::vector<Mapping>> parse_maps(std::string_view text);
/// The sums over all mappings, field by field; a field that no mapping has stays nullopt. A sum that overflows, which
/// only forged text can cause, becomes INT64_MAX.
SmapsFields sum(const std::vector<Mapping> &mappings);

}  // namespace rsslag::procfs
