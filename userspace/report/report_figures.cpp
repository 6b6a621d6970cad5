// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/extreme_text.h"
#include "core/shared_memory.h"
#include "core/text.h"
#include "report_parts.h"

namespace rsslag::report {
namespace {

using core::Pages;
using Unit = Figure::Unit;

/// "cc1 [4711]"; empty if all rows are of this process.
std::string name_among(const std::vector<ReportProcess> &processes, const ReportProcess &process) {
    const auto other = [&process](const ReportProcess &each) { return each.pid != process.pid; };
    if (std::none_of(processes.begin(), processes.end(), other)) return "";
    return fmt::format("{} [{}]", core::printable(process.comm), process.pid);
}

/// The largest value of all processes, and the process that has it.
template <class Of>
Figure largest(std::string_view name, const std::vector<ReportProcess> &processes, const Of &of) {
    Figure figure{name, Unit::Size, {}};
    const ReportProcess *found = nullptr;
    for (const ReportProcess &process : processes) {
        const std::optional<std::int64_t> value = of(process);
        if (!value || (figure.value && *value <= *figure.value)) continue;
        figure.value = value;
        found = &process;
    }
    if (found != nullptr) figure.process = name_among(processes, *found);
    return figure;
}

/// Image 0, the memory that a fork held before its first exec, belongs to its parent's program. It counts for the lag,
/// but not for peak or growth.
bool own_image(const ReportProcess &process) {
    return process.extremes.image != 0;
}

/// of(), restricted to programs that the process itself has run.
template <class Of>
auto of_own(const Of &of) {
    return [of](const ReportProcess &process) {
        return own_image(process) ? std::optional<std::int64_t>(of(process)) : std::nullopt;
    };
}

/// The range of the peaks: of all processes the largest lower bound, and the largest upper one.
Figure peak_rss(const std::vector<ReportProcess> &processes) {
    const auto from = of_own([](const ReportProcess &process) { return process.extremes.most.from.n; });
    const auto to = of_own([](const ReportProcess &process) { return process.extremes.most.to.n; });
    Figure figure = largest("peak_rss", processes, to);
    figure.least = largest("", processes, from).value;
    return figure;
}

std::vector<Figure> growth_by_member(const std::vector<ReportProcess> &processes) {
    static const std::vector<std::string> member_names = [] {
        std::vector<std::string> names;
        names.reserve(std::size(core::kMembersInOrder));
        for (const core::Member member : core::kMembersInOrder)
            names.push_back(fmt::format("growth.{}", core::name(member)));
        return names;
    }();
    std::vector<Figure> figures;
    for (std::size_t i = 0; i < member_names.size(); ++i) {
        const core::Member member = core::kMembersInOrder[i];
        const auto grown = [member](const ReportProcess &process) { return process.extremes.grown[member].n; };
        figures.push_back(largest(member_names[i], processes, of_own(grown)));
    }
    return figures;
}

std::int64_t rss_growth(const ReportProcess &process) {
    return process.extremes.grown_rss.n;
}

std::optional<std::int64_t> peak_cached(const ReportProcess &process) {
    std::int64_t most = 0;
    for (const core::Member member : core::kAllMembers)
        most = std::max(most, process.extremes.cached_most[member].n);
    return most;
}

/// The share of the exact rss at the instant of the peak lag; nullopt below 1 MiB, where it is meaningless.
std::optional<std::int64_t> lag_percent(const ReportProcess &process, const core::PageSize &page_size) {
    constexpr std::int64_t kLeast = std::int64_t{1} << 20;
    constexpr std::int64_t kHundredths = 10'000;
    const core::Pages rss = process.extremes.lag_rss;
    if (rss.n <= 0 || rss.n < kLeast / page_size.bytes) return std::nullopt;
    return (process.extremes.lag.n * kHundredths + rss.n / 2) / rss.n;
}

Figure lag_share(const std::vector<ReportProcess> &processes, const core::PageSize &page_size) {
    Figure figure{"lag%", Unit::Percent, {}};
    if (!processes.empty()) figure.why_unknown = "no process held 1 MiB at its peak lag";
    for (const ReportProcess &process : processes) {
        const auto share = lag_percent(process, page_size);
        const auto larger = [&](const std::pair<core::Pages, core::Pages> &than) {
            return static_cast<double>(process.extremes.lag.n) * static_cast<double>(than.second.n) >
                   static_cast<double>(than.first.n) * static_cast<double>(process.extremes.lag_rss.n);
        };
        if (!share || (figure.parts && !larger(*figure.parts))) continue;
        figure.value = share;
        figure.why_unknown.clear();
        figure.parts = {process.extremes.lag, process.extremes.lag_rss};
        figure.process = name_among(processes, process);
    }
    return figure;
}

/// The number of ticks with the verdict `unexplained`; nullopt if there was no walk.
std::optional<std::int64_t> unexplained(const Report &report) {
    std::optional<std::int64_t> ticks;
    const auto add = [&ticks](const std::map<std::string, std::uint64_t> &verdicts) {
        for (const auto &[verdict, count] : verdicts) {
            if (verdict == "unwalked") continue;
            const bool is = verdict == "unexplained";
            ticks = ticks.value_or(0) + (is ? static_cast<std::int64_t>(count) : 0);
        }
    };
    for (const ReportProcess &process : report.processes)
        add(process.verdicts);
    add(report.left_out_verdicts);
    return ticks;
}

/// Residuals of processes that were not walked are not known.
void mark_residuals(std::vector<Figure> &figures, const Report &report) {
    const auto unwalked = std::count_if(report.processes.begin(), report.processes.end(), never_walked) +
                          static_cast<std::int64_t>(report.left_out_unwalked);
    if (unwalked == 0) return;
    for (Figure &figure : figures) {
        const std::string_view name = figure.name;
        if ((name != "residual" && name != "unexplained") || !figure.value) continue;
        figure.at_least = true;
        if (figure.why_unknown.empty())
            figure.why_unknown = fmt::format("{} process{} never walked", count(static_cast<std::uint64_t>(unwalked)),
                                             unwalked == 1 ? " was" : "es were");
    }
}

/// "24,913 records were lost: 24,913 ring_full", the reason why a figure is not known; empty without a loss.
std::string what_was_lost(const Report &report) {
    const exporters::Ending &ending = report.ending;
    std::string text;
    if (ending.lost > 0) {
        const std::string causes =
            causes_text(ending.lost_by, [](const auto &cause) { return core::printable(cause); });
        text = fmt::format("{} record{} lost{}{}", count(ending.lost), ending.lost == 1 ? " was" : "s were",
                           causes.empty() ? "" : ": ", causes);
    }
    if (!ending.complete) text += fmt::format("{}the recording is not complete", text.empty() ? "" : ", ");
    if (report.cut_off) text += fmt::format("{}the command was not traced to its end", text.empty() ? "" : ", ");
    if (report.facts.segment > 0)
        text += fmt::format("{}earlier segments are not in this file", text.empty() ? "" : ", ");
    const std::string missed = core::missed_text(ending);
    return text + (text.empty() || missed.empty() ? "" : ", ") + missed;
}

/// The sum over `unlisted` and all of `tasks` except the first `listed`.
Rest rest_of(const std::vector<ReportThread> &tasks, std::size_t listed, const core::ExitedNet &unlisted) {
    Rest rest;
    rest.threads = rest.ended = unlisted.threads;
    rest.net = unlisted.net;
    rest.updates = unlisted.updates;
    rest.faults = unlisted.faults;
    rest.flushes = unlisted.flushes;
    rest.uncertain = unlisted.uncertain;
    for (std::size_t i = listed; i < tasks.size(); ++i) {
        const ReportThread &task = tasks[i];
        rest.threads++;
        rest.ended += task.ended ? 1 : 0;
        rest.net += task.net;
        rest.uncertain += task.uncertain;
        rest.updates += task.updates;
        rest.faults += task.faults;
        rest.flushes += task.flushes;
    }
    return rest;
}

/// Only a lower bound if children were not traced.
Figure tree_peak(const Report &report) {
    const core::Extremes &tree = report.ending.all;
    Figure figure{"tree.peak_rss", Unit::Size, {}, {}, tree.lossy && !report.processes.empty()};
    if (report.processes.empty()) return figure;
    figure.value = tree.most.to.n;
    figure.least = tree.most.from.n;
    if (report.facts.follow) return figure;
    figure.at_least = true;
    figure.why_unknown = "children are traced with --follow only";
    return figure;
}

/// Marks figures that missing records may change: counts and maxima may be higher, growth higher or lower. If the file
/// has its end, the duration, the resyncs and the number of lost records are known.
void mark_losses(std::vector<Figure> &figures, const Report &report) {
    const bool ended = report.ending.complete && !report.cut_off;
    const bool parts_unknown = std::any_of(report.ending.missing.begin(), report.ending.missing.end(),
                                           [](const exporters::MissingPart &part) { return !part.records; });
    const std::string why = what_was_lost(report);
    for (Figure &figure : figures) {
        const std::string_view name = figure.name;
        const bool whole = (name == "duration" && ended) || (name == "missing") ||
                           (name == "lost" && ended && !parts_unknown) || (name == "resyncs" && ended);
        if (whole || !figure.value) continue;
        (name.starts_with("growth") ? figure.approximate : figure.at_least) = true;
        figure.why_unknown += (figure.why_unknown.empty() || why.empty() ? "" : "; ") + why;
    }
}

/// --mode counts: the cached amount may have been larger between two sums. The sums of several CPUs are of different
/// times, and may add up to more than there was at any instant.
void mark_sums(std::vector<Figure> &figures) {
    for (Figure &figure : figures) {
        const std::string_view name = figure.name;
        if ((name != "peak_lag" && name != "peak_cached" && name != "lag%") || !figure.value) continue;
        figure.at_least = false;
        figure.approximate = true;
        if (figure.why_unknown.empty()) figure.why_unknown = kSumsHide;
    }
}

}  // namespace

std::vector<const ReportProcess *> largest(const std::vector<ReportProcess> &processes, std::size_t most) {
    std::vector<const ReportProcess *> chosen;
    chosen.reserve(processes.size());
    for (const ReportProcess &process : processes)
        chosen.push_back(&process);
    if (chosen.size() <= most) return chosen;
    std::stable_sort(chosen.begin(), chosen.end(), [](const ReportProcess *a, const ReportProcess *b) {
        return a->extremes.most.to > b->extremes.most.to;
    });
    chosen.resize(most);
    std::sort(chosen.begin(), chosen.end());  // by place in `processes`
    return chosen;
}

std::string count(std::uint64_t number) {
    return core::with_thousands(static_cast<std::int64_t>(number));
}

std::string left_out_line(std::uint64_t processes) {
    return fmt::format("{} more processes ended; none of them has the largest value of a figure", count(processes));
}

std::optional<std::int64_t> residual_of(const ReportProcess &process) {
    std::optional<std::int64_t> largest;
    for (const auto &each : {process.residual.min, process.residual.max})
        if (each) largest = std::max<std::int64_t>(largest.value_or(0), std::abs(each->n));
    return largest;
}

bool never_walked(const ReportProcess &process) {
    const auto unwalked = [](const auto &each) { return each.first == core::name(core::Verdict::Unwalked); };
    return !process.verdicts.empty() && std::all_of(process.verdicts.begin(), process.verdicts.end(), unwalked);
}

std::string verdicts_text(const ReportProcess &process) {
    std::string text;
    for (const core::Verdict verdict : kAllVerdicts) {
        const auto found = process.verdicts.find(std::string(core::name(verdict)));
        if (found == process.verdicts.end()) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count(found->second), core::name(verdict));
    }
    return text.empty() ? "none" : text;
}

core::Bound lag_bound(const ReportProcess &process, const Report &report) {
    return core::bound(report.facts.machine, std::max<std::int64_t>(process.most_tasks, 1));
}

std::string bound_text(const core::Bound &bound, const core::Machine &machine) {
    return fmt::format("{} bound of the {} scheme: {}", bound.hard ? "hard" : "soft", core::name(machine.scheme),
                       core::as_kb(bound.rss, machine.page_size));
}

std::vector<std::vector<int>> sharing(const Report &report) {
    std::map<std::uint64_t, std::vector<int>> by_mm;
    for (const ReportProcess &process : report.processes) {
        if (!own_image(process) || process.pid <= 0) continue;
        for (const MmReport &mm : process.mms)
            by_mm[mm.mm].push_back(process.pid);
    }
    return core::sharing(std::move(by_mm));
}

std::string lag_uncertainty(const PeakLag &peak) {
    if (!peak.approximate) return "";
    if (!peak.lossy) return fmt::format("; {}", kSumsHide);
    return fmt::format("; {}: it may have been higher", core::loss_text(peak.read_late));
}

std::string seconds(std::uint64_t t_ns) {
    const std::uint64_t ms = t_ns / 1'000'000 + (t_ns % 1'000'000 >= 500'000 ? 1 : 0);  // rounded, as in ticks
    return fmt::format("{}.{:03} s", core::with_thousands(static_cast<std::int64_t>(ms / 1'000)), ms % 1'000);
}

std::string figure_text(const Figure &figure, const core::PageSize &page_size) {
    if (!figure.value)
        return figure.why_unknown.empty() ? "not known" : fmt::format("not known ({})", figure.why_unknown);
    const auto kb = [&page_size](core::Pages pages) { return core::as_kb(pages, page_size); };
    const std::string most = value_text(figure.unit, *figure.value, kb);
    const std::string least = value_text(figure.unit, figure.least.value_or(*figure.value), kb);
    const std::string parts =
        figure.parts ? fmt::format(" ({} of {})", kb(figure.parts->first), kb(figure.parts->second)) : "";
    const std::string why = figure.why_unknown.empty() ? "" : fmt::format(" ({})", figure.why_unknown);
    if (figure.at_least) return "at least " + least + parts + why;
    if (figure.approximate) return "~" + most + parts + why;
    return (least == most ? most : least + " to " + most) + parts;
}

std::string more_threads(std::uint64_t threads, std::uint64_t ended) {
    std::string text = fmt::format("{} more thread{}", count(threads), threads == 1 ? "" : "s");
    if (ended == 0) return text;
    return text + (ended == threads ? " that ended" : fmt::format(", {} of them ended", count(ended)));
}

std::string more_others(std::uint64_t tasks) {
    return fmt::format("by {} more task{} of other processes", count(tasks), tasks == 1 ? "" : "s");
}

Rest rest_of(const ReportProcess &process, std::size_t listed) {
    Rest rest = rest_of(process.threads, listed, process.sum.exited);
    rest.net = rest.net - process.sum.teardown;
    rest.updates -= std::min(rest.updates, process.sum.teardown_updates);
    rest.flushes -= std::min(rest.flushes, process.sum.teardown_flushes);
    return rest;
}

bool has_teardown(const ReportProcess &process) {
    const bool lost = process.state != core::State::Running && process.sum.teardown_uncertain.n > 0;
    return process.sum.teardown_updates > 0 || lost;
}

Rest rest_of_others(const ReportProcess &process, std::size_t listed) {
    return rest_of(process.other_tasks, listed, process.sum.ended_others);
}

std::vector<Figure> figures(const Report &report) {
    const exporters::Ending &ending = report.ending;
    const auto count = [](std::uint64_t number) { return std::optional(static_cast<std::int64_t>(number)); };
    const auto &all = report.processes;
    const bool lossy =
        report.lossy() || std::any_of(all.begin(), all.end(), [](const auto &each) { return each.extremes.lossy; });
    const core::PageSize page_size = report.facts.machine.page_size;
    const auto lag = [](const ReportProcess &process) { return std::optional(process.extremes.lag.n); };
    std::vector<Figure> figures{
        largest("peak_lag", all, lag),
        peak_rss(all),
        largest("peak_cached", all, peak_cached),
        tree_peak(report),
        lag_share(all, page_size),
        largest("growth", all, of_own(rss_growth)),
        largest("residual", all, residual_of),
        {"unexplained", Unit::Count, unexplained(report)},
        {"duration", Unit::Time, count(ending.duration_ns)},
        {"records", Unit::Count, count(report.records)},
        {"updates", Unit::Count, count(ending.updates + ending.updates_by_others)},
        {"faults", Unit::Count, count(ending.faults)},
        {"flushes", Unit::Count, count(ending.flushes)},
        {"lost", Unit::Count, count(ending.lost)},
        {"missing", Unit::Count, count(ending.missing.size())},
        {"resyncs", Unit::Count, count(ending.resyncs)},
        {"disagreements", Unit::Count, count(ending.disagreements)},
        {"processes", Unit::Count,
         std::count_if(all.begin(), all.end(), own_image) + static_cast<std::int64_t>(report.left_out) +
             static_cast<std::int64_t>(ending.processes_unread)}};
    const auto growth = std::ranges::find(figures, "growth", &Figure::name);
    const std::vector<Figure> by_member = growth_by_member(all);
    figures.insert(std::next(growth), by_member.begin(), by_member.end());
    if (lossy) mark_losses(figures, report);
    mark_residuals(figures, report);
    if (std::any_of(all.begin(), all.end(), [](const auto &each) { return each.extremes.summed; })) mark_sums(figures);
    return figures;
}

}  // namespace rsslag::report
