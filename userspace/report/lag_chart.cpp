// SPDX-License-Identifier: BSD-2-Clause
#include "lag_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace rsslag::report {
namespace {

constexpr std::size_t kColumns = 60;
constexpr std::int64_t kRows = 6;
constexpr std::int64_t kEighths = 8;

using Heights = std::array<std::optional<std::int64_t>, kColumns>;

/// The largest lag of each column; of those without a tick nothing is known.
Heights heights(const std::vector<LagPoint> &points, std::uint64_t duration_ns) {
    Heights heights;
    const std::uint64_t width = std::max<std::uint64_t>(duration_ns / kColumns + 1, 1);
    for (const LagPoint &point : points) {
        if (!point.lag) continue;
        auto &height = heights[std::min<std::size_t>(point.t_ns / width, kColumns - 1)];
        height = std::max(height.value_or(point.lag->n), point.lag->n);
    }
    return heights;
}

/// A cell of a column that is `height` eighths high, `below` of them under this row.
std::string_view cell(const std::optional<std::int64_t> &height, std::int64_t below, bool utf8) {
    constexpr std::array<std::string_view, 9> kBlocks{" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                      "\u2585", "\u2586", "\u2587", "\u2588"};
    if (!height) return " ";
    const std::int64_t here = std::clamp<std::int64_t>(*height - below, 0, kEighths);
    if (utf8) return kBlocks[static_cast<std::size_t>(here)];
    return here == 0 ? " " : here <= kEighths / 2 ? "." : "#";
}

std::string label(core::Pages pages, const ReportStyle &style, const core::PageSize &page_size) {
    return fmt::format("{:>14}", style.pages(pages, page_size));
}

}  // namespace

std::string lag_chart(const std::vector<LagPoint> &points, std::uint64_t duration_ns, const ReportStyle &style,
                      const core::PageSize &page_size) {
    Heights columns = heights(points, duration_ns);
    std::int64_t most = 0;
    bool any = false;
    for (const auto &height : columns) {
        any = any || height;
        most = std::max(most, height.value_or(0));
    }
    if (!any) return "";
    const std::int64_t full = std::max<std::int64_t>(most, 1);
    for (auto &height : columns)
        if (height) height = std::max<std::int64_t>(*height, 0) * kRows * kEighths / full;
    std::string text = "  lag over time, the most of each column\n";
    for (std::int64_t row = kRows - 1; row >= 0; --row) {
        std::string cells;
        for (const auto &height : columns)
            cells += cell(height, row * kEighths, style.utf8);
        cells.erase(cells.find_last_not_of(' ') + 1);
        const bool named = row == kRows - 1 || row == 0;
        const core::Pages value{row == 0 ? 0 : most};
        text += fmt::format("  {} {}{}\n", named ? label(value, style, page_size) : std::string(14, ' '),
                            style.utf8 ? "\u2502" : "|", cells);
    }
    const std::string end = fmt::format("{:.1f} s", static_cast<double>(duration_ns) / 1e9);
    text += fmt::format("  {:>14} {}0 s{:>{}}\n", "", " ", end, kColumns - 3);
    return text;
}

}  // namespace rsslag::report
