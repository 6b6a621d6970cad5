// SPDX-License-Identifier: BSD-2-Clause
// How this kernel keeps mm->rss_stat, and how much it lets hide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/units.h"

namespace rsslag::core {

/// NR_CPUS is no more on any architecture.
inline constexpr int kMostCpus = 8192;

enum class Scheme : std::uint8_t {
    Thread,  ///< each task caches its own updates: 2.6.34 to 6.1
    Cpu,     ///< each CPU caches up to a batch: from 6.2
    Plain,   ///< nothing is cached: one atomic a member
};

/// Whether CPUs cache updates until they fold them into the counter (lib/percpu_counter.c).
constexpr bool cpus_cache(Scheme scheme) {
    return scheme == Scheme::Cpu;
}

/// Whether tasks cache updates until they flush them (mm/memory.c sync_mm_rss()).
constexpr bool tasks_cache(Scheme scheme) {
    return scheme == Scheme::Thread;
}

std::string_view name(Scheme scheme);

/// What the machine brings to the schemes.
struct Machine {
    Scheme scheme = Scheme::Plain;
    PageSize page_size;
    int cpus_online = 1;
    int cpus_possible = 1;
    int cpus_present = 0;  ///< those that may have been online before; 0: not known
    /// Orders of folios that anonymous memory may come in here, a bit each (/sys/kernel/mm/transparent_hugepage); all
    /// where nobody has looked.
    std::uint32_t anon_orders = 0x3ff;

    /// percpu_counter_batch = max(32, 2 × online CPUs) (lib/percpu_counter.c compute_batch_value); only on `cpu`.
    std::optional<std::int64_t> batch() const;
};

/// The most that the scheme lets hide for one process.
struct Bound {
    Members members;  ///< by member
    Pages rss;        ///< of file, anon and shmem together: on `thread` less than the members' sum
    bool hard = false;

    friend bool operator==(const Bound &, const Bound &) = default;
};

/// `tasks` are those that share the mm. On `cpu` hard: (batch − 1) pages an online CPU and member, with the largest
/// batch that may have been in force: it shrinks as CPUs go offline, and what the others cache stays until their next
/// update. On `thread` soft: 64 faults a task before the 66th flushes (mm/memory.c check_sync_rss_stat,
/// TASK_RSS_EVENTS_THRESH), each of them commonly one page, whatever its member. On `plain` 0.
Bound bound(const Machine &machine, std::int64_t tasks);

/// Whether a /proc file shows flushed or exact counters, as told by an experiment, never by version.
enum class Truth : std::uint8_t { Unknown, Flushed, Exact };

std::string_view name(Truth truth);

struct Calibration {
    Truth stat = Truth::Unknown;
    Truth statm = Truth::Unknown;
    Truth status = Truth::Unknown;
};

/// What a reader said of a process whose counters are known and did not move: says which of the two it shows. Unknown
/// where flushed and exact are equal (the experiment tells nothing) or where it is neither.
Truth classify_reader(Pages says, const Members &flushed, const Members &exact);

}  // namespace rsslag::core
