// SPDX-License-Identifier: BSD-2-Clause
// Compares counters with page tables: the exact RSS, its difference from the walk, and the causes of the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/reading.h"
#include "core/units.h"

namespace rsslag::core {

/// Whether the page tables were walked; if not, why not.
enum class WalkState : std::uint8_t { Done, Skipped, Denied, Gone, Unsupported };
/// Whether the page tables confirm a reading. Moving: the process changed meanwhile. Unwalked: there is no walk.
enum class Verdict : std::uint8_t { Agrees, Explained, Moving, Unexplained, Unwalked };
/// Why a walk differs from the counters.
enum class Cause : std::uint8_t {
    Moved,          ///< the target changed while it was read; pages: the distance of the walk from the window
    ExecArguments,  ///< argument pages of a running execve, charged to the old mm as ANON (fs/exec.c acct_arg_size)
    /// A munmap has removed a mapping from the tree and not zapped all of its pages yet (mm/vma.c
    /// vms_complete_munmap_vmas).
    InFlight,
    Hwpoison,  ///< poisoned pages: smaps counts them, the counters do not
    Unexplained,
};

// Names as in JSON: "exec_arguments".
std::string_view name(WalkState state);
std::string_view name(Verdict verdict);
std::string_view name(Cause cause);
std::string_view name(WalkFile file);

/// A walk with the counter readings around it, oldest first: at least one reading, at least two if there is a walk.
struct Bracket {
    std::vector<CounterReading> readings;
    WalkState walk_state = WalkState::Skipped;
    std::optional<Walk> walk;  ///< present if and only if walk_state is Done
};

/// Facts that may explain a difference; gathered only if there is one.
struct Evidence {
    bool in_execve = false;         ///< a task of the mm is inside execve()
    std::optional<Pages> mapped;    ///< total size of the mappings in smaps, without [vsyscall]
    std::optional<Pages> poisoned;  ///< page-table entries of this mm that point to poisoned pages
};

/// The range of the exact rss over all readings of a bracket.
struct Window {
    Pages min, max;
};

/// The signed distance of `value` from the window; 0 if it is inside.
Pages distance(const Window &window, Pages value);

/// A part of the residual.
struct ResidualCause {
    Cause cause;
    Pages pages;  ///< signed, as the residual

    friend bool operator==(const ResidualCause &, const ResidualCause &) = default;
};

/// The result of reconcile().
struct Reconciliation {
    Members flushed, cached, exact;  ///< of the last reading
    Window window;
    Verdict verdict = Verdict::Unwalked;
    /// Walked − exact; for Moving the distance of the walk from the window; nullopt without a walk.
    std::optional<Pages> residual;
    std::vector<ResidualCause> causes;  ///< their sum is the residual
};

/// Whether the process changed between two readings: its counters, total_vm, map_count, its set of tasks, or the sum of
/// the faults of living and exited tasks. Equal counters are not enough, since a process may map, touch and unmap
/// memory between two readings.
bool moved(const CounterReading &earlier, const CounterReading &later);

/// Compares the last reading of `bracket` with its walk. `evidence` may explain the residual but never changes it.
/// Pure.
Reconciliation reconcile(const Bracket &bracket, const PageSize &page_size, const Evidence &evidence = {});

}  // namespace rsslag::core
