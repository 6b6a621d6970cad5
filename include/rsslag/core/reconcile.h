// SPDX-License-Identifier: BSD-2-Clause
// Compares counters with page tables: the exact RSS, its difference from the walk, and the causes of the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rsslag/core/reading.h"
#include "rsslag/core/units.h"

namespace rsslag::core {

enum class WalkState : std::uint8_t { Done, Skipped, Denied, Gone, Unsupported };
enum class Verdict : std::uint8_t { Agrees, Explained, Moving, Unexplained, Unwalked };
enum class Cause : std::uint8_t {
    Moved,          ///< the target changed while it was read; pages: the distance of the walk from the window
    ExecArguments,  ///< argument pages of a running execve, charged to the old mm as ANON (fs/exec.c acct_arg_size)
    InFlight,       ///< a munmap has removed a mapping from the tree but not yet zapped all of its pages
    Hwpoison,       ///< poisoned pages: smaps counts them, the counters do not
    Unexplained,
};

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

struct Window {
    Pages min, max;  ///< exact RSS over all readings
};

/// The signed distance of `value` from the window; 0 if it is inside.
Pages distance(const Window &window, Pages value);

struct ResidualCause {
    Cause cause;
    Pages pages;

    friend bool operator==(const ResidualCause &, const ResidualCause &) = default;
};

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
