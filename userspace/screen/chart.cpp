// SPDX-License-Identifier: BSD-2-Clause
#include "chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "core/text.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"

namespace rsslag::screen {
namespace {

using documents::amount;
using documents::cells;
using documents::glyphs;
using documents::Glyphs;
using documents::utf8_of;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::array<std::uint64_t, 5> kSpans{20 * kSecond, 60 * kSecond, 120 * kSecond, 240 * kSecond, 720 * kSecond};

/// A unit of the axis and its size in kB.
struct Unit {
    const char *name;
    double kb;
};

Unit unit_for(double kb, const TextStyle &style, const core::PageSize &page_size) {
    constexpr double kKeeps = 10;  // keeps numbers of at least two digits
    if (style.unit == "pages") return {"pages", static_cast<double>(page_size.kb({1}).n)};
    if (kb >= kKeeps * 1024 * 1024) return {"GiB", 1024.0 * 1024};
    if (kb >= kKeeps * 1024) return {"MiB", 1024};
    return {"kB", 1};
}

/// The least round number (1, 1.5, 2, … times a power of ten) that is not below `value`.
double nice(double value) {
    if (value <= 0) return 1;
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double factor : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
        if (value <= factor * power * (1 + 1e-9)) return factor * power;
    }
    return 10 * power;
}

/// The scale of the rows, in units.
struct Axis {
    Unit unit{"kB", 1};
    double low = 0;
    double step = 1;  ///< between labels, which are two rows apart
    bool cut = false;

    double row() const { return step / 2; }
    /// With the decimals that `step` needs, at most 3.
    std::string label(double value) const {
        int decimals = 0;
        for (double whole = step; decimals < 3 && std::fabs(whole - std::round(whole)) > 1e-6; whole *= 10)
            ++decimals;
        if (decimals == 0) return core::with_thousands(std::llround(value));
        return fmt::format("{:.{}f}", value, decimals);
    }
};

struct Extent {
    double low = std::numeric_limits<double>::max(), high = 0;  ///< kB; high at least 0
    double hidden = 0;                                          ///< the largest distance between exact and flushed
};

Extent extent_of(const Chart &chart) {
    Extent extent;
    const auto kb = [&chart](core::Pages pages) { return static_cast<double>(chart.page_size.kb(pages).n); };
    for (const ChartPoint &point : chart.points) {
        const double flushed = kb(point.flushed);
        const double exact = kb(point.flushed + point.cached);
        extent.low = std::min({extent.low, flushed, exact});
        extent.high = std::max(
            {extent.high, flushed, exact, point.walked ? kb(*point.walked) : 0, point.most ? kb(*point.most) : 0});
        extent.hidden = std::max(extent.hidden, std::fabs(exact - flushed));
    }
    return extent;
}

/// Starts at 0, or below negative values. The axis is cut and starts just below the least value if otherwise the cached
/// part would be lower than two rows, and if the least value is above a third of the highest.
Axis axis_for(const Extent &extent, int rows, const Chart &chart, const TextStyle &style) {
    Axis axis;
    axis.unit = unit_for(extent.high, style, chart.page_size);
    const int labels = std::max(rows / 2, 1);
    const double high = std::max(extent.high / axis.unit.kb, 1e-9);
    const double low = extent.low / axis.unit.kb;
    const double hidden = extent.hidden / axis.unit.kb;
    axis.step = nice(high / labels);
    if (low < 0) {
        axis.step = nice((high - low) / labels);
        axis.low = std::floor(low / axis.step) * axis.step;
    } else if (hidden > 0 && hidden < 2 * axis.row() && low > high / 3) {
        axis.cut = true;
        const double from = low - hidden / 2;
        axis.step = nice((high - from) / labels);
        axis.low = std::floor(from / axis.step) * axis.step;
    }
    while (axis.low + axis.step * labels < high) {
        axis.step = nice(axis.step * 1.01);
        axis.low = axis.low == 0 ? 0 : std::floor(axis.low / axis.step) * axis.step;
    }
    axis.cut = axis.cut && axis.low > 0;
    return axis;
}

/// One column shows the last point up to its right edge, and a walk or a loss within it.
struct ChartColumn {
    const ChartPoint *point = nullptr;
    const ChartPoint *walk = nullptr;
    std::optional<core::Pages> least, most;  ///< of exact, by the records within it
    core::Pages lag;                         ///< the largest within it
    bool needs_resync = false;

    void take(const ChartPoint &within) {
        if (within.walked) walk = &within;
        if (within.most) {
            least = std::min(least.value_or(*within.least), *within.least);
            most = std::max(most.value_or(*within.most), *within.most);
        }
        lag = std::max(lag, within.lag);
        needs_resync = needs_resync || within.needs_resync;
    }
};

std::vector<ChartColumn> columns_of(const Chart &chart, int count) {
    std::vector<ChartColumn> columns(static_cast<std::size_t>(count));
    const std::uint64_t begin = chart.now_ns - std::min(chart.now_ns, chart.span_ns);
    const double each = static_cast<double>(chart.span_ns) / count;
    // A trace shorter than the span starts further to the right.
    const double shift = static_cast<double>(chart.span_ns) - static_cast<double>(chart.now_ns - begin);
    std::size_t next = 0;
    const ChartPoint *last = nullptr;
    for (int i = 0; i < count; ++i) {
        ChartColumn &column = columns[static_cast<std::size_t>(i)];
        const double end = each * (i + 1) - shift;
        bool any = false;
        for (; next < chart.points.size(); ++next) {
            const ChartPoint &point = chart.points[next];
            if (static_cast<double>(point.t_ns) > static_cast<double>(begin) + end + 0.5) break;
            last = &point;
            const bool within =
                point.t_ns >= begin && static_cast<double>(point.t_ns) > static_cast<double>(begin) + end - each;
            if (within) column.take(point);
            any = any || within;
            column.needs_resync = column.needs_resync || point.needs_resync;
        }
        column.point = last;
        if (!any && last != nullptr) column.lag = last->lag;
        column.needs_resync = column.needs_resync || (last != nullptr && last->needs_resync);
    }
    return columns;
}

class Plot {
  public:
    Plot(Grid &grid, const Area &area, const Chart &chart, const TextStyle &style)
        : grid_(grid), area_(area), chart_(chart), glyphs_(glyphs(style.utf8)), style_(style), rows_(area.rows - 2) {
        constexpr int kLeast = 8;  // rows that the areas keep
        if (chart.lag_strip && rows_ >= kLeast + kStrip) strip_ = lag_scale();
        if (strip_) rows_ -= kStrip;
        axis_ = axis_for(extent_of(chart), rows_, chart, style);
        label_ = strip_ ? cells(strip_->label) : 0;
        for (int i = 0; i <= rows_ / 2; ++i)
            label_ = std::max(label_, cells(text_at(i)));
        plot_ = area_.column + label_ + 2;
        width_ = area_.column + area_.columns - plot_;
    }

    void draw() {
        if (width_ < 4 || rows_ < 1) return;
        draw_axis();
        const std::vector<ChartColumn> columns = columns_of(chart_, width_);
        for (int i = 0; i < width_; ++i)
            draw_column(plot_ + i, columns[static_cast<std::size_t>(i)]);
        draw_walks(columns);
        draw_time();
        draw_marks();
        if (strip_) draw_strip(columns);
    }

  private:
    std::string text_at(int label) const { return axis_.label(axis_.low + label * axis_.step) + " " + axis_.unit.name; }
    int floor_row() const { return area_.row + rows_; }

    void draw_axis() {
        const int line = plot_ - 1;
        for (int up = 1; up <= rows_; ++up) {
            const bool labelled = up % 2 == 0;
            const int row = floor_row() - up;
            grid_.fill(row, line, line + 1, labelled ? glyphs_.tick : glyphs_.axis);
            if (labelled) grid_.put_right(row, line - 1, text_at(up / 2));
        }
        grid_.put_right(floor_row(), line - 1, text_at(0));
        grid_.fill(floor_row(), line, line + 1, axis_.cut ? glyphs_.cut : glyphs_.corner);
        grid_.fill(floor_row(), plot_, plot_ + width_, glyphs_.floor);
    }

    double units(core::Pages pages) const { return static_cast<double>(chart_.page_size.kb(pages).n) / axis_.unit.kb; }

    /// Above the floor, in rows.
    double exact_height(core::Pages pages) const {
        return std::clamp((units(pages) - axis_.low) / axis_.row(), 0.0, static_cast<double>(rows_));
    }
    /// Rounded to the nearest row.
    int height(core::Pages pages) const { return static_cast<int>(std::lround(exact_height(pages))); }

    /// The rows that the areas of a column fill: all that are whole, and with the last one.
    struct Filled {
        int whole = 0, all = 0;
    };
    void draw_column(int column, const ChartColumn &shown) {
        if (shown.point == nullptr) return;
        const ChartPoint &point = *shown.point;
        const Filled filled = point.cached.n == 0 ? draw_flushed(column, point) : draw_both(column, point);
        if (shown.needs_resync) grid_.fill(floor_row(), column, column + 1, glyphs_.uncertain, Look::Uncertain);
        if (!shown.most) return;
        // The areas show the last value of the column; this is what the records in it reached.
        const auto range = [&](int from, int to) {
            for (int up = from; up < to; ++up)
                grid_.fill(floor_row() - 1 - up, column, column + 1, glyphs_.range, Look::Cached);
        };
        range(height(*shown.least), filled.whole);
        range(filled.all, height(*shown.most));
    }

    /// To an eighth of a row, if nothing is cached.
    Filled draw_flushed(int column, const ChartPoint &point) {
        const auto levels = static_cast<int>(glyphs_.levels.size()) - 1;  // of a cell
        const int height = static_cast<int>(std::lround(exact_height(point.flushed) * levels));
        const Filled filled{height / levels, (height + levels - 1) / levels};
        for (int up = 0; up < filled.all; ++up) {
            const auto level = static_cast<std::size_t>(std::min(height - up * levels, levels));
            grid_.fill(floor_row() - 1 - up, column, column + 1,
                       up < filled.whole ? glyphs_.flushed : glyphs_.levels[level], Look::Flushed);
        }
        return filled;
    }

    /// Both areas in whole rows. Any cached amount has at least one.
    Filled draw_both(int column, const ChartPoint &point) {
        const int flushed = height(point.flushed);
        int exact = height(point.flushed + point.cached);
        if (point.cached.n > 0 && exact == flushed) exact = std::min(flushed + 1, rows_);
        const bool excess = exact < flushed;
        for (int up = 0; up < std::max(flushed, exact); ++up) {
            const int row = floor_row() - 1 - up;
            const bool both =
                up < std::min(flushed, exact) && !(point.cached.n > 0 && up == rows_ - 1 && exact == rows_);
            if (both) {
                grid_.fill(row, column, column + 1, glyphs_.flushed, Look::Flushed);
            } else {
                grid_.fill(row, column, column + 1, excess ? glyphs_.excess : glyphs_.cached, Look::Cached);
            }
        }
        return {std::min(flushed, exact), std::max(flushed, exact)};
    }

    /// On the floor.
    void draw_marks() {
        for (const ChartMark &mark : chart_.marks) {
            const std::uint64_t ago = chart_.now_ns - std::min(chart_.now_ns, mark.t_ns);
            if (ago >= chart_.span_ns) continue;
            const double part = static_cast<double>(ago) / static_cast<double>(chart_.span_ns);
            const int column = plot_ + std::clamp(static_cast<int>(std::floor((1 - part) * width_)), 0, width_ - 1);
            grid_.fill(floor_row(), column, column + 1,
                       mark.what == ChartMark::What::Peak ? glyphs_.peak : glyphs_.exec, Look::Bold);
        }
    }

    /// Walks are drawn at a distance, so that the areas stay visible. A walk that differs from exact is always drawn.
    void draw_walks(const std::vector<ChartColumn> &columns) {
        constexpr int kApart = 8;
        int last = -kApart;
        for (int i = 0; i < width_; ++i) {
            const ChartColumn &shown = columns[static_cast<std::size_t>(i)];
            if (shown.walk == nullptr) continue;
            const ChartPoint &point = *shown.walk;
            const bool apart = height(*point.walked) != height(point.flushed + point.cached);
            if (!apart && i - last < kApart) continue;
            last = i;
            const int up = std::clamp(height(*point.walked), 1, rows_);
            grid_.fill(floor_row() - up, plot_ + i, plot_ + i + 1, glyphs_.walk, Look::Walk);
        }
    }

    void draw_time() {
        constexpr int kLabels = 4;
        constexpr int kLabelWidth = 8;
        const std::uint64_t seconds = chart_.span_ns / kSecond;
        int free_from = area_.column;
        const int now = plot_ + width_ - 1;
        for (int i = 0; i < kLabels; ++i) {
            const int column = plot_ + width_ * i / kLabels;
            const std::uint64_t ago = seconds * static_cast<std::uint64_t>(kLabels - i) / kLabels;
            const bool in_minutes = seconds > 120;
            const std::string text =
                fmt::format("{}{} {}", glyphs_.minus, in_minutes ? ago / 60 : ago, in_minutes ? "min" : "s");
            if (column < free_from || column + kLabelWidth > now - cells(chart_.right)) continue;
            grid_.put(floor_row() + 1, column, text);
            grid_.fill(floor_row(), column, column + 1, glyphs_.floor_tick);
            free_from = column + kLabelWidth;
        }
        grid_.put_right(floor_row() + 1, now + 1, chart_.right);
        grid_.fill(floor_row(), now, now + 1, glyphs_.floor_tick);
    }

    static constexpr int kStrip = 2;  ///< rows of the strip
    struct Strip {
        double most = 0;    ///< pages
        std::string label;  ///< of `most`
    };

    /// nullopt: nothing has lagged.
    std::optional<Strip> lag_scale() const {
        core::Pages most;
        for (const ChartPoint &point : chart_.points)
            most = std::max(most, point.lag);
        if (most.n <= 0) return std::nullopt;
        const bool below = chart_.lag_bound && *chart_.lag_bound > most;
        const core::Pages top = below ? *chart_.lag_bound : most;
        return Strip{static_cast<double>(top.n),
                     fmt::format("{} {}", below ? "bound" : "lag", amount(top, chart_.page_size, style_))};
    }

    /// Below the times: eighths of a cell, from 0 to the bound.
    void draw_strip(const std::vector<ChartColumn> &columns) {
        const int below = floor_row() + 1 + kStrip;
        grid_.put_right(below - kStrip + 1, plot_ - 2, strip_->label);
        grid_.put_right(below, plot_ - 2, "0");
        const auto levels = static_cast<int>(glyphs_.levels.size()) - 1;  // of a cell
        for (int i = 0; i < width_; ++i) {
            const core::Pages lag = columns[static_cast<std::size_t>(i)].lag;
            if (lag.n <= 0) continue;
            const double part = std::min(1.0, static_cast<double>(lag.n) / strip_->most);
            const int height = std::max(1, static_cast<int>(std::lround(part * levels * kStrip)));
            for (int cell = 0; cell < kStrip; ++cell) {
                const int level = std::clamp(height - cell * levels, 0, levels);
                grid_.fill(below - cell, plot_ + i, plot_ + i + 1, glyphs_.levels[static_cast<std::size_t>(level)],
                           Look::Cached);
            }
        }
    }

    Grid &grid_;
    Area area_;
    const Chart &chart_;
    const Glyphs &glyphs_;
    const TextStyle &style_;
    std::optional<Strip> strip_;
    int rows_;
    Axis axis_;
    int label_ = 0, plot_ = 0, width_ = 0;
};

}  // namespace

std::uint64_t chart_span(std::uint64_t age_ns) {
    for (const std::uint64_t span : kSpans) {
        if (age_ns <= span) return span;
    }
    return kSpans.back();
}

void draw_chart(Grid &grid, const Area &area, const Chart &chart, const TextStyle &style) {
    if (area.rows < 3 || chart.points.empty()) return;
    Plot(grid, area, chart, style).draw();
}

void Chart::add(const std::deque<core::CourseSpan> &course, std::uint64_t from_ns) {
    std::vector<ChartPoint> spans;
    for (const core::CourseSpan &span : course) {
        if (span.t_ns < from_ns) continue;
        const core::Held &last = span.last;
        spans.push_back(
            {span.t_ns, last.rss - last.lag, last.lag, std::nullopt, false, span.lag, span.least, span.most});
    }
    std::vector<ChartPoint> all;
    all.reserve(spans.size() + points.size());
    std::merge(points.begin(), points.end(), spans.begin(), spans.end(), std::back_inserter(all),
               [](const ChartPoint &a, const ChartPoint &b) { return a.t_ns < b.t_ns; });
    for (std::size_t i = 1; i < all.size(); ++i)
        if (all[i].most) all[i].needs_resync = all[i - 1].needs_resync;
    points = std::move(all);
}

void draw_legend(Grid &grid, int row, int column, int end, std::string_view what, bool ranges, const TextStyle &style) {
    const Glyphs &glyph = glyphs(style.utf8);
    struct Item {
        char32_t glyph;
        const char *text, *shorter;
        Look look;
    };
    const std::array<Item, 4> all{Item{glyph.flushed, "flushed", "flushed", Look::Flushed},
                                  Item{glyph.cached, "cached (hidden)", "cached", Look::Cached},
                                  Item{glyph.walk, "smaps walk", "walk", Look::Walk},
                                  Item{glyph.range, "lowest to highest", "range", Look::Cached}};
    const std::span<const Item> items(all.data(), all.size() - (ranges ? 0 : 1));
    int at = grid.put(row, column, what, Look::Bold);
    int width = 0;
    for (const Item &item : items)
        width += 4 + cells(item.text);
    const bool whole = at + width <= end;
    for (const Item &item : items) {
        const char *const text = whole ? item.text : item.shorter;
        if (at + 4 + cells(text) > end) return;
        grid.put(row, at + 2, utf8_of(item.glyph), item.look);
        at = grid.put(row, at + 4, text);
    }
}

}  // namespace rsslag::screen
