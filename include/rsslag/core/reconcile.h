// SPDX-License-Identifier: BSD-2-Clause
// Counters against page tables: what a process really holds, how far that is from what was walked, and why.
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
    Moved,          ///< the target changed while it was read: the distance from the window
    ExecArguments,  ///< argument pages of a running execve, charged to the old mm as ANON (fs/exec.c acct_arg_size)
    InFlight,       ///< a munmap has taken a mapping out of the tree and not yet zapped all of its pages
    Hwpoison,       ///< poisoned pages: smaps still sees them, the counters do not
    Unexplained,
};

std::string_view name(WalkState state);
std::string_view name(Verdict verdict);
std::string_view name(Cause cause);
std::string_view name(WalkFile file);

/// The walk with the counter readings around it, oldest first; at least one reading, two or more around a walk.
struct Bracket {
    std::vector<CounterReading> readings;
    WalkState walk_state = WalkState::Skipped;
    std::optional<Walk> walk;  ///< present exactly where walk_state is Done
};

/// What is known beyond the two numbers; gathered only where they differ.
struct Evidence {
    bool in_execve = false;         ///< a task of the mm is inside execve()
    std::optional<Pages> mapped;    ///< Σ size of the mappings that smaps listed, without [vsyscall]
    std::optional<Pages> poisoned;  ///< page-table entries of this mm that point at poisoned pages
};

struct Window {
    Pages min, max;  ///< exact RSS over all readings
};

/// How far `value` lies outside of the window, signed; 0 within it.
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
    std::optional<Pages> residual;      ///< walked − exact; for Moving the distance from the window; null unwalked
    std::vector<ResidualCause> causes;  ///< their sum is the residual
};

/// Whether anything at all changed from one reading to the next: counters or the second witness (faults of all tasks
/// ever of the group, total_vm, map_count, the tasks themselves). Equal counters alone prove nothing: a target may map,
/// touch and unmap between two readings.
bool moved(const CounterReading &earlier, const CounterReading &later);

/// Pure. `evidence` may only explain, never change, the residual.
Reconciliation reconcile(const Bracket &bracket, const PageSize &page_size, const Evidence &evidence = {});

}  // namespace rsslag::core
