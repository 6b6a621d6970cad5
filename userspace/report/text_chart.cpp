// SPDX-License-Identifier: BSD-2-Clause
#include "text_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace rsslag::report {
namespace {

constexpr std::size_t kColumns = 60;
constexpr std::int64_t kRows = 6;
constexpr std::int64_t kEighths = 8;

/// A column, in eighths of a row: solid up to the least, shaded from there to the most.
struct Bar {
    std::int64_t least = 0, most = 0;
};
using Bars = std::vector<std::optional<Bar>>;

/// A cell of a column; `below` eighths of the column are below this row. 0 is drawn as a line, an unknown value as a
/// blank.
std::string_view cell(const std::optional<Bar> &bar, std::int64_t below, bool utf8) {
    constexpr std::array<std::string_view, 9> kBlocks{"_",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                      "\u2585", "\u2586", "\u2587", "\u2588"};
    if (!bar) return " ";
    const std::int64_t full = std::clamp<std::int64_t>(bar->least - below, 0, kEighths);
    const std::int64_t any = std::clamp<std::int64_t>(bar->most - below, 0, kEighths);
    if (any == 0) return below == 0 ? "_" : " ";
    if (any - full > kEighths / 2) return utf8 ? "\u2591" : ":";
    if (utf8) return kBlocks[static_cast<std::size_t>(any)];
    return any <= kEighths / 2 ? "." : "#";
}

struct Chart {
    std::string_view title;
    Bars bars;
    core::Pages most;  ///< value at the top of the chart
};

/// Height in eighths of a row, at least 1 for a positive value.
std::int64_t height(core::Pages value, core::Pages top) {
    if (value.n <= 0) return 0;
    return std::max<std::int64_t>(value.n * kRows * kEighths / std::max<std::int64_t>(top.n, 1), 1);
}

Chart chart_of_rss(const core::CourseColumns &columns) {
    Chart chart{"rss over time (each column: lowest to highest)", {}, {}};
    for (const auto &column : columns)
        if (column) chart.most = std::max(chart.most, column->most);
    for (const auto &column : columns)
        chart.bars.push_back(
            column ? std::optional(Bar{height(column->least, chart.most), height(column->most, chart.most)})
                   : std::nullopt);
    return chart;
}

Chart chart_of_lag(const core::CourseColumns &columns) {
    Chart chart{"lag over time (each column: highest)", {}, {}};
    for (const auto &column : columns)
        if (column) chart.most = std::max(chart.most, column->lag);
    for (const auto &column : columns) {
        const std::int64_t lag = column ? height(column->lag, chart.most) : 0;
        chart.bars.push_back(column ? std::optional(Bar{lag, lag}) : std::nullopt);
    }
    return chart;
}

std::string label(core::Pages pages, const ReportStyle &style, const core::PageSize &page_size) {
    return fmt::format("{:>14}", style.pages(pages, page_size));
}

std::string drawn(const Chart &chart, std::uint64_t duration_ns, const ReportStyle &style,
                  const core::PageSize &page_size) {
    std::string text = fmt::format("  {}\n", chart.title);
    for (std::int64_t row = kRows - 1; row >= 0; --row) {
        std::string cells;
        for (const auto &bar : chart.bars)
            cells += cell(bar, row * kEighths, style.utf8);
        cells.erase(cells.find_last_not_of(' ') + 1);
        const bool named = row == kRows - 1 || row == 0;
        const core::Pages value = row == 0 ? core::Pages{} : chart.most;
        text += fmt::format("  {} {}{}\n", named ? label(value, style, page_size) : std::string(14, ' '),
                            style.utf8 ? "\u2502" : "|", cells);
    }
    const std::string end = fmt::format("{:.1f} s", static_cast<double>(duration_ns) / 1e9);
    return text + fmt::format("  {:>14} {}0 s{:>{}}\n", "", " ", end, kColumns - 3);
}

}  // namespace

std::string text_charts(const std::vector<core::CourseSpan> &course, std::uint64_t duration_ns,
                        const ReportStyle &style, const core::PageSize &page_size) {
    if (course.empty()) return "";
    const core::CourseColumns known = core::course_columns(course, duration_ns, kColumns);
    return drawn(chart_of_rss(known), duration_ns, style, page_size) +
           drawn(chart_of_lag(known), duration_ns, style, page_size);
}

}  // namespace rsslag::report
