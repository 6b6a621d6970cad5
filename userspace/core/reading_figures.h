// SPDX-License-Identifier: BSD-2-Clause
// The numbers of a reading, computed in one place, so that JSON, CSV and text agree.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/tick.h"

namespace rsslag::core {

/// The numbers of a reading. nullopt: unknown.
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
    std::optional<std::uint64_t> window_updates;  ///< updates while the process was read
    std::optional<Pages> residual;
    std::vector<ResidualCause> causes;
    Verdict verdict = Verdict::Unwalked;
};

/// The figures of a snapshot; window_updates is nullopt.
ReadingFigures figures_of(const ProcessReading &process);

/// The figures of a tick. Flushed, cached and exact are the ledger's. If they differ from the reading, or the ledger
/// needs a resync or is suspect, the verdict is Moving and there is no cause except Moved. Without a reading
/// there are no readers, walk, behind, residual and window_updates, and the verdict is Unwalked. A process that has
/// ended has no bound and no lag either.
ReadingFigures figures_of(const Tick &tick);

/// The mark before an uncertain number in text (docs/words.md): Approximate is '~', AfterLoss is '!'.
enum class Mark : std::uint8_t { None, Approximate, AfterLoss };
Mark mark(const Tick &tick, const ReadingFigures &figures);

/// The threads that a tick lists, by `tick.threads`: ascending by host TID, or for Top those that cache most (whose net
/// is largest, if what they cache is unknown), the largest first.
std::vector<const TaskNet *> listed_threads(const Tick &tick);

/// The flush reasons of this scheme, in print order.
std::vector<FlushReason> reasons(Scheme scheme);
/// The number of flushes or folds, without direct updates.
std::uint64_t flushes(const MmView &mm);

/// The pages of the updated member that stay cached after an update; nullopt if unknown. After a flush they are 0,
/// since the record shows what the task cached before the flush. The record of a direct update of another task's mm
/// shows what the task caches of its own mm, so the result is nullopt.
std::optional<std::int64_t> cached_after(const rsslag_update &update, const Applied &applied);

}  // namespace rsslag::core
