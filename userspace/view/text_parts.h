// SPDX-License-Identifier: BSD-2-Clause
// Numbers and verdicts as all texts for people print them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/reading_figures.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view {

/// With its unit; the true minus sign where the locale has one.
std::string amount(core::Pages pages, const core::PageSize &page_size, const TextStyle &style);

/// The same without the unit, for columns whose heading carries it.
std::string column(core::Pages pages, const core::PageSize &page_size, const TextStyle &style);

/// The user's wall clock: "14:03:22".
std::string local_clock(std::chrono::system_clock::time_point time);

/// Right-aligned by what a terminal shows: the minus sign is three bytes and one cell.
std::string right(const std::string &text, std::size_t width);

/// RFC 4180: quoted only where it must be, a quote doubled.
std::string csv_field(const std::string &field);
/// Empty where it is unknown, as JSON says null.
template <class Number>
std::string csv_number(const std::optional<Number> &number) {
    return number ? std::to_string(number->n) : "";
}
std::string csv_kb(const std::optional<core::Pages> &pages, const core::PageSize &page_size);

std::string thousands(std::uint64_t count);

/// ASCII letters only.
std::string upper(std::string_view word);

/// The mark before a number that is not exact (docs/words.md).
std::string_view sign(core::Mark mark);

/// What each reader says, and how far it is from what is exact, as far as that is known.
std::string readers_table(const core::ReaderValues &readers, const std::optional<core::Walk> &walk,
                          std::optional<core::Pages> exact, const core::PageSize &page_size, const TextStyle &style);

/// What came of holding the walk against the counters: "AGREES with smaps_rollup, residual 0 pages".
std::string verdict_line(const ProcessReading &process, const core::PageSize &page_size, const TextStyle &style);

/// What its hugetlb pages hold beside RSS; empty where there are none or nobody knows.
std::string hugetlb_line(const std::optional<core::Kilobytes> &hugetlb, const core::PageSize &page_size,
                         const TextStyle &style);

/// The verdict's first word in its colour; the word alone carries the meaning.
std::string painted(std::string line, core::Verdict verdict, bool color);

}  // namespace rsslag::view
