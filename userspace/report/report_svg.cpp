// SPDX-License-Identifier: BSD-2-Clause
// A report as SVG, without scripts, fonts or external files. Names are escaped.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "core/extreme_text.h"
#include "core/text.h"
#include "markup.h"
#include "report_parts.h"

namespace rsslag::report {
namespace {

constexpr int kWidth = 960;
constexpr int kHead = 40, kRest = 40;
constexpr int kLeft = 110, kRight = 20, kTop = 40, kBetween = 24, kBottom = 30;
constexpr int kPlotWidth = kWidth - kLeft - kRight;
constexpr int kPlotHeight = 190;
constexpr int kStripHeight = 60;  ///< the strip of the lag below the plot
constexpr int kPanel = kTop + kPlotHeight + kBetween + kStripHeight + kBottom;

/// Maps time and pages to coordinates.
struct Scale {
    double ns = 1, pages = 1;
    int top = 0, height = kPlotHeight;

    double x(std::uint64_t t_ns) const { return kLeft + static_cast<double>(t_ns) / ns * kPlotWidth; }
    double y(core::Pages value) const { return top + height - static_cast<double>(value.n) / pages * height; }
};

/// A line over the points, broken at unknown values.
template <class Value>
std::string line(const ReportProcess &process, const Scale &scale, std::string_view style, Value value) {
    std::string path;
    bool drawing = false;
    for (const LagPoint &point : process.points) {
        const std::optional<core::Pages> pages = value(point);
        if (pages) {
            fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", drawing ? "L" : "M", scale.x(point.t_ns),
                           scale.y(*pages));
        }
        drawing = pages.has_value();
    }
    if (path.empty()) return "";
    return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, path);
}

std::string text(double x, double y, std::string_view style, std::string_view content) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, content);
}

/// Areas from the least to the most of each column, one for each contiguous range of known columns.
template <class Least, class Most>
std::string band(const core::CourseColumns &columns, const Scale &scale, std::string_view style, Least least,
                 Most most) {
    std::string path;
    for (std::size_t from = 0; from < columns.size();) {
        std::size_t to = from;
        const auto point = [&](char how, std::size_t column, core::Pages pages) {
            fmt::format_to(std::back_inserter(path), "{}{} {:.1f}", how, kLeft + column, scale.y(pages));
        };
        for (; to < columns.size() && columns[to]; ++to)
            point(to == from ? 'M' : 'L', to, most(*columns[to]));
        for (std::size_t back = to; back-- > from;)
            point('L', back, least(*columns[back]));
        if (to != from) path += 'Z';
        from = to + 1;
    }
    if (path.empty()) return "";
    return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, path);
}

std::string grid(const Scale &scale, const core::PageSize &page_size, int steps) {
    std::string out;
    for (int i = 0; i <= steps; ++i) {
        const core::Pages pages{static_cast<std::int64_t>(scale.pages) * i / steps};
        const double y = scale.y(pages);
        out += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, y, kWidth - kRight);
        out += text(kLeft - 6, y + 4, "label", core::as_kb(pages, page_size));
    }
    return out;
}

std::string times(const Scale &scale, std::uint64_t duration_ns) {
    constexpr int kSteps = 4;
    std::string out;
    for (int i = 0; i <= kSteps; ++i) {
        const std::uint64_t t_ns = duration_ns / kSteps * static_cast<std::uint64_t>(i);
        out += text(scale.x(t_ns), scale.top + scale.height + 18, "time",
                    fmt::format("{:.1f} s", static_cast<double>(t_ns) / 1e9));
    }
    return out;
}

/// The lag in its own scale, with the bound of the scheme.
std::string lag_strip(const ReportProcess &process, const Report &report, const core::CourseColumns &columns, int top) {
    const core::PageSize page_size = report.facts.machine.page_size;
    const core::Bound bound = lag_bound(process, report);
    const std::int64_t most = std::max<std::int64_t>({1, bound.rss.n, process.extremes.lag.n});
    Scale scale;
    scale.ns = static_cast<double>(std::max<std::uint64_t>(report.ending.duration_ns, 1));
    scale.pages = static_cast<double>(most);
    scale.top = top;
    scale.height = kStripHeight;
    std::string out = grid(scale, page_size, 1) + times(scale, report.ending.duration_ns);
    out += band(
        columns, scale, "lag", [](const core::CourseColumn & /*column*/) { return core::Pages{}; },
        [](const core::CourseColumn &column) { return std::max(column.lag, core::Pages{}); });
    const double y = scale.y(bound.rss);
    out += fmt::format("<path class=\"bound\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, y, kWidth - kRight);
    out += text(kLeft + 4, top - 6, "strip", "lag");
    out += text(kWidth - kRight, y - 4, "peak", bound_text(bound, report.facts.machine));
    return out;
}

core::Pages highest(const ReportProcess &process, const core::CourseColumns &columns) {
    core::Pages most{1};
    for (const LagPoint &point : process.points) {
        for (const std::optional<core::Pages> &value :
             {std::optional(point.exact), std::optional(point.cached), point.reported, point.walked})
            if (value) most = std::max(most, *value);
    }
    for (const auto &column : columns)
        if (column) most = std::max(most, column->most);
    return most;
}

/// The process, its peak and its peak lag.
std::string title(const ReportProcess &process, const core::PageSize &page_size, int y) {
    const auto amount = [&page_size](core::Pages pages) { return core::as_kb(pages, page_size); };
    const core::Extremes &extremes = process.extremes;
    std::string summary = fmt::format("{} at {}{}", core::at_most_text(extremes, amount), seconds(extremes.most.t_ns),
                                      escaped(core::program_text(extremes, process.comm, true)));
    if (process.peak_lag) {
        const PeakLag &peak = *process.peak_lag;
        summary +=
            fmt::format(", peak lag {}{} at {}", peak.approximate ? "~" : "", amount(peak.pages), seconds(peak.t_ns));
    }
    return text(kLeft, y, "name",
                fmt::format("{} [{}]{}", escaped(process.comm), process.pid, extremes.image == 0 ? " image 0" : "")) +
           text(kWidth - kRight, y, "peak", summary);
}

std::string panel(const ReportProcess &process, const Report &report, int top) {
    const core::PageSize page_size = report.facts.machine.page_size;
    const std::uint64_t duration_ns = report.ending.duration_ns;
    const core::CourseColumns known = core::course_columns(process.course, duration_ns, kPlotWidth);
    Scale scale;
    scale.ns = static_cast<double>(std::max<std::uint64_t>(duration_ns, 1));
    scale.pages = static_cast<double>(highest(process, known).n);
    scale.top = top + kTop;
    constexpr int kSteps = 4;
    std::string out = title(process, page_size, top + 22) + grid(scale, page_size, kSteps);
    out += band(
        known, scale, "exact", [](const core::CourseColumn &column) { return column.least; },
        [](const core::CourseColumn &column) { return column.most; });
    out += line(process, scale, "cached", [](const LagPoint &p) { return std::optional(p.cached); });
    out += line(process, scale, "walked", [](const LagPoint &p) { return p.walked; });
    out += line(process, scale, "reported", [](const LagPoint &p) { return p.reported; });
    return out + lag_strip(process, report, known, top + kTop + kPlotHeight + kBetween);
}

std::string legend() {
    std::string out;
    int x = kLeft;
    for (const auto &[style, name] : {std::pair{"exact", "exact, least to most"},
                                      {"reported", "/proc/PID/stat says"},
                                      {"cached", "cached"},
                                      {"walked", "walked"},
                                      {"lag", "lag"}}) {
        out += fmt::format("<path class=\"{}\" d=\"M{} 24h24\"/>\n", style, x);
        out += text(x + 30, 28, "key", name);
        x += 170;
    }
    return out;
}

}  // namespace

std::string report_svg(const Report &report) {
    constexpr std::size_t kMost = 32;  // panels; with more processes, those with the largest peaks
    const std::size_t panels = std::min(report.processes.size(), kMost);
    const int bottom = kHead + kPanel * static_cast<int>(panels);
    const std::uint64_t without = report.processes.size() - panels + report.left_out_processes;
    const int height = bottom + (without > 0 ? kRest : 0);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<title>RSS over time, recorded on Linux {2}</title>\n",
        kWidth, height, escaped(report.facts.kernel));
    out +=
        "<style>text{font:12px sans-serif;fill:#333}.name{font-weight:bold;font-size:14px}"
        ".label,.peak{text-anchor:end}.time{text-anchor:middle}path{fill:none;stroke-width:1.5}"
        ".grid{stroke:#ddd;stroke-width:1}.exact{stroke:#1b6ca8;fill:#1b6ca8;fill-opacity:.25}.reported{stroke:#c8501e;"
        "stroke-dasharray:6 3}"
        ".cached{stroke:#3a8f3a;stroke-dasharray:2 2}.walked{stroke:#888;stroke-dasharray:1 4}"
        ".lag{stroke:#7a3fa0;fill:#7a3fa0;fill-opacity:.3;stroke-width:1}.bound{stroke:#c02020;stroke-dasharray:8 "
        "4;stroke-width:1}</style>\n";
    out += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>\n", kWidth, height);
    out += legend();
    int top = kHead;
    for (const ReportProcess *const process : largest(report.processes, kMost)) {
        out += panel(*process, report, top);
        top += kPanel;
    }
    if (without > 0)
        out += text(kLeft, bottom + kRest / 2.0, "name",
                    fmt::format("{} more process{} without a panel", count(without), without == 1 ? "" : "es"));
    return out + "</svg>\n";
}

}  // namespace rsslag::report
