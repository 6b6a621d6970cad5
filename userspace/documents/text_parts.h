// SPDX-License-Identifier: BSD-2-Clause
// Formatting of numbers and verdicts, common to all text output.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/reading_figures.h"
#include "documents/snapshot.h"

namespace rsslag::documents {

/// A number of pages in the unit of `style`, followed by the unit. The minus sign is U+2212 in a UTF-8 locale.
std::string amount(core::Pages pages, const core::PageSize &page_size, const TextStyle &style);

/// As amount() without the unit, for columns whose heading contains it.
std::string column(core::Pages pages, const core::PageSize &page_size, const TextStyle &style);

/// The mark of a lower bound: "≥", or ">=" in ASCII.
std::string at_least(const TextStyle &style);

/// Bounds of a peak, or of a sum of peaks. If records were lost, it has only a lower bound.
struct Bounds {
    core::Pages from, to;
    core::Pages most;  ///< the upper end; the likely value if the latest updates are not settled
    bool lossy = false;

    /// The value that is shown, and the mark before it: "~" it is a range, "≥" a lower bound.
    core::Pages shown() const { return lossy ? from : most; }
    std::string sign(const TextStyle &style) const;
};
Bounds bounds_of(const core::Extremes &extremes);

/// The highest rss, as column(), with the mark of its bounds.
std::string peak_column(const core::Extremes &extremes, const core::PageSize &page_size, const TextStyle &style);

/// Local time: "14:03:22".
std::string local_clock(std::chrono::system_clock::time_point time);

/// Right-aligned by characters, not bytes: the minus sign is three bytes and one cell.
std::string right(const std::string &text, std::size_t width);

/// RFC 4180: quoted only if necessary, with quotes doubled.
std::string csv_field(const std::string &field);

std::string thousands(std::uint64_t count);

/// In upper case; only ASCII letters change.
std::string upper(std::string_view word);

/// The mark before a number that is not exact (docs/words.md).
std::string_view sign(core::Mark mark);

/// The value of each reader, and its distance from exact if that is known.
std::string readers_table(const core::ReaderValues &readers, const std::optional<core::Walk> &walk,
                          std::optional<core::Pages> exact, const core::PageSize &page_size, const TextStyle &style);

/// The result of comparing the walk with the counters: "AGREES with smaps_rollup, residual 0 pages".
std::string verdict_line(const ProcessReading &process, const core::PageSize &page_size, const TextStyle &style);

/// A line about hugetlb pages, which RSS does not include; empty if there are none or the amount is not known.
std::string hugetlb_line(const std::optional<core::Kilobytes> &hugetlb, const core::PageSize &page_size,
                         const TextStyle &style);

/// Colours the first word of a verdict's line. The text has the same meaning without colour.
std::string painted(std::string line, core::Verdict verdict, bool color);

}  // namespace rsslag::documents
