// SPDX-License-Identifier: BSD-2-Clause
#include "text_parts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "core/text.h"

#include "core/text.h"

namespace rsslag::documents {
namespace {

/// The value of one reader.
struct ReaderRow {
    std::string_view reader;
    std::optional<core::Pages> shown;
    bool approximate = false;  ///< always approximate, whatever the reading
};

std::string moving_line(const ProcessReading &process, std::string_view file, const core::PageSize &page_size,
                        const TextStyle &style) {
    const core::Reconciliation &verdict = process.verdict;
    const auto pages = [&](core::Pages p) { return style.pages(p, page_size); };
    const std::string window = fmt::format("exact was {} to {}", pages(verdict.window.min), pages(verdict.window.max));
    if (!process.walk) return fmt::format("MOVING, unwalked ({}): {}", core::name(process.walk_state), window);
    const std::string where = verdict.residual->n == 0 ? "inside its window"
                                                       : fmt::format("{} pages outside its window",
                                                                     core::with_thousands(verdict.residual->n));
    return fmt::format("MOVING, {}: {} saw {}, {}", where, file, pages(page_size.pages(process.walk->rss)), window);
}

}  // namespace

std::string amount(core::Pages pages, const core::PageSize &page_size, const TextStyle &style) {
    std::string text = style.pages(pages, page_size);
    if (style.utf8 && text.front() == '-') text.replace(0, 1, "\u2212");
    return text;
}

std::string column(core::Pages pages, const core::PageSize &page_size, const TextStyle &style) {
    std::string text = amount(pages, page_size, style);
    text.resize(text.find(' '));
    return text;
}

std::string at_least(const TextStyle &style) {
    return style.utf8 ? "\u2265" : ">=";
}

std::string Bounds::sign(const TextStyle &style) const {
    if (lossy) return at_least(style);
    return from == to ? "" : "~";
}

Bounds bounds_of(const core::Extremes &extremes) {
    const core::Extreme &most = extremes.most;
    return {most.from, most.to, extremes.open ? most.likely() : most.to, extremes.lossy};
}

std::string peak_column(const core::Extremes &extremes, const core::PageSize &page_size, const TextStyle &style) {
    const Bounds peak = bounds_of(extremes);
    return peak.sign(style) + column(peak.shown(), page_size, style);
}

std::string local_clock(std::chrono::system_clock::time_point time) {
    return fmt::format("{:%H:%M:%S}", fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

std::string right(const std::string &text, std::size_t width) {
    const auto cells = static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    return cells < width ? std::string(width - cells, ' ') + text : text;
}

std::string csv_field(const std::string &field) {
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string out = "\"";
    for (const char c : field) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

/// Counts are below 2^53, as in JSON.
std::string thousands(std::uint64_t count) {
    return core::with_thousands(static_cast<std::int64_t>(count));
}

std::string_view sign(core::Mark mark) {
    switch (mark) {
        case core::Mark::None: return "";
        case core::Mark::Approximate: return "~";
        case core::Mark::AfterLoss: break;
    }
    return "!";
}

std::string upper(std::string_view word) {
    std::string text(word);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::string readers_table(const core::ReaderValues &readers, const std::optional<core::Walk> &walk,
                          std::optional<core::Pages> exact, const core::PageSize &page_size, const TextStyle &style) {
    std::string text;
    const auto out = std::back_inserter(text);
    const auto in_pages = [&](const std::optional<core::Kilobytes> &kb) -> std::optional<core::Pages> {
        if (!kb) return std::nullopt;
        return page_size.pages(*kb);
    };
    const auto walked = walk ? std::optional(page_size.pages(walk->rss)) : std::nullopt;
    const std::string walk_name =
        fmt::format("{} Rss", walk ? core::name(walk->file) : core::name(core::WalkFile::SmapsRollup));
    const std::array<ReaderRow, 5> rows{{{"stat field 24", readers.stat},
                                         {"statm resident", readers.statm},
                                         {"status VmRSS", in_pages(readers.status_rss)},
                                         {"status VmHWM", in_pages(readers.status_hwm), true},
                                         {walk_name, walked}}};
    fmt::format_to(out, "{:<20}{:>14}{:>14}\n", "READER", "SAYS " + style.unit, "FROM EXACT");
    for (const ReaderRow &row : rows) {
        if (!row.shown) {
            fmt::format_to(out, "{:<20}{:>14}{:>14}\n", row.reader, "-", "-");
            continue;
        }
        const std::string distance = row.approximate || !exact ? "-" : column(*row.shown - *exact, page_size, style);
        fmt::format_to(out, "{:<20}{}{}\n", row.reader,
                       right((row.approximate ? "~ " : "") + column(*row.shown, page_size, style), 14),
                       right(distance, 14));
    }
    return text;
}

std::string hugetlb_line(const std::optional<core::Kilobytes> &hugetlb, const core::PageSize &page_size,
                         const TextStyle &style) {
    if (!hugetlb || hugetlb->n == 0) return "";
    return fmt::format("hugetlb pages hold {} more, which RSS does not count\n",
                       style.pages(page_size.pages(*hugetlb), page_size));
}

std::string painted(std::string line, core::Verdict verdict, bool color) {
    if (!color) return line;
    const char *const code = verdict == core::Verdict::Agrees || verdict == core::Verdict::Explained ? "32"
                             : verdict == core::Verdict::Unexplained                                 ? "31"
                                                                                                     : "33";
    const std::size_t end = std::min(line.find_first_of(", :"), line.size());
    return fmt::format("\x1b[1;{}m{}\x1b[0m{}", code, line.substr(0, end), line.substr(end));
}

std::string verdict_line(const ProcessReading &process, const core::PageSize &page_size, const TextStyle &style) {
    const core::Reconciliation &verdict = process.verdict;
    const auto pages = [&](core::Pages p) { return style.pages(p, page_size); };
    const std::string file(process.walk ? core::name(process.walk->file) : "smaps");
    switch (verdict.verdict) {
        case core::Verdict::Agrees: return fmt::format("AGREES with {}, residual 0 pages", file);
        case core::Verdict::Moving: return moving_line(process, file, page_size, style);
        case core::Verdict::Unwalked:
            return fmt::format("UNWALKED ({}): the counters are exact, no page-table walk confirms them",
                               core::name(process.walk_state));
        case core::Verdict::Explained:
        case core::Verdict::Unexplained: break;
    }
    std::string line = fmt::format(
        "{}: {} saw {}, residual {} pages", verdict.verdict == core::Verdict::Explained ? "EXPLAINED" : "UNEXPLAINED",
        file, pages(page_size.pages(process.walk->rss)), core::with_thousands(verdict.residual->n));
    for (const core::ResidualCause &cause : verdict.causes) {
        line += fmt::format(", {} {}", core::name(cause.cause), core::with_thousands(cause.pages.n));
    }
    return line;
}

}  // namespace rsslag::documents
