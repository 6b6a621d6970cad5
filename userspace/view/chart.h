// SPDX-License-Identifier: BSD-2-Clause
// What is flushed and what is cached over time, drawn as two areas that add up to what is exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/units.h"
#include "rsslag/view/grid.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view {

/// Where something is drawn.
struct Area {
    int row = 0, column = 0, rows = 0, columns = 0;
};

struct ChartPoint {
    std::uint64_t t_ns = 0;
    core::Pages flushed, cached;
    std::optional<core::Pages> walked;
    bool needs_resync = false;  ///< after a loss, before the resync
};

struct Chart {
    std::vector<ChartPoint> points;  ///< ascending in time
    std::uint64_t now_ns = 0;        ///< the right edge
    std::uint64_t span_ns = 0;       ///< from the left edge to it
    core::PageSize page_size;
};

/// The shortest of the spans on offer that holds `age_ns`, else the longest.
std::uint64_t chart_span(std::uint64_t age_ns);

/// Nothing where there is no room for a row of cells and the time below it.
void draw_chart(Grid &grid, const Area &area, const Chart &chart, const TextStyle &style);

/// "RSS  █ flushed  ░ cached (hidden)  ◆ smaps walk": as much of it as there is room for.
void draw_legend(Grid &grid, int row, int column, int end, std::string_view what, const TextStyle &style);

}  // namespace rsslag::view
