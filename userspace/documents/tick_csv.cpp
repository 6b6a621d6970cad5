// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/text.h"
#include "core/tick_columns.h"
#include "csv_cells.h"
#include "documents/tick.h"

namespace rsslag::documents {
namespace {

/// Columns are named by the path in rsslag.tick/2, with _ for the dots.
CsvCells cells_of(const Tick &tick, std::uint64_t lines_dropped) {
    namespace columns = core::columns;
    const core::ReadingFigures figures = figures_of(tick);
    const core::TickFigures flat = core::tick_figures(tick, figures);
    const std::optional<double> bpf = tick.own.bpf_ns_per_event;
    CsvCells cells;
    cells.put(columns::kTime, flat);
    cells.put("t_ns", tick.t_ns);
    cells.put(columns::kSeq, flat);
    cells.put("pid", tick.process.pid);
    cells.put("comm", core::printable(tick.process.comm));
    cells.put(columns::kState, flat);
    cells.put("scheme", core::name(tick.scheme));
    cells.put("page_size", tick.page_size.bytes);
    cells.put("threads_count", tick.process.threads_count);
    cells.put(columns::kStat, flat.readers, tick.page_size);
    cells.put(columns::kStatm, flat.readers, tick.page_size);
    cells.put(columns::kStatusRss, flat.readers, tick.page_size);
    cells.put(columns::kStatusMembers, flat.readers, tick.page_size);
    cells.put(columns::kStatusHwm, flat.readers, tick.page_size);
    cells.put("walk", core::name(figures.walk_state));
    cells.put(columns::kWalkedRss, flat.walk, tick.page_size);
    cells.put(columns::kWalkedAge, flat);
    cells.put(columns::kFlushed, flat);
    cells.put(columns::kCached, flat);
    cells.put(columns::kExact, flat);
    cells.put("bound_rss", figures.bound ? std::optional(figures.bound->rss.n) : std::nullopt);
    cells.put(columns::kLag, flat);
    cells.put(columns::kBehind, flat);
    cells.put("window_min", figures.window.min.n);
    cells.put("window_max", figures.window.max.n);
    cells.put("window_updates", figures.window_updates);
    cells.put(columns::kResidual, flat);
    cells.put(columns::kVerdict, flat);
    cells.put(columns::kUpdates, flat);
    cells.put(columns::kUpdatesByOthers, flat);
    cells.put(columns::kFaults, flat);
    cells.put(columns::kFlushes, flat);
    cells.put(columns::kLost, flat);
    cells.put(columns::kDisagreements, flat);
    cells.put(columns::kResyncs, flat);
    cells.put("own_cpu_percent", fmt::format("{:.2f}", tick.own.cpu_percent));
    cells.put("own_bpf_ns_per_event", bpf ? std::optional(fmt::format("{:.2f}", *bpf)) : std::nullopt);
    cells.put("own_rss_kb", tick.own.rss.n);
    cells.put("lines_dropped", lines_dropped);  // counts lines of the output, not of the tick
    return cells;
}

}  // namespace

std::string csv_header() {
    return cells_of({}, 0).names_line();
}

std::string tick_csv(const Tick &tick, std::uint64_t lines_dropped) {
    return cells_of(tick, lines_dropped).line();
}

}  // namespace rsslag::documents
