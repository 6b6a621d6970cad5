// SPDX-License-Identifier: BSD-2-Clause
// A picture of a report: no script, no font and no file from elsewhere. Names are text and cannot be markup.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "report_parts.h"
#include "rsslag/core/text.h"

namespace rsslag::report {
namespace {

constexpr int kWidth = 960;
constexpr int kPanel = 260;
constexpr int kHead = 40;
constexpr int kLeft = 110, kRight = 20, kTop = 40, kBottom = 30;
constexpr int kPlotWidth = kWidth - kLeft - kRight;
constexpr int kPlotHeight = kPanel - kTop - kBottom;

std::string escaped(std::string_view raw) {
    std::string out;
    for (const char c : core::printable(raw)) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    }
    return out;
}

/// From time and pages to the picture.
struct Scale {
    double ns = 1, pages = 1;
    int top = 0;

    double x(std::uint64_t t_ns) const { return kLeft + static_cast<double>(t_ns) / ns * kPlotWidth; }
    double y(core::Pages value) const { return top + kPlotHeight - static_cast<double>(value.n) / pages * kPlotHeight; }
};

/// One line; where the value is not known it is broken.
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

std::string text(double x, double y, std::string_view style, std::string_view words) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, words);
}

std::string axes(const Scale &scale, const core::PageSize &page_size, std::uint64_t duration_ns) {
    constexpr int kSteps = 4;
    std::string out;
    for (int i = 0; i <= kSteps; ++i) {
        const core::Pages pages{static_cast<std::int64_t>(scale.pages) * i / kSteps};
        const double y = scale.y(pages);
        out += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, y, kWidth - kRight);
        out += text(kLeft - 6, y + 4, "label", core::as_kb(pages, page_size));
        const std::uint64_t t_ns = duration_ns / kSteps * static_cast<std::uint64_t>(i);
        out += text(scale.x(t_ns), scale.top + kPlotHeight + 18, "time",
                    fmt::format("{:.1f} s", static_cast<double>(t_ns) / 1e9));
    }
    return out;
}

std::string panel(const ReportProcess &process, const Report &report, int top) {
    const core::PageSize page_size = report.facts.machine.page_size;
    std::int64_t most = 1;
    for (const LagPoint &point : process.points) {
        for (const std::optional<core::Pages> &value :
             {std::optional(point.exact), std::optional(point.cached), point.reported, point.walked})
            if (value) most = std::max(most, value->n);
    }
    Scale scale;
    scale.ns = static_cast<double>(std::max<std::uint64_t>(report.ending.duration_ns, 1));
    scale.pages = static_cast<double>(most);
    scale.top = top + kTop;
    std::string out = text(kLeft, top + 22, "name", fmt::format("{} [{}]", escaped(process.comm), process.pid));
    out += axes(scale, page_size, report.ending.duration_ns);
    out += line(process, scale, "cached", [](const LagPoint &p) { return std::optional(p.cached); });
    out += line(process, scale, "walked", [](const LagPoint &p) { return p.walked; });
    out += line(process, scale, "reported", [](const LagPoint &p) { return p.reported; });
    out += line(process, scale, "exact", [](const LagPoint &p) { return std::optional(p.exact); });
    if (process.peak_lag) {
        const PeakLag &peak = *process.peak_lag;
        out += text(kWidth - kRight, top + 22, "peak",
                    fmt::format("peak lag {}{} at {:.3f} s", peak.approximate ? "~" : "",
                                core::as_kb(peak.pages, page_size), static_cast<double>(peak.t_ns) / 1e9));
    }
    return out;
}

std::string legend() {
    std::string out;
    int x = kLeft;
    for (const auto &[style, words] : {std::pair{"exact", "exact"},
                                       {"reported", "/proc/PID/stat says"},
                                       {"cached", "cached"},
                                       {"walked", "walked"}}) {
        out += fmt::format("<path class=\"{}\" d=\"M{} 24h24\"/>\n", style, x);
        out += text(x + 30, 28, "key", words);
        x += 190;
    }
    return out;
}

}  // namespace

std::string report_svg(const Report &report) {
    constexpr std::size_t kMost = 32;  // panels: a picture of thousands is none
    const std::size_t panels = std::min(report.processes.size(), kMost);
    const int height = kHead + kPanel * static_cast<int>(panels);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<title>RSS over time, recorded on Linux {2}</title>\n",
        kWidth, height, escaped(report.facts.kernel));
    out +=
        "<style>text{font:12px sans-serif;fill:#333}.name{font-weight:bold;font-size:14px}"
        ".label,.peak{text-anchor:end}.time{text-anchor:middle}path{fill:none;stroke-width:1.5}"
        ".grid{stroke:#ddd;stroke-width:1}.exact{stroke:#1b6ca8}.reported{stroke:#c8501e;stroke-dasharray:6 3}"
        ".cached{stroke:#3a8f3a;stroke-dasharray:2 2}.walked{stroke:#888;stroke-dasharray:1 4}</style>\n";
    out += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>\n", kWidth, height);
    out += legend();
    for (std::size_t i = 0; i < panels; ++i)
        out += panel(report.processes[i], report, kHead + kPanel * static_cast<int>(i));
    return out + "</svg>\n";
}

}  // namespace rsslag::report
