// SPDX-License-Identifier: BSD-2-Clause
// Common parts of a report's text, JSON and assertions.
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

#include "core/member_name.h"
#include "core/text.h"
#include "report/report.h"

namespace rsslag::report {

inline constexpr std::array<core::Verdict, 5> kAllVerdicts{core::Verdict::Agrees, core::Verdict::Explained,
                                                           core::Verdict::Moving, core::Verdict::Unexplained,
                                                           core::Verdict::Unwalked};

/// The counts of all verdicts, including those that are 0.
template <class Object>
Object verdict_counts(const std::map<std::string, std::uint64_t> &counts) {
    Object object;
    for (const core::Verdict verdict : kAllVerdicts) {
        const auto found = counts.find(std::string(core::name(verdict)));
        object[std::string(core::name(verdict))] = found == counts.end() ? 0 : found->second;
    }
    return object;
}

/// With thousands separators: "1,320".
std::string count(std::uint64_t number);

/// About processes that the report leaves out.
std::string left_out_line(std::uint64_t processes);

/// The largest absolute residual; nullopt if there was no walk.
std::optional<std::int64_t> residual_of(const ReportProcess &process);
/// Whether no tick of the process has a walk, for example because smaps cannot be read.
bool never_walked(const ReportProcess &process);
/// The verdicts of its ticks: "12 agrees, 1 moving", or "none".
std::string verdicts_text(const ReportProcess &process);

/// "12 ring_full, 3 no_room": the counts that are not 0. `name` formats a cause.
template <class Name>
std::string causes_text(const std::map<std::string, std::uint64_t> &counts, const Name &name) {
    std::string text;
    for (const auto &[cause, number] : counts) {
        if (number != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count(number), name(cause));
    }
    return text;
}

/// The members of RSS: "file 12 kB, anon 3 kB, shmem 0 kB". `amount` formats pages.
template <class Amount>
std::string rss_members_text(const core::Members &members, const Amount &amount) {
    std::string text;
    for (const core::Member member : core::kRssMembers)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", core::name(member), amount(members[member]));
    return text;
}

/// "2,988 more threads that ended", "12 more threads, 3 of them ended".
std::string more_threads(std::uint64_t threads, std::uint64_t ended);

/// The sum over all threads of a process except the first `listed`, without the teardown.
struct Rest {
    std::uint64_t threads = 0, ended = 0, updates = 0, faults = 0, flushes = 0;
    core::Members net;
    core::Pages uncertain;
    bool any() const { return threads > 0 || updates > 0 || net != core::Members{}; }
};
Rest rest_of(const ReportProcess &process, std::size_t listed);
/// Whether the teardown changed something, or may have done so in records that are lost.
bool has_teardown(const ReportProcess &process);
/// The sum over all tasks of other processes except the first `listed`.
Rest rest_of_others(const ReportProcess &process, std::size_t listed);
/// "by 12 more tasks of other processes".
std::string more_others(std::uint64_t tasks);

/// The bound of a process's lag.
core::Bound lag_bound(const ReportProcess &process, const Report &report);
/// "hard bound of the cpu scheme: 744 kB".
std::string bound_text(const core::Bound &bound, const core::Machine &machine);

/// Why figures of what was cached are approximate without a loss.
inline constexpr std::string_view kSumsHide = "--mode counts records sums, in which opposite changes cancel";

/// Why a peak lag is approximate, as the end of its line: "; records were lost: it may have been higher"; empty if it
/// is exact.
std::string lag_uncertainty(const PeakLag &peak);

/// PIDs of processes that share an mm, as core::sharing(). Entries with image 0 are left out, such as that of a child
/// of vfork before its exec.
std::vector<std::vector<int>> sharing(const Report &report);

/// "1.320 s".
std::string seconds(std::uint64_t t_ns);

/// One number about the whole recording, for --assert and for comparing two recordings.
struct Figure {
    using Unit = core::AssertedFigure::Unit;
    std::string_view name;
    Unit unit = Unit::Count;              ///< the value is in pages, ns, hundredths of a percent, or a count
    std::optional<std::int64_t> value;    ///< nullopt: not known
    std::optional<std::int64_t> least{};  ///< the true value is between `least` and `value`; nullopt: it is `value`
    bool at_least = false;                ///< may be higher: records were lost, or not all processes were traced
    bool approximate = false;             ///< may be higher or lower: records were lost
    /// Percent: the part and the whole.
    std::optional<std::pair<core::Pages, core::Pages>> parts{};
    /// Why there is no value, or only a lower bound or an approximate one; empty: no reason to report.
    std::string why_unknown{};
    std::string process{};  ///< "cc1 [4711]": the one that has the value; empty if there is only one

    /// Whether the true value is between two different values.
    bool range() const { return least && value && *least != *value; }
    bool exact() const { return !at_least && !approximate && !range(); }
};

/// The processes with the largest peak, at most `most` of them, in their order.
std::vector<const ReportProcess *> largest(const std::vector<ReportProcess> &processes, std::size_t most);

/// A value with its unit; `amount` formats pages.
template <class Amount>
std::string value_text(Figure::Unit unit, std::int64_t value, const Amount &amount) {
    switch (unit) {
        case Figure::Unit::Size: return amount(core::Pages{value});
        case Figure::Unit::Time: return fmt::format("{:.3f} s", static_cast<double>(value) / 1e9);
        case Figure::Unit::Percent: return fmt::format("{:.2f} %", static_cast<double>(value) / 100);
        case Figure::Unit::Count: break;
    }
    return core::with_thousands(value);
}

/// "417,000 kB to 417,612 kB", "at least …" with the reason, or "not known (…)".
std::string figure_text(const Figure &figure, const core::PageSize &page_size);

/// All figures; names and order are the same for every report.
std::vector<Figure> figures(const Report &report);

}  // namespace rsslag::report
