// SPDX-License-Identifier: BSD-2-Clause
#include "core/reading_figures.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace rsslag::core {
namespace {

void widen(Window &window, Pages min, Pages max) {
    window.min = std::min(window.min, min);
    window.max = std::max(window.max, max);
}

/// There is no reading: only the numbers of the ledger and the last known names are left. A process that runs on still
/// has the bound of its last reading.
void forget_reading(ReadingFigures &figures, const Tick &tick) {
    const bool runs = tick.state == State::Running;
    figures.readers = {};
    if (runs || figures.walk_state != WalkState::Skipped)
        figures.walk_state = runs ? WalkState::Skipped : WalkState::Gone;
    figures.walk.reset();
    if (!runs) figures.bound.reset();
    figures.mm_tasks = tick.ledger.tasks.size();
    figures.lag = runs ? std::optional(lag(figures.exact, figures.flushed)) : std::nullopt;
    figures.behind.reset();
    figures.window = {figures.exact.rss(), figures.exact.rss()};
    figures.window_updates.reset();
    figures.residual.reset();
    figures.causes.clear();
    figures.verdict = Verdict::Unwalked;
}

/// A walk takes time, so it is compared with all values of exact meanwhile. A walk of an earlier tick is not compared,
/// because the window is that of this tick.
void set_moving(ReadingFigures &figures, const Tick &tick) {
    figures.verdict = Verdict::Moving;
    const MmView &ledger = tick.ledger;
    widen(figures.window, figures.exact.rss(), figures.exact.rss());
    // Both are 0 if the ledger did not watch. If it watched an empty mm, exact has widened the window already.
    const bool watched = ledger.rss_min.n != 0 || ledger.rss_max.n != 0;
    if (watched) widen(figures.window, ledger.rss_min, ledger.rss_max);
    figures.residual.reset();
    figures.causes.clear();
    if (!figures.walk || tick.stale_walk || tick.needs_resync) return;
    figures.residual = distance(figures.window, tick.page_size.pages(figures.walk->rss));
    if (figures.residual->n != 0) figures.causes = {{Cause::Moved, *figures.residual}};
}

/// What Top sorts by: what the thread caches if that is known, else its net.
std::int64_t weight(const TaskNet &task) {
    return std::llabs((task.cached ? task.cached->rss() : task.net.rss()).n);
}

bool changed(const TaskNet &task, const std::map<int, std::uint64_t> &before) {
    const auto known = before.find(task.host_tid);
    return task.updates != (known == before.end() ? 0 : known->second);
}

}  // namespace

ReadingFigures figures_of(const ProcessReading &process) {
    const Reconciliation &verdict = process.verdict;
    ReadingFigures figures;
    figures.readers = process.readers;
    figures.walk_state = process.walk_state;
    figures.walk = process.walk;
    figures.bound = process.bound;
    figures.mm_tasks = process.tasks.size() + process.unlisted_tasks;
    figures.flushed = verdict.flushed;
    figures.cached = verdict.cached;
    figures.exact = verdict.exact;
    figures.lag = lag(figures.exact, figures.flushed);
    figures.behind = behind(process.finding());
    figures.window = verdict.window;
    figures.residual = verdict.residual;
    figures.causes = verdict.causes;
    figures.verdict = verdict.verdict;
    return figures;
}

ReadingFigures figures_of(const Tick &tick) {
    ReadingFigures figures = figures_of(tick.process);
    figures.flushed = tick.ledger.flushed;
    figures.cached = tick.ledger.cached;
    figures.exact = tick.ledger.exact();
    if (!tick.read || tick.state != State::Running) {
        forget_reading(figures, tick);
        return figures;
    }
    figures.window_updates = tick.window_updates;
    figures.lag = lag(figures.exact, figures.flushed);
    if (figures.readers.stat) figures.behind = figures.exact.rss() - *figures.readers.stat;
    const bool other_exact = figures.exact != tick.process.verdict.exact;
    if (figures.verdict == Verdict::Moving || other_exact || tick.needs_resync || tick.ledger.suspect)
        set_moving(figures, tick);
    return figures;
}

Mark mark(const Tick &tick, const ReadingFigures &figures) {
    if (tick.needs_resync) return Mark::AfterLoss;
    // Without a reading there are only records, and on the `thread` scheme there are none while a thread caches.
    const bool unread = !tick.read && tick.state == State::Running && tasks_cache(tick.scheme);
    return unread || figures.verdict == Verdict::Moving ? Mark::Approximate : Mark::None;
}

std::vector<const TaskNet *> listed_threads(const Tick &tick) {
    using Which = ThreadChoice::Which;
    std::vector<const TaskNet *> listed;
    if (tick.threads.which == Which::None) return listed;
    for (const TaskNet &task : tick.ledger.tasks) {
        if (tick.threads.which != Which::Changed || changed(task, tick.updates_before)) listed.push_back(&task);
    }
    if (tick.threads.which != Which::Top) return listed;
    const auto before = [](const TaskNet *a, const TaskNet *b) {
        return std::tuple(-weight(*a), a->tid, a->host_tid) < std::tuple(-weight(*b), b->tid, b->host_tid);
    };
    const std::size_t kept = std::min(tick.threads.top, listed.size());
    std::partial_sort(listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(kept), listed.end(), before);
    listed.resize(kept);
    return listed;
}

std::vector<FlushReason> reasons(Scheme scheme) {
    switch (scheme) {
        case Scheme::Thread:
            return {FlushReason::Threshold, FlushReason::Zap, FlushReason::Exec, FlushReason::Exit,
                    FlushReason::Direct};
        case Scheme::Cpu: return {FlushReason::Fold};
        case Scheme::Plain: break;
    }
    return {FlushReason::Direct};
}

std::uint64_t flushes(const MmView &mm) {
    std::uint64_t sum = 0;
    for (std::size_t reason = 0; reason < kFlushReasons; ++reason) {
        if (static_cast<FlushReason>(reason) != FlushReason::Direct) sum += mm.flushes[reason];
    }
    return sum;
}

std::optional<std::int64_t> cached_after(const rsslag_update &update, const Applied &applied) {
    if (!applied.known) return std::nullopt;
    if (!applied.reason || *applied.reason == FlushReason::Fold) return update.cached;
    if (*applied.reason != FlushReason::Direct) return 0;
    if ((update.flags & RSSLAG_OWN) != 0) return update.cached;
    return std::nullopt;
}

}  // namespace rsslag::core
