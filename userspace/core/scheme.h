// SPDX-License-Identifier: BSD-2-Clause
// How this kernel keeps mm->rss_stat, and how much it can cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace rsslag::core {

/// The largest NR_CPUS of any architecture.
inline constexpr int kMostCpus = 8192;

/// How the kernel keeps mm->rss_stat (docs/kernel.md).
enum class Scheme : std::uint8_t {
    Thread,  ///< each task caches its own updates: 2.6.34 (34e55232e59f) to 6.1
    Cpu,     ///< each CPU caches up to a batch in a percpu_counter: from 6.2 (f1a7941243c1)
    Plain,   ///< nothing is cached: one atomic per member
};

/// Whether CPUs cache updates until they fold them into the counter (lib/percpu_counter.c).
constexpr bool cpus_cache(Scheme scheme) {
    return scheme == Scheme::Cpu;
}

/// Whether tasks cache updates until they flush them (mm/memory.c sync_mm_rss()).
constexpr bool tasks_cache(Scheme scheme) {
    return scheme == Scheme::Thread;
}

/// As in JSON: "thread".
std::string_view name(Scheme scheme);

/// The properties of the machine that the schemes depend on.
struct Machine {
    Scheme scheme = Scheme::Plain;
    PageSize page_size;
    int cpus_online = 1;
    int cpus_possible = 1;
    int cpus_present = 0;  ///< CPUs that may have been online earlier; 0: unknown
    /// Folio orders that anonymous memory may use, one bit each (/sys/kernel/mm/transparent_hugepage); all orders if
    /// not read.
    std::uint32_t anon_orders = 0x3ff;

    /// percpu_counter_batch = max(32, 2 × online CPUs) (lib/percpu_counter.c compute_batch_value); nullopt except on
    /// `cpu`.
    std::optional<std::int64_t> batch() const;
};

/// How much the scheme may cache for one process.
struct Bound {
    Members members;  ///< by member
    Pages rss;        ///< of file, anon and shmem together; on `thread` less than their sum
    bool hard = false;

    friend bool operator==(const Bound &, const Bound &) = default;
};

/// `tasks`: the number of tasks that share the mm. `cpu`, hard: batch − 1 pages for each online CPU and member. The
/// batch is that of all present CPUs: it shrinks when CPUs go offline, while the other CPUs keep what they cache until
/// their next update. `thread`, soft: 64 pages per task in any member, i.e. TASK_RSS_EVENTS_THRESH faults of one page
/// each; a task flushes at its 66th fault (mm/memory.c check_sync_rss_stat). `plain`: 0, hard.
Bound bound(const Machine &machine, std::int64_t tasks);

/// Whether a file of /proc shows flushed or exact counters. rsslag determines it by an experiment, never by the kernel
/// version.
enum class Truth : std::uint8_t { Unknown, Flushed, Exact };

/// As in JSON: "flushed".
std::string_view name(Truth truth);

/// What each file of /proc shows on this kernel.
struct Calibration {
    Truth stat = Truth::Unknown;
    Truth statm = Truth::Unknown;
    Truth status = Truth::Unknown;
};

/// Classifies a file by `shown`, the rss in it for a process whose counters are known and do not change. Unknown
/// if the flushed and the exact rss are equal, or if `shown` is neither of them.
Truth classify_reader(Pages shown, const Members &flushed, const Members &exact);

}  // namespace rsslag::core
