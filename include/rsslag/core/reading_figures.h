// SPDX-License-Identifier: BSD-2-Clause
// What a reading comes to, decided once so that JSON, CSV and lines for people never tell it differently.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rsslag/core/tick.h"

namespace rsslag::core {

/// The numbers of a reading, as they are printed.
struct ReadingFigures {
    ReaderValues readers;
    WalkState walk_state = WalkState::Skipped;
    std::optional<Walk> walk;
    std::optional<Bound> bound;
    std::size_t mm_tasks = 0;
    Members flushed, cached, exact;
    std::optional<Pages> lag;     ///< exact less what is flushed, as a reader of that alone shows it
    std::optional<Pages> behind;  ///< exact less what stat said at another moment
    Window window;
    std::optional<std::uint64_t> window_updates;
    std::optional<Pages> residual;
    std::vector<ResidualCause> causes;
    Verdict verdict = Verdict::Unwalked;
};

ReadingFigures figures_of(const ProcessReading &process);

/// Flushed, cached and exact are the ledger's. Where these are not what the reading saw, or a loss has put them in
/// doubt, nothing is compared: the verdict is moving. What has ended has no readers, no walk and no bound.
ReadingFigures figures_of(const Tick &tick);

/// How far an approximate number may be trusted: the mark before it in text.
enum class Mark : std::uint8_t { None, Approximate, AfterLoss };
Mark mark(const Tick &tick, const ReadingFigures &figures);

/// The threads that a tick lists: all and changed by TID, top largest first.
std::vector<const TaskNet *> listed_threads(const Tick &tick);

/// The reasons that there are under this scheme, in the order they are printed in.
std::vector<FlushReason> reasons(Scheme scheme);
/// Flushes and folds, without the updates that were direct.
std::uint64_t flushes(const MmView &mm);

/// What stays cached after an update. The record of a thread's flush shows what the flush then takes away; that of a
/// direct update of somebody else's mm shows what the thread caches of its own.
std::optional<std::int64_t> cached_after(const rsslag_update &update, const Applied &applied);

}  // namespace rsslag::core
