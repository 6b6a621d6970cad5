// SPDX-License-Identifier: BSD-2-Clause
// What text, JSON and assertions of a report have in common.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rsslag/core/text.h"
#include "rsslag/report/report.h"

namespace rsslag::report {

inline constexpr std::array<core::Verdict, 5> kAllVerdicts{core::Verdict::Agrees, core::Verdict::Explained,
                                                           core::Verdict::Moving, core::Verdict::Unexplained,
                                                           core::Verdict::Unwalked};

/// Every verdict that there is, also at 0.
template <class Object>
Object verdict_counts(const std::map<std::string, std::uint64_t> &counts) {
    Object object;
    for (const core::Verdict verdict : kAllVerdicts) {
        const auto found = counts.find(std::string(core::name(verdict)));
        object[std::string(core::name(verdict))] = found == counts.end() ? 0 : found->second;
    }
    return object;
}

/// "1,320".
std::string count(std::uint64_t number);

/// "12 agrees, 1 moving", of its ticks; "none".
std::string verdicts_text(const ReportProcess &process);

/// "12 ring, 3 drain", those that are not 0; `name` is what makes text of a cause.
template <class Name>
std::string causes_text(const std::map<std::string, std::uint64_t> &counts, const Name &name) {
    std::string text;
    for (const auto &[cause, number] : counts) {
        if (number != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count(number), name(cause));
    }
    return text;
}

/// "2,988 more threads that ended", "12 more threads, 3 of them ended".
std::string more_threads(std::uint64_t threads, std::uint64_t ended);

/// The sum over all threads of a process but the first `listed`. Without the teardown.
struct Rest {
    std::uint64_t threads = 0, ended = 0, updates = 0, faults = 0, flushes = 0;
    core::Members net;
    core::Pages uncertain;
    bool any() const { return threads > 0 || updates > 0 || net != core::Members{}; }
};
Rest rest_of(const ReportProcess &process, std::size_t listed);

/// Of the lag of a process, and in words: "hard bound of the cpu scheme: 744 kB".
core::Bound lag_bound(const ReportProcess &process, const Report &report);
std::string bound_text(const core::Bound &bound, const core::Machine &machine);

/// "1.320 s".
std::string seconds(std::uint64_t t_ns);

/// One number about the whole recording, by which two can be compared and of which --assert can demand something.
struct Figure {
    enum class Unit : std::uint8_t { Pages, Nanoseconds, Count, Percent };
    std::string_view name;
    Unit unit = Unit::Count;              ///< Percent: hundredths of it
    std::optional<std::int64_t> value;    ///< nullopt: not known
    std::optional<std::int64_t> least{};  ///< the truth lies from there to `value`; nullopt: it is `value`
    bool at_least = false;                ///< it may have been more: records were lost, or not all were traced
    bool approximate = false;             ///< it may have been more or less: records were lost
    /// Percent: of what, both in pages.
    std::optional<std::pair<core::Pages, core::Pages>> parts{};
    /// Where there is no value, only the least or an approximate one: why; empty: there is nothing to say.
    std::string why_unknown{};

    /// There is no doubt about it, but that a peak may be a range.
    bool exact() const { return !at_least && !approximate; }
};

/// A value of it, in words; `amount` is what makes text of pages.
template <class Amount>
std::string value_text(Figure::Unit unit, std::int64_t value, const Amount &amount) {
    switch (unit) {
        case Figure::Unit::Pages: return amount(core::Pages{value});
        case Figure::Unit::Nanoseconds: return fmt::format("{:.3f} s", static_cast<double>(value) / 1e9);
        case Figure::Unit::Percent: return fmt::format("{:.2f} %", static_cast<double>(value) / 100);
        case Figure::Unit::Count: break;
    }
    return core::with_thousands(value);
}

/// "417,000 kB to 417,612 kB", "at least …" with the reason, "not known (…)".
std::string figure_text(const Figure &figure, const core::PageSize &page_size);

/// The same names in the same order for every report.
std::vector<Figure> figures(const Report &report);

}  // namespace rsslag::report
