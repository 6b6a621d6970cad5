// SPDX-License-Identifier: BSD-2-Clause
// What a reading comes to, decided once so that JSON, CSV and lines for people never tell it differently.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rsslag/view/tick.h"

namespace rsslag::view {

/// The numbers of a reading, as they are printed.
struct Judgement {
    core::ReaderValues readers;
    core::WalkState walk_state = core::WalkState::Skipped;
    std::optional<core::Walk> walk;
    std::optional<core::Bound> bound;
    std::size_t mm_tasks = 0;
    core::Members flushed, cached, exact;
    std::optional<core::Pages> lag;
    core::Window window;
    std::optional<std::uint64_t> window_updates;
    std::optional<core::Pages> residual;
    std::vector<core::ResidualCause> causes;
    core::Verdict verdict = core::Verdict::Unwalked;
};

Judgement judge(const ProcessReading &process);

/// Flushed, cached and exact are the ledger's. Where these are not what the reading saw, or a loss has put them in
/// doubt, nothing is compared: the verdict is moving. What has ended has no readers, no walk and no bound.
Judgement judge(const Tick &tick);

/// How far an approximate number may be trusted: the mark before it in text.
enum class Mark : std::uint8_t { None, Approximate, AfterLoss };
Mark mark(const Tick &tick, const Judgement &judgement);

/// The threads that a tick lists: all and changed by TID, top largest first.
std::vector<const core::TaskNet *> listed_threads(const Tick &tick);

/// The reasons that there are under this scheme, in the order they are printed in.
std::vector<core::FlushReason> reasons(core::Scheme scheme);
/// Flushes and folds, without the updates that were direct.
std::uint64_t flushes(const core::MmView &mm);

}  // namespace rsslag::view
