// SPDX-License-Identifier: BSD-2-Clause
// A report as an HTML page: text in the document, data of the charts as JSON in it. The script is page/report.js, the
// same for every report; no data of a recording is inserted into it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/extreme_text.h"
#include "core/shared_memory.h"
#include "core/text.h"
#include "flame_svg.h"
#include "markup.h"
#include "report_page.h"
#include "report_parts.h"

namespace rsslag::report {
namespace {

using core::Pages;
using nlohmann::ordered_json;

constexpr std::size_t kMostProcesses = 64, kMostNames = 12;
constexpr std::size_t kMostFlames = std::size_t{1} << 20;  // bytes; the page promises less than 2 MB
/// Limits for all processes together.
constexpr std::size_t kAllThreads = 800, kAllColumns = 16'000;

/// The data that all parts of a page need.
struct Page {
    const Report &report;
    std::vector<const ReportProcess *> processes;  ///< shown processes, largest peak first

    std::string kb(Pages pages) const { return core::as_kb(pages, report.facts.machine.page_size); }
    std::size_t share(std::size_t all, std::size_t least, std::size_t most) const {
        return std::clamp(all / std::max<std::size_t>(processes.size(), 1), least, most);
    }
    std::size_t columns() const { return share(kAllColumns, 100, 2000); }
};

std::string paragraph(std::string_view style, const std::string &markup) {
    return fmt::format("<p class=\"{}\">{}</p>\n", style, markup);
}

/// A text cell.
std::string cell(std::string_view raw) {
    return fmt::format("<td class=\"name\">{}</td>", escaped(raw));
}

/// A cell with a number by which the script sorts.
std::string cell(const std::string &text, std::int64_t value) {
    return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", value, text);
}

/// Headings; a leading `<` marks a text column.
std::string headings(const std::vector<std::string_view> &names) {
    std::string out = "<thead><tr>";
    for (const std::string_view name : names) {
        const bool is_text = name.starts_with('<');
        out += fmt::format("<th scope=\"col\"{}>{}</th>", is_text ? "" : " class=\"n\"", name.substr(is_text ? 1 : 0));
    }
    return out + "</tr></thead>\n";
}

std::string table(std::string_view style, const std::string &heading, const std::string &rows) {
    return fmt::format("<div class=\"wide\"><table class=\"sorted {}\">\n{}<tbody>\n{}</tbody></table></div>\n", style,
                       heading, rows);
}

std::string summary_line(const Page &page) {
    const Report &report = page.report;
    if (!report.peak_lag) return paragraph("", "No process was read: the lag is not known.");
    const PeakLag &peak = *report.peak_lag;
    std::string text =
        fmt::format("At most <b>{}{}</b> were hidden from readers of flushed counters: at {}, in {} [{}]",
                    peak.approximate ? "~" : "", page.kb(peak.pages), seconds(peak.t_ns), escaped(peak.comm), peak.pid);
    if (peak.rss.n > 0) text += fmt::format(", which held {}", page.kb(peak.rss));
    return paragraph("", text + lag_uncertainty(peak) + ".");
}

std::string head(const Page &page) {
    const exporters::Facts &facts = page.report.facts;
    const std::string of = page.processes.empty() ? "no process" : escaped(page.processes.front()->comm);
    std::string out = fmt::format("<h1>RSS of {}{}</h1>\n", of, page.report.processes.size() > 1 ? " and others" : "");
    const auto time = std::chrono::system_clock::to_time_t(facts.time);
    std::tm utc{};
    gmtime_r(&time, &utc);
    out += paragraph(
        "faint", fmt::format("recorded {:%Y-%m-%d %H:%M:%S} UTC{} on Linux {} {}: {} scheme, {} online CPUs, {}", utc,
                             facts.host.empty() ? "" : " at " + escaped(facts.host), escaped(facts.kernel),
                             escaped(facts.arch), core::name(facts.machine.scheme), facts.machine.cpus_online,
                             seconds(page.report.ending.duration_ns)));
    if (!facts.command_line.empty()) out += paragraph("faint", "by " + escaped(facts.command_line));
    return out + summary_line(page);
}

/// Lost and missing records, shown before the figures that they may affect.
std::string losses(const Page &page) {
    const exporters::Ending &ending = page.report.ending;
    const std::string causes = causes_text(ending.lost_by, escaped);
    std::string out = paragraph(
        ending.lost == 0 ? "faint" : "bad",
        fmt::format("lost {} of {} records{}; {} resyncs, {} disagreements", count(ending.lost), count(ending.emitted),
                    causes.empty() ? "" : ": " + causes, count(ending.resyncs), count(ending.disagreements)));
    if (ending.complete) return out + paragraph("faint", "the recording is complete");
    out += paragraph("bad", "the recording is NOT complete");
    for (const exporters::MissingPart &missing : ending.missing)
        out += paragraph("bad", fmt::format("missing from {} to {}: {} records, {}", seconds(missing.from_ns),
                                            seconds(missing.to_ns), missing.records ? count(*missing.records) : "?",
                                            escaped(missing.reason)));
    return out;
}

std::string figure_rows(const Page &page) {
    std::string rows;
    for (const Figure &figure : figures(page.report)) {
        const std::string text = figure_text(figure, page.report.facts.machine.page_size);
        rows += fmt::format("<tr>{}{}</tr>\n", cell(figure.name), cell(escaped(text), figure.value.value_or(-1)));
    }
    return table("", headings({"<FIGURE", "VALUE"}), rows);
}

std::string marked(bool approximate, const std::string &text) {
    return std::string(core::approximate_mark(approximate)) + text;
}

std::string process_rows(const Page &page) {
    const auto peak_text = [&page](const core::Extremes &extremes) {
        return core::peak_range_text(extremes, [&page](Pages pages) { return page.kb(pages); });
    };
    std::string rows;
    for (std::size_t i = 0; i < page.processes.size(); ++i) {
        const ReportProcess &process = *page.processes[i];
        const core::Extremes &extremes = process.extremes;
        const auto at = [](std::uint64_t t_ns) { return cell(seconds(t_ns), static_cast<std::int64_t>(t_ns)); };
        rows += fmt::format(
            "<tr data-process=\"{}\">{}{}{}{}{}{}{}{}{}{}{}</tr>\n", i, cell(process.comm),
            cell(std::to_string(process.pid), process.pid), cell(core::state_text(process.state, extremes)),
            cell(marked(process.start_approximate, page.kb(process.at_start.rss())), process.at_start.rss().n),
            cell(marked(process.final_approximate, page.kb(process.last.rss())), process.last.rss().n),
            cell(peak_text(extremes), extremes.most.to.n), at(extremes.most.t_ns),
            cell(marked(extremes.approximate(), page.kb(extremes.lag)), extremes.lag.n), at(extremes.lag_t_ns),
            cell(count(static_cast<std::uint64_t>(process.most_tasks)), process.most_tasks),
            cell(verdicts_text(process)));
    }
    std::string out = "<h2>Processes</h2>\n";
    out += table("able",
                 headings({"<PROCESS", "PID", "<STATE", "RSS AT FIRST", "AT LAST", "PEAK", "WHEN", "PEAK LAG", "WHEN",
                           "THREADS", "<VERDICTS OF TICKS"}),
                 rows);
    const std::uint64_t more = page.report.processes.size() - page.processes.size();
    if (more > 0) out += paragraph("faint", fmt::format("and {} more, each with a smaller peak", count(more)));
    if (page.report.left_out_processes > 0) out += paragraph("faint", left_out_line(page.report.left_out_processes));
    for (const std::vector<int> &pids : sharing(page.report))
        out += paragraph("", core::shared_line(pids, true));
    return out;
}

/// A row of the table of threads.
std::string share_row(const Page &page, const std::string &who, const std::string &tid, int tid_value,
                      const core::Members &net, Pages uncertain, std::optional<Pages> cached, std::uint64_t updates,
                      std::optional<std::uint64_t> flushes, std::optional<std::uint64_t> faults) {
    const auto number = [](std::optional<std::uint64_t> value) {
        return value ? cell(count(*value), static_cast<std::int64_t>(*value)) : cell("-", -1);
    };
    return fmt::format("<tr>{}{}{}{}{}{}{}{}</tr>\n", cell(who), cell(tid, tid_value),
                       cell(page.kb(net.rss()), net.rss().n),
                       cell(uncertain.n == 0 ? "0" : "\u00b1" + page.kb(uncertain), uncertain.n),
                       cell(cached ? page.kb(*cached) : "-", cached.value_or(Pages{-1}).n), number(updates),
                       number(flushes), number(faults));
}

std::string threads(const ReportProcess &process, const Page &page) {
    const std::size_t listed = std::min(process.threads.size(), page.share(kAllThreads, 10, 200));
    const Rest rest = rest_of(process, listed);
    const std::size_t others = std::min(process.other_tasks.size(), page.share(kAllThreads, 10, 200));
    const Rest rest_others = rest_of_others(process, others);
    const bool attributed = process.sum.remainder == core::Members{};
    if (process.threads.empty() && !rest.any() && others == 0 && !rest_others.any() && attributed) return "";
    const auto tid = [](const ReportThread &thread) { return thread.tid > 0 ? std::to_string(thread.tid) : "?"; };
    std::string rows;
    for (std::size_t i = 0; i < listed; ++i) {
        const ReportThread &thread = process.threads[i];
        rows += share_row(page, thread.comm, tid(thread), thread.tid, thread.net, thread.uncertain, thread.peak_cached,
                          thread.updates, thread.flushes, thread.faults);
    }
    if (rest.any())
        rows += share_row(
            page,
            rest.threads > 0 ? "and " + more_threads(rest.threads, rest.ended) : "updates after the threads' ends", "",
            -1, rest.net, rest.uncertain, std::nullopt, rest.updates, rest.flushes, rest.faults);
    for (std::size_t i = 0; i < others; ++i) {
        const ReportThread &other = process.other_tasks[i];
        rows += share_row(page, "by another process: " + other.comm, tid(other), other.tid, other.net, other.uncertain,
                          std::nullopt, other.updates, std::nullopt, std::nullopt);
    }
    if (rest_others.any())
        rows += share_row(page, more_others(rest_others.threads), "", -1, rest_others.net, rest_others.uncertain,
                          std::nullopt, rest_others.updates, std::nullopt, std::nullopt);
    if (has_teardown(process))
        rows += share_row(page, "removed at its end", "", -1, process.sum.teardown, process.sum.teardown_uncertain,
                          std::nullopt, process.sum.teardown_updates, process.sum.teardown_flushes, std::nullopt);
    if (!attributed)
        rows += share_row(page, "not attributed", "", -1, process.sum.remainder, {}, std::nullopt, 0, std::nullopt,
                          std::nullopt);
    constexpr std::size_t kFew = 20;
    const std::uint64_t all = process.threads.size() + process.sum.exited.threads;
    std::string out = fmt::format("<details{}><summary>{} threads</summary>\n", all <= kFew ? " open" : "", count(all));
    const bool lossy = process.extremes.lossy;
    out += table("",
                 headings({"<THREAD", "TID", "NET", "UNCERTAIN", "PEAK CACHED", marked(lossy, "UPDATES"),
                           marked(lossy, "FLUSHES"), "FAULTS"}),
                 rows);
    return out + "</details>\n";
}

std::string grown(const exporters::ImageGrowth &image, const Page &page) {
    const auto held = [](const std::optional<core::Kilobytes> &kb) {
        return kb ? cell(core::with_thousands(kb->n) + " kB", kb->n) : cell("-", -1);
    };
    const bool sampled = page.report.stacks.period > 0;
    const std::string blank = cell("", -1) + cell("", -1) + (sampled ? cell("") : "");
    std::string rows;
    std::size_t listed = 0;
    Pages rest;
    for (const exporters::ImageGrowth::Mapping &mapping : image.mappings) {
        if (listed++ >= kMostNames) {
            rest += mapping.came;
            continue;
        }
        const profile::MappingStack *const by = page.report.stacks.mapping(image.mm, mapping.name);
        rows += fmt::format("<tr>{}{}{}{}{}</tr>\n", cell(mapping.name), cell(page.kb(mapping.came), mapping.came.n),
                            held(mapping.held_start), held(mapping.held_end),
                            sampled ? cell(by ? profile::most_by(page.report.stacks, *by) : "") : "");
    }
    if (listed > kMostNames)
        rows += fmt::format("<tr>{}{}{}</tr>\n", cell(count(listed - kMostNames) + " more"),
                            cell(page.kb(rest), rest.n), blank);
    for (std::size_t i = 0; i < exporters::kNoFaults; ++i) {
        if (image.no_fault[i].n == 0) continue;
        rows += fmt::format("<tr>{}{}{}</tr>\n", cell(core::describe(static_cast<core::NoFault>(i))),
                            cell(page.kb(image.no_fault[i]), image.no_fault[i].n), blank);
    }
    std::string out = paragraph(
        "", fmt::format("grew by {} as {}", marked(image.approximate, page.kb(image.grew())), escaped(image.comm)));
    const std::string came = marked(image.parts_approximate, "CAME BY FAULT");
    std::vector<std::string_view> titles{"<MAPPING", came, "HELD AT FIRST", "HELD AT LAST"};
    if (sampled) titles.emplace_back("<MOST SAMPLED PAGES");
    out += table("", headings(titles), rows);
    if (image.names_lost > 0)
        out += paragraph("bad", fmt::format("{} changes of mappings were lost: any of these names may be outdated",
                                            count(image.names_lost)));
    return out;
}

/// The place where the script draws the chart. Without a script the rest of the page works.
constexpr std::string_view kChartPlace =
    "<ul class=\"key\"><li><span class=\"exact\"></span>exact, least to most</li><li><span class=\"flushed\"></span>"
    "flushed</li><li><span class=\"stat\"></span>/proc/PID/stat says</li><li><span class=\"cached\"></span>cached</li>"
    "<li><span class=\"walked\"></span>walked</li><li><span class=\"lag\"></span>lag</li>"
    "<li><span class=\"bound\"></span>bound of the lag</li></ul>\n"
    "<p class=\"tools\"><button data-does=\"in\">zoom in</button><button data-does=\"out\">zoom out</button>"
    "<button data-does=\"all\">all</button><span class=\"faint\">or drag over a range of time</span></p>\n"
    "<div class=\"place\"></div>\n<output></output>\n";

std::string process_section(std::size_t number, const Page &page) {
    const ReportProcess &process = *page.processes[number];
    const auto kb = [&page](Pages pages) { return page.kb(pages); };
    std::string out =
        fmt::format("<section data-process=\"{}\">\n<h2>{} [{}]</h2>\n", number, escaped(process.comm), process.pid);
    out += paragraph("",
                     fmt::format("{}: rss from {} to {}, {} at {}{}", core::state_text(process.state, process.extremes),
                                 marked(process.start_approximate, page.kb(process.at_start.rss())),
                                 marked(process.final_approximate, page.kb(process.last.rss())),
                                 core::at_most_text(process.extremes, kb), seconds(process.extremes.most.t_ns),
                                 escaped(core::program_text(process.extremes, process.comm, true))));
    out += kChartPlace;
    if (page.report.names)
        for (const exporters::ImageGrowth &image : process.images)
            out += grown(image, page);
    return out + threads(process, page) + "</section>\n";
}

/// Values of ticks by column: null without a tick, false for a tick without the value.
template <class Value>
ordered_json of_ticks(const ReportProcess &process, const Page &page, std::uint64_t column_ns, Value value) {
    std::vector<ordered_json> values(page.columns());
    for (const LagPoint &point : process.points) {
        const std::optional<Pages> pages = value(point);
        const std::size_t at = std::min<std::size_t>(point.t_ns / column_ns, values.size() - 1);
        values[at] = pages ? ordered_json(pages->n) : ordered_json(false);
    }
    return values;
}

template <class Value>
ordered_json of_records(const core::CourseColumns &columns, Value value) {
    ordered_json values = ordered_json::array();
    for (const auto &column : columns)
        values.push_back(column ? ordered_json(value(*column).n) : ordered_json(nullptr));
    return values;
}

ordered_json chart_data(const ReportProcess &process, const Page &page, std::uint64_t column_ns) {
    const Report &report = page.report;
    const core::CourseColumns all = core::course_columns(process.course, report.ending.duration_ns, page.columns());
    const core::Bound bound = lag_bound(process, report);
    const auto ticks = [&](auto value) { return of_ticks(process, page, column_ns, value); };
    return {{"least", of_records(all, [](const core::CourseColumn &column) { return column.least; })},
            {"most", of_records(all, [](const core::CourseColumn &column) { return column.most; })},
            {"lag", of_records(all, [](const core::CourseColumn &column) { return column.lag; })},
            {"flushed", ticks([](const LagPoint &point) { return std::optional(point.exact - point.cached); })},
            {"stat", ticks([](const LagPoint &point) { return point.reported; })},
            {"cached", ticks([](const LagPoint &point) { return std::optional(point.cached); })},
            {"walked", ticks([](const LagPoint &point) { return point.walked; })},
            {"peak_ns", process.extremes.most.t_ns},
            {"bound", bound.rss.n},
            {"bound_text", bound_text(bound, report.facts.machine)}};
}

/// JSON for the charts: numbers and fixed texts only, no names of a recording.
std::string data(const Page &page) {
    const std::uint64_t column_ns = std::max<std::uint64_t>(page.report.ending.duration_ns / page.columns() + 1, 1);
    ordered_json processes = ordered_json::array();
    for (const ReportProcess *process : page.processes)
        processes.push_back(chart_data(*process, page, column_ns));
    const ordered_json all{{"page_size", page.report.facts.machine.page_size.bytes},
                           {"column_ns", column_ns},
                           {"processes", std::move(processes)}};
    return all.dump();
}

constexpr std::string_view kHowToRead =
    "<h2>How to read it</h2>\n"
    "<p><b>Exact</b> is what a process held: flushed + cached, by every record of the kernel's counters. "
    "<b>Flushed</b> is the value of the counter that /proc/PID/stat shows; on many kernels statm and status, and so ps "
    "and top, show it too. <b>Cached</b> is the part that CPUs or threads have not yet added to that counter. The "
    "<b>lag</b> is what a reader of flushed counters misses at one instant. <b>Walked</b> is what the page tables held "
    "(smaps).</p>\n"
    "<p>A peak is a range if records of several CPUs do not determine it; “at least” marks a value that may be higher "
    "because records were lost or updates came before the first reading. Memory that processes share counts in each. A "
    "verdict compares the counters with a "
    "walk: <i>agrees</i>: equal to the page; <i>explained</i>: each page of the difference has a named cause; "
    "<i>moving</i>: the process changed meanwhile.</p>\n";

}  // namespace

std::string report_html(const Report &report) {
    Page page{report, {}};
    for (const ReportProcess &process : report.processes)
        page.processes.push_back(&process);
    const auto larger = [](const ReportProcess *a, const ReportProcess *b) {
        return a->extremes.most.to > b->extremes.most.to;
    };
    std::stable_sort(page.processes.begin(), page.processes.end(), larger);
    page.processes.resize(std::min(page.processes.size(), kMostProcesses));
    std::string out =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    out += fmt::format("<title>RSS over time, recorded on Linux {}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
                       escaped(report.facts.kernel), kPageStyle);
    out += head(page) + losses(page) + process_rows(page);
    out += "<noscript><p class=\"bad\">Charts and sorting need the script of this page.</p></noscript>\n";
    for (std::size_t i = 0; i < page.processes.size(); ++i)
        out += process_section(i, page);
    if (report.stacks.period > 0) out += "<h2>Flame graphs</h2>\n" + flame_svg(report, nullptr, kMostFlames);
    out += "<h2>All figures</h2>\n" + figure_rows(page);
    out += kHowToRead;
    out += fmt::format(
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
        data(page), kPageScript);
    return out;
}

}  // namespace rsslag::report
