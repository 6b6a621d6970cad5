// SPDX-License-Identifier: BSD-2-Clause
#include "tick_columns.h"

namespace rsslag::core {

TickFigures tick_figures(const Tick &tick, const ReadingFigures &figures) {
    TickFigures all;
    all.seq = tick.seq;
    all.time = tick.time;
    all.state = tick.state;
    all.readers = figures.readers;
    all.walk = figures.walk;
    all.walk_age_ms = tick.process.walk_age_ms;
    all.flushed = figures.flushed;
    all.cached = figures.cached;
    all.exact = figures.exact;
    all.lag = figures.lag;
    all.behind = figures.behind;
    all.residual = figures.residual;
    all.verdict = figures.verdict;
    all.updates = tick.ledger.updates;
    all.updates_by_others = tick.ledger.updates_by_others;
    all.faults = tick.faults;
    all.flushes = flushes(tick.ledger);
    all.lost = tick.lost;
    all.disagreements = tick.ledger.disagreements;
    all.resyncs = tick.ledger.resyncs;
    return all;
}

}  // namespace rsslag::core
