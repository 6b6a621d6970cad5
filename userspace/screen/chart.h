// SPDX-License-Identifier: BSD-2-Clause
// A chart over time: flushed and cached as two areas that add up to exact.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/course.h"
#include "core/units.h"
#include "documents/grid.h"
#include "documents/snapshot.h"

namespace rsslag::screen {

using documents::Area;
using documents::Grid;
using documents::Look;
using documents::TextStyle;

struct ChartPoint {
    std::uint64_t t_ns = 0;
    core::Pages flushed, cached;
    std::optional<core::Pages> walked;
    bool needs_resync = false;  ///< after a loss, before the resync
    core::Pages lag{};          ///< core::lag()
    /// Of exact, from this time until the next point, by every record; nullopt: not known.
    std::optional<core::Pages> least{}, most{};
};

/// Something at an instant.
struct ChartMark {
    enum class What : std::uint8_t { Exec, Peak };
    std::uint64_t t_ns = 0;
    What what = What::Exec;
};

struct Chart {
    std::vector<ChartPoint> points;  ///< ascending in time
    std::vector<ChartMark> marks;    ///< later ones are drawn on top
    std::uint64_t now_ns = 0;        ///< the right edge
    std::uint64_t span_ns = 0;       ///< from the left edge to the right one
    core::PageSize page_size;
    std::string right = "now";  ///< the text at the right edge
    /// The lag has a strip of its own below the chart, if there is space. Its scale goes up to `lag_bound` if that is
    /// known and higher than all lags.
    bool lag_strip = false;
    std::optional<core::Pages> lag_bound;

    /// Adds what records show between the points, from this time on.
    void add(const std::deque<core::CourseSpan> &course, std::uint64_t from_ns);
};

/// The shortest available span of at least `age_ns`, else the longest.
std::uint64_t chart_span(std::uint64_t age_ns);

/// Draws nothing if there are fewer than three rows or no points.
void draw_chart(Grid &grid, const Area &area, const Chart &chart, const TextStyle &style);

/// "RSS  █ flushed  ░ cached (hidden)  ◆ smaps walk  ╎ lowest to highest", cut after the last item that fits. `ranges`:
/// with the last one.
void draw_legend(Grid &grid, int row, int column, int end, std::string_view what, bool ranges, const TextStyle &style);

}  // namespace rsslag::screen
