// SPDX-License-Identifier: BSD-2-Clause
// Readings: raw values from the probe and from /proc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/scheme.h"
#include "core/units.h"

namespace rsslag::core {

/// One task of an mm. tid and tgid are in rsslag's PID namespace (0 if not visible there); host_tid and host_tgid are
/// in the initial one.
struct TaskReading {
    int tid = 0;
    int tgid = 0;
    int host_tid = 0;
    int host_tgid = 0;
    std::string comm;                 ///< raw bytes
    Members cached;                   ///< `thread` scheme only
    int faults_since_flush = 0;       ///< task->rss_stat.events, `thread` scheme only
    std::uint64_t faults_before = 0;  ///< min_flt + maj_flt, read before `cached`
    std::uint64_t faults_after = 0;   ///< min_flt + maj_flt, read after `cached`
    std::uint64_t group_faults = 0;   ///< of the group's threads that have exited (signal->min_flt + maj_flt)
    bool in_execve = false;
};

/// What one CPU caches of an mm (`cpu` scheme).
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

/// One pass of the iterator: the mm, then its tasks, then the mm again.
struct CounterReading {
    Scheme scheme = Scheme::Plain;
    std::uint64_t mm = 0;  ///< address of the mm_struct, only to compare mms; never shown to users
    int mm_users = 0;      ///< mm->mm_users: tasks, plus temporary references, e.g. by readers of /proc
    MmReading first;
    MmReading last;
    std::vector<TaskReading> tasks;  ///< ascending by host TID
    std::int64_t took_us = 0;
    /// Of the process that was read, as in ProcessTotal. A recording has only the comm, and only that of TimedCounters.
    std::int64_t threads = 0;
    std::string comm;
    std::uint64_t started_ns = 0;

    /// The sum of what tasks or CPUs cache; CPUs' values are those read after the tasks.
    Members cached() const;
    Members flushed() const { return last.flushed; }
    Members exact() const { return flushed() + cached(); }
};

/// One process in a pass of the iterator over all tasks of the machine.
struct ProcessTotal {
    int tgid = 0;  ///< in rsslag's PID namespace, 0 if not visible there
    int host_tgid = 0;
    int host_ppid = 0;       ///< host TGID of the parent; 0: none
    std::string comm;        ///< of the leader, raw bytes
    std::uint64_t mm = 0;    ///< as CounterReading::mm
    std::int64_t tasks = 0;  ///< signal->live: tasks that have not begun to exit
    /// signal->nr_threads, as in /proc/PID/status: includes a main thread that ended before the others.
    std::int64_t threads = 0;
    std::uint64_t started_ns = 0;  ///< CLOCK_MONOTONIC
    std::int64_t cachers = 0;      ///< tasks or CPUs whose cached file, anon or shmem is not 0
    Members flushed, cached;       ///< of the mm, including all groups that share it
    bool leader_gone = false;      ///< the main thread has ended: /proc/PID/stat shows no memory
    bool moved = false;            ///< the counters changed during the pass

    Members exact() const { return flushed + cached; }
};

/// The values of those files of /proc that show counters. nullopt: the file has no such field, or could not be read.
struct ReaderValues {
    std::optional<Pages> stat;
    std::optional<Pages> statm;
    std::optional<Kilobytes> status_rss, status_hwm;
    std::array<std::optional<Kilobytes>, kMembers> status_members;  ///< by number

    constexpr std::optional<Kilobytes> &status(Member member) {
        return status_members[static_cast<std::size_t>(member)];
    }
    constexpr const std::optional<Kilobytes> &status(Member member) const {
        return status_members[static_cast<std::size_t>(member)];
    }
};

enum class WalkFile : std::uint8_t { SmapsRollup, Smaps };

/// What the page tables show.
struct Walk {
    WalkFile file = WalkFile::SmapsRollup;
    Kilobytes rss, pss, swap;
    std::optional<Kilobytes> anonymous;  ///< sum of the "Anonymous:" lines: pages counted as ANON
    std::int64_t took_us = 0;
};

}  // namespace rsslag::core
