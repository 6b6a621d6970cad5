// SPDX-License-Identifier: BSD-2-Clause
// Readings: what the probe and /proc told, before any judgement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/scheme.h"
#include "rsslag/core/units.h"

namespace rsslag::core {

/// One task of the mm. PIDs are those of rsslag's own PID namespace (0 where not visible there), host_* the kernel's.
struct TaskReading {
    int tid = 0;
    int tgid = 0;
    int host_tid = 0;
    int host_tgid = 0;
    std::string comm;                 ///< raw bytes
    Members cached;                   ///< `thread` scheme only
    int faults_since_flush = 0;       ///< task->rss_stat.events, `thread` scheme only
    std::uint64_t faults_before = 0;  ///< min_flt + maj_flt, read before `cached`
    std::uint64_t faults_after = 0;   ///< … and after it
    std::uint64_t group_faults = 0;   ///< of the group's exited threads
    bool in_execve = false;
};

struct CpuReading {
    int cpu = 0;
    Members cached;

    friend bool operator==(const CpuReading &, const CpuReading &) = default;
};

/// The mm's own values at one moment of a pass. CPUs that cache nothing are left out.
struct MmReading {
    Members flushed;
    std::vector<CpuReading> cpus;  ///< `cpu` scheme only, ascending
    std::uint64_t total_vm = 0;    ///< pages
    std::int64_t map_count = 0;

    friend bool operator==(const MmReading &, const MmReading &) = default;
};

/// One pass of the iterator: the mm, its tasks one after another, and the mm again.
struct CounterReading {
    Scheme scheme = Scheme::Plain;
    std::uint64_t mm = 0;  ///< the mm_struct's address: an identity to compare, never shown
    int mm_users = 0;      ///< tasks plus whoever else holds a reference for now
    MmReading first;
    MmReading last;
    std::vector<TaskReading> tasks;  ///< ascending by host TID
    std::int64_t took_us = 0;

    /// Σ of what tasks or CPUs cache, in the mm's state after the walk over the tasks.
    Members cached() const;
    Members flushed() const { return last.flushed; }
    Members exact() const { return flushed() + cached(); }
};

/// One process as a pass over all tasks saw it: no page table was walked and no event was needed.
struct ProcessTotal {
    int tgid = 0;  ///< in rsslag's PID namespace, 0 where it is not visible there
    int host_tgid = 0;
    std::string comm;              ///< of the leader, raw bytes
    std::uint64_t mm = 0;          ///< the mm_struct's address: an identity to compare, never shown
    std::int64_t tasks = 0;        ///< that have not begun to exit
    std::int64_t threads = 0;      ///< as /proc/PID/status counts them: a main thread that ended before the others, too
    std::uint64_t started_ns = 0;  ///< since boot, without suspend
    std::int64_t cachers = 0;      ///< tasks or CPUs whose cached file, anon or shmem is not 0
    Members flushed, cached;       ///< of the mm, all groups that share it included
    bool leader_gone = false;      ///< the main thread has ended: /proc/PID/stat sees no memory
    bool moved = false;            ///< its counters changed while the pass went over it

    Members exact() const { return flushed + cached; }
};

/// What /proc's own counters-based files said. A field that a file did not have is nullopt.
struct ReaderValues {
    std::optional<Pages> stat;
    std::optional<Pages> statm;
    std::optional<Kilobytes> status_rss, status_anon, status_file, status_shmem, status_swap, status_hwm;
};

enum class WalkFile : std::uint8_t { SmapsRollup, Smaps };

/// What the page tables said.
struct Walk {
    WalkFile file = WalkFile::SmapsRollup;
    Kilobytes rss, pss, swap;
    std::optional<Kilobytes> anonymous;  ///< the "Anonymous:" sum: pages counted as ANON
    std::int64_t took_us = 0;
};

}  // namespace rsslag::core
