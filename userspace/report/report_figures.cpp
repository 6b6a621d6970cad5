// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstdlib>

#include "report_parts.h"

namespace rsslag::report {
namespace {

using core::Pages;
using Unit = Figure::Unit;

std::int64_t sum(const std::vector<ReportProcess> &processes, std::int64_t (*of)(const ReportProcess &)) {
    std::int64_t sum = 0;
    for (const ReportProcess &process : processes)
        sum += of(process);
    return sum;
}

template <core::Member kMember>
std::int64_t growth(const ReportProcess &process) {
    return (process.final - process.baseline)[kMember].n;
}

std::int64_t unexplained(const ReportProcess &process) {
    const auto found = process.verdicts.find("unexplained");
    return found == process.verdicts.end() ? 0 : static_cast<std::int64_t>(found->second);
}

/// The largest distance of a walk from what was held, nullopt where nothing was walked.
std::optional<std::int64_t> largest_residual(const Report &report) {
    std::optional<std::int64_t> largest;
    for (const ReportProcess &process : report.processes) {
        for (const auto &each : {process.residual.min, process.residual.max}) {
            if (each) largest = std::max<std::int64_t>(largest.value_or(0), std::abs(each->n));
        }
    }
    return largest;
}

}  // namespace

std::vector<Figure> figures(const Report &report) {
    const sinks::Ending &ending = report.ending;
    const auto count = [](std::uint64_t number) { return std::optional(static_cast<std::int64_t>(number)); };
    const auto &all = report.processes;
    const auto peak = report.peak_lag ? std::optional(report.peak_lag->pages.n) : std::nullopt;
    std::int64_t peak_rss = 0;
    for (const ReportProcess &process : all)
        peak_rss = std::max(peak_rss, process.peak_rss.n);
    return {{"peak_lag", Unit::Pages, peak, report.peak_lag && report.peak_lag->approximate},
            {"peak_rss", Unit::Pages, all.empty() ? std::nullopt : std::optional(peak_rss)},
            {"growth", Unit::Pages, sum(all, [](const auto &p) { return (p.final - p.baseline).rss().n; })},
            {"growth.file", Unit::Pages, sum(all, growth<core::Member::File>)},
            {"growth.anon", Unit::Pages, sum(all, growth<core::Member::Anon>)},
            {"growth.shmem", Unit::Pages, sum(all, growth<core::Member::Shmem>)},
            {"growth.swap", Unit::Pages, sum(all, growth<core::Member::Swap>)},
            {"residual", Unit::Pages, largest_residual(report)},
            {"unexplained", Unit::Count, sum(all, unexplained)},
            {"duration", Unit::Nanoseconds, count(ending.duration_ns)},
            {"records", Unit::Count, count(report.records)},
            {"updates", Unit::Count, count(ending.updates + ending.updates_by_others)},
            {"faults", Unit::Count, count(ending.faults)},
            {"flushes", Unit::Count, count(ending.flushes)},
            {"lost", Unit::Count, count(ending.lost)},
            {"missing", Unit::Count, count(ending.missing.size())},
            {"resyncs", Unit::Count, count(ending.resyncs)},
            {"disagreements", Unit::Count, count(ending.disagreements)},
            {"processes", Unit::Count, count(all.size())}};
}

}  // namespace rsslag::report
