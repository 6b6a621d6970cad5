// SPDX-License-Identifier: BSD-2-Clause
// The numbers of a reading, computed in one place, so that JSON, CSV and text agree.
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
    std::optional<Pages> lag;     ///< core::lag()
    std::optional<Pages> behind;  ///< exact rss − stat, which was read at another moment
    Window window;
    std::optional<std::uint64_t> window_updates;
    std::optional<Pages> residual;
    std::vector<ResidualCause> causes;
    Verdict verdict = Verdict::Unwalked;
};

ReadingFigures figures_of(const ProcessReading &process);

/// Flushed, cached and exact are the ledger's. If they differ from the reading, or the ledger needs a resync, the
/// verdict is Moving and there is no cause except Moved. A process that has ended or could not be read has no readers,
/// walk, bound, lag or residual.
ReadingFigures figures_of(const Tick &tick);

/// The mark before an uncertain number in text: '~' or '!'.
enum class Mark : std::uint8_t { None, Approximate, AfterLoss };
Mark mark(const Tick &tick, const ReadingFigures &figures);

/// The threads that a tick lists: by TID, or for Top the largest first.
std::vector<const TaskNet *> listed_threads(const Tick &tick);

/// The flush reasons of this scheme, in print order.
std::vector<FlushReason> reasons(Scheme scheme);
/// The number of flushes or folds, without direct updates.
std::uint64_t flushes(const MmView &mm);

/// What stays cached after an update; nullopt if unknown. The record of a flush shows what the task cached before it,
/// so 0 is left. A direct update of another task's mm shows what the task caches of its own mm, which does not count
/// here.
std::optional<std::int64_t> cached_after(const rsslag_update &update, const Applied &applied);

}  // namespace rsslag::core
