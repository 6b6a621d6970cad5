// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#include "core/extreme_text.h"
#include "core/shared_memory.h"
#include "core/text.h"
#include "report_parts.h"
#include "text_chart.h"

namespace rsslag::report {
namespace {

using core::Pages;

/// Formats pages in the requested unit, with U+2212 as the minus sign in UTF-8.
class Amounts {
  public:
    Amounts(const ReportStyle &style, const core::PageSize &page_size) : style_(style), page_size_(page_size) {}

    std::string operator()(Pages pages) const {
        std::string text = style_.pages(pages, page_size_);
        if (style_.utf8 && text.starts_with('-')) text.replace(0, 1, "\u2212");
        return text;
    }
    std::string operator()(const std::optional<Pages> &pages) const { return pages ? (*this)(*pages) : "?"; }

    std::string name(std::string_view raw) const { return core::printable(raw, style_.utf8); }
    const ReportStyle &style() const { return style_; }

  private:
    const ReportStyle &style_;
    core::PageSize page_size_;
};

std::string local_time(std::chrono::system_clock::time_point time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    localtime_r(&seconds, &parts);
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

std::string head(const Report &report, const Amounts &amount) {
    const exporters::Facts &facts = report.facts;
    std::string text =
        fmt::format("recorded {}{} on Linux {}{}: {} scheme, {} online CPUs, {}\n", local_time(facts.time),
                    facts.host.empty() ? "" : " at " + amount.name(facts.host), amount.name(facts.kernel),
                    facts.arch.empty() ? "" : " " + amount.name(facts.arch), core::name(facts.machine.scheme),
                    facts.machine.cpus_online, seconds(report.ending.duration_ns));
    if (!facts.command_line.empty()) text += "by " + amount.name(facts.command_line) + "\n";
    return text;
}

std::string totals(const Report &report, const Amounts &amount) {
    const exporters::Ending &ending = report.ending;
    const std::string_view at_least = report.lossy() ? "at least " : "";
    std::string text = fmt::format("{} records: {}{} updates ({} by others), {} faults, {} flushes\n",
                                   count(report.records), at_least, count(ending.updates + ending.updates_by_others),
                                   count(ending.updates_by_others), count(ending.faults), count(ending.flushes));
    const auto name = [&amount](const std::string &cause) { return amount.name(cause); };
    const std::string causes = causes_text(ending.lost_by, name);
    text += fmt::format("lost {} of {}{}; {} resyncs, {} disagreements\n", count(ending.lost), count(ending.emitted),
                        causes.empty() ? "" : ": " + causes, count(ending.resyncs), count(ending.disagreements));
    const std::string reasons = causes_text(ending.flush_reasons, name);
    if (!reasons.empty()) text += fmt::format("flush reasons{}: {}\n", report.lossy() ? " (at least)" : "", reasons);
    if (const std::string missed = core::missed_text(ending); !missed.empty())
        text += fmt::format("! {}; what they did then is not known\n", missed);
    if (ending.complete) return text + "the recording is complete\n";
    text += "the recording is NOT complete\n";
    for (const exporters::MissingPart &missing : ending.missing)
        text +=
            fmt::format("  missing from {} to {}: {} records, {}\n", seconds(missing.from_ns), seconds(missing.to_ns),
                        missing.records ? count(*missing.records) : "?", amount.name(missing.reason));
    return text;
}

/// The bound that the peak lag exceeds; only a soft one can be exceeded.
std::string exceeded_bound(const PeakLag &peak, const Report &report) {
    const auto found = std::find_if(report.processes.begin(), report.processes.end(), [&peak](const auto &process) {
        return process.pid == peak.pid && process.peak_lag && process.peak_lag->pages == peak.pages;
    });
    if (found == report.processes.end()) return "";
    const core::Bound bound = lag_bound(*found, report);
    if (bound.hard || peak.pages <= bound.rss) return "";
    return "; above the " + bound_text(bound, report.facts.machine);
}

std::string peak(const PeakLag &peak, const Report &report, const Amounts &amount) {
    return fmt::format("peak lag {}{} at {} in {} [{}]{}{}\n", peak.approximate ? "~" : "", amount(peak.pages),
                       seconds(peak.t_ns), amount.name(peak.comm), peak.pid, exceeded_bound(peak, report),
                       lag_uncertainty(peak));
}

/// Formats pages with the mark of an approximate number, if they are.
auto marked(bool approximate, const Amounts &amount) {
    return [approximate, &amount](const auto &pages) {
        return fmt::format("{}{}", core::approximate_mark(approximate), amount(pages));
    };
}

std::string residual(const ReportProcess &process, const Amounts &amount) {
    const ResidualStatistics &residual = process.residual;
    if (residual.walks == 0) return "nothing was walked";
    const auto pages = marked(process.extremes.lossy, amount);
    const std::string walks = fmt::format("{} walk{}", count(residual.walks), residual.walks == 1 ? "" : "s");
    if (residual.nonzero == 0) return fmt::format("residual {} in {}", pages(residual.max), walks);
    return fmt::format("residual {} to {}, not 0 in {} of {}", pages(residual.min), pages(residual.max),
                       count(residual.nonzero), walks);
}

std::size_t cells_of(const std::string &text) {
    const auto continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continuation));
}

/// Right-aligned by characters, not bytes: the minus sign is three bytes and one cell.
std::string right(const std::string &text, std::size_t width) {
    const std::size_t cells = cells_of(text);
    return std::string(cells < width ? width - cells : 0, ' ') + text;
}

/// A row of the table of threads; `who` is the last column.
struct ShareRow {
    std::string peak_cached = "-";
    core::Members net;
    Pages uncertain;
    std::uint64_t updates = 0;
    std::optional<std::uint64_t> flushes, faults;
    std::string who;
};

std::string share_rows(const std::vector<ShareRow> &rows, bool lossy, const Amounts &amount) {
    const bool any_uncertain =
        std::any_of(rows.begin(), rows.end(), [](const ShareRow &row) { return row.uncertain.n != 0; });
    const auto number = [](const std::optional<std::uint64_t> &value) { return value ? count(*value) : "-"; };
    const std::string plus_minus = amount.style().utf8 ? "\u00b1" : "+-";
    const std::string_view mark = core::approximate_mark(lossy);
    std::string text =
        fmt::format("  {} {}{} {} {} {}  THREAD\n", right("PEAK CACHED", 14), right("NET", 14),
                    any_uncertain ? " " + right("UNCERTAIN", 17) : "", right(fmt::format("{}UPDATES", mark), 12),
                    right(fmt::format("{}FLUSHES", mark), 10), right("FAULTS", 12));
    for (const ShareRow &row : rows) {
        const std::string uncertain = row.uncertain.n == 0 ? "0" : plus_minus + amount(row.uncertain);
        text += fmt::format("  {} {}{} {} {} {}  {}\n", right(row.peak_cached, 14), right(amount(row.net.rss()), 14),
                            any_uncertain ? " " + right(uncertain, 17) : "", right(count(row.updates), 12),
                            right(number(row.flushes), 10), right(number(row.faults), 12), row.who);
    }
    return text;
}

std::string who(const ReportThread &thread, const Amounts &amount) {
    return fmt::format("{} [{}]", amount.name(thread.comm), thread.tid > 0 ? std::to_string(thread.tid) : "?");
}

ShareRow share_of(const ReportThread &thread, const Amounts &amount) {
    ShareRow row;
    if (thread.peak_cached) row.peak_cached = amount(*thread.peak_cached);
    row.net = thread.net;
    row.uncertain = thread.uncertain;
    row.updates = thread.updates;
    row.flushes = thread.flushes;
    row.faults = thread.faults;
    row.who = who(thread, amount);
    return row;
}

/// What no row has is as uncertain as the least certain row.
Pages most_uncertain(const std::vector<ShareRow> &rows) {
    Pages most;
    for (const ShareRow &row : rows)
        most = std::max(most, row.uncertain);
    return most;
}

/// Net changes by thread, by tasks of other processes and by the teardown. They add up to final - baseline.
std::string threads(const ReportProcess &process, const Amounts &amount) {
    std::vector<ShareRow> rows;
    const std::size_t listed = std::min(process.threads.size(), amount.style().threads);
    for (std::size_t i = 0; i < listed; ++i)
        rows.push_back(share_of(process.threads[i], amount));
    if (const Rest rest = rest_of(process, listed); rest.any()) {
        const std::string what = rest.threads > 0 ? "and " + more_threads(rest.threads, rest.ended)
                                                  : std::string("updates after the threads' ends");
        rows.push_back({"-", rest.net, rest.uncertain, rest.updates, rest.flushes, rest.faults, what});
    }
    const std::size_t others = std::min(process.other_tasks.size(), amount.style().threads);
    for (std::size_t i = 0; i < others; ++i) {
        ShareRow row = share_of(process.other_tasks[i], amount);
        row.flushes = row.faults = std::nullopt;
        row.who = "by another process: " + row.who;
        rows.push_back(std::move(row));
    }
    if (const Rest rest = rest_of_others(process, others); rest.any())
        rows.push_back(
            {"-", rest.net, rest.uncertain, rest.updates, std::nullopt, std::nullopt, more_others(rest.threads)});
    if (has_teardown(process))
        rows.push_back({"-", process.sum.teardown, process.sum.teardown_uncertain, process.sum.teardown_updates,
                        process.sum.teardown_flushes, std::nullopt, "removed at its end"});
    if (process.sum.remainder != core::Members{})
        rows.push_back(
            {"-", process.sum.remainder, most_uncertain(rows), 0, std::nullopt, std::nullopt, "not attributed"});
    return rows.empty() ? "" : share_rows(rows, process.extremes.lossy, amount);
}

std::string growth_text(const ReportProcess &process, const Amounts &amount) {
    constexpr std::size_t kMost = 8;
    std::string text;
    for (const Growth &growth : process.growth) {
        if (growth.pages.n <= 0 || std::count(text.begin(), text.end(), '\n') >= static_cast<std::ptrdiff_t>(kMost))
            break;
        text += fmt::format("  {} {}  {:#x}-{:#x}\n", right(amount(growth.pages), 14), right(count(growth.updates), 12),
                            growth.from, growth.to);
    }
    if (text.empty()) return "";
    const std::string_view mark = core::approximate_mark(process.extremes.lossy);
    return fmt::format("  {} {}  ADDRESSES OF FAULTS\n", right(fmt::format("{}GREW", mark), 14),
                       right(fmt::format("{}UPDATES", mark), 12)) +
           text;
}

/// The growth of one program by mapping: the net change at faults, next to the sizes in smaps at both ends.
std::string image_text(const exporters::ImageGrowth &image, const profile::Profile &stacks, const Amounts &amount) {
    constexpr std::size_t kFewer = 12;
    const std::size_t most = std::max(kFewer, amount.style().threads);
    const auto held = [](const std::optional<core::Kilobytes> &kb) {
        return kb ? core::with_thousands(kb->n) + " kB" : std::string("-");
    };
    std::string text = fmt::format("  grew by {}{} as {}\n", core::approximate_mark(image.approximate),
                                   amount(image.grew()), amount.name(image.comm));
    const std::string_view mark = core::approximate_mark(image.parts_approximate);
    text += fmt::format("  {} {} {}  MAPPING\n", right(fmt::format("{}CAME BY FAULT", mark), 14),
                        right("HELD AT FIRST", 14), right("HELD AT LAST", 14));
    std::size_t listed = 0;
    Pages rest;
    for (const exporters::ImageGrowth::Mapping &mapping : image.mappings) {
        if (listed < most) {
            text +=
                fmt::format("  {} {} {}  {}\n", right(amount(mapping.came), 14), right(held(mapping.held_start), 14),
                            right(held(mapping.held_end), 14), amount.name(mapping.name));
            if (const profile::MappingStack *const by = stacks.mapping(image.mm, mapping.name))
                text += fmt::format("{:>50}{}\n", "", amount.name(profile::most_by(stacks, *by)));
        } else {
            rest += mapping.came;
        }
        ++listed;
    }
    if (listed > most)
        text += fmt::format("  {} {:>14} {:>14}  {} more\n", right(amount(rest), 14), "", "", count(listed - most));
    for (std::size_t i = 0; i < exporters::kNoFaults; ++i) {
        if (image.no_fault[i].n == 0) continue;
        text += fmt::format("  {} {:>14} {:>14}  {}\n", right(amount(image.no_fault[i]), 14), "", "",
                            core::describe(static_cast<core::NoFault>(i)));
    }
    if (image.names_lost > 0)
        text += fmt::format("  {} changes of mappings were lost: any of these names may be outdated\n",
                            count(image.names_lost));
    return text;
}

/// Of the programs that the process has run, those that grew or shrank most, in order.
std::string images_text(const ReportProcess &process, const profile::Profile &stacks, const Amounts &amount) {
    const std::size_t most = amount.style().threads;
    std::vector<const exporters::ImageGrowth *> shown;
    for (const exporters::ImageGrowth &image : process.images)
        shown.push_back(&image);
    const std::size_t all = shown.size();
    if (all > most) {
        std::stable_sort(shown.begin(), shown.end(),
                         [](const auto *a, const auto *b) { return std::abs(a->grew().n) > std::abs(b->grew().n); });
        shown.resize(most);
        std::sort(shown.begin(), shown.end());
    }
    std::string text;
    for (const exporters::ImageGrowth *const image : shown)
        text += image_text(*image, stacks, amount);
    if (all > most)
        text += fmt::format("  and {} more program{}, none of which grew by more; --all shows {}\n", count(all - most),
                            all - most == 1 ? "" : "s", all - most == 1 ? "it" : "them");
    return text;
}

/// Extremes other than the peak: the least rss, and most, least and most cached of each member, at any instant.
std::string extremes_text(const core::Extremes &extremes, const Amounts &amount) {
    const auto rss = marked(extremes.lossy, amount);
    const auto pages = marked(extremes.approximate(), amount);
    const auto each = [&pages](const core::Members &members) { return rss_members_text(members, pages); };
    const core::Extreme &least = extremes.least;
    const std::string range = least.from == least.to ? rss(least.to) : rss(least.from) + " to " + rss(least.to);
    return fmt::format("  by member at most {}\n  lowest {} at {}: by member {}\n  cached at most {}\n",
                       each(extremes.each_most), range, seconds(least.t_ns), each(extremes.each_least),
                       each(extremes.cached_most));
}

std::string one(const ReportProcess &process, const Report &report, const Amounts &amount) {
    std::string text = fmt::format("\n{} [{}] {}: rss from {}{} to {}{}, {} at {}{}\n", amount.name(process.comm),
                                   process.pid, core::state_text(process.state, process.extremes),
                                   core::approximate_mark(process.start_approximate), amount(process.at_start.rss()),
                                   core::approximate_mark(process.final_approximate), amount(process.last.rss()),
                                   core::at_most_text(process.extremes, amount), seconds(process.extremes.most.t_ns),
                                   core::program_text(process.extremes, process.comm, amount.style().utf8));
    if (process.extremes.lossy)
        text += fmt::format("{}: figures marked ~ or with an UNCERTAIN amount may be wrong\n",
                            core::loss_text(process.extremes.read_late));
    if (process.peak_lag) text += peak(*process.peak_lag, report, amount);
    text += extremes_text(process.extremes, amount);
    text += fmt::format("{} tick{}: {}; {}\n", count(process.ticks), process.ticks == 1 ? "" : "s",
                        verdicts_text(process), residual(process, amount));
    text += text_charts(process.course, report.ending.duration_ns, amount.style(), report.facts.machine.page_size);
    text += threads(process, amount);
    if (!report.names) return text + growth_text(process, amount);
    return text + images_text(process, report.stacks, amount);
}

/// With a mark if it is not exact: `>=` for a lower bound, `~` for an approximate value. A range has both ends.
std::string cell_text(const Figure &figure, const Amounts &amount) {
    if (!figure.value) return "?";
    const std::string most = value_text(figure.unit, *figure.value, amount);
    const std::string least = value_text(figure.unit, figure.least.value_or(*figure.value), amount);
    if (figure.at_least) return fmt::format("{}{}", amount.style().utf8 ? "\u2265" : ">=", least);
    if (figure.approximate) return "~" + most;
    return least == most ? most : least + " to " + most;
}

/// "+120 kB", "~+120 kB" if one of the figures is approximate; "?" if it is not known, or one of them is a range.
std::string change_text(const Figure &was, const Figure &is, const Amounts &amount) {
    if (!was.value || !is.value || was.range() || is.range()) return "?";
    const std::int64_t change = core::wrapped_difference(*is.value, *was.value);
    return fmt::format("{}{}{}", was.exact() && is.exact() ? "" : "~", change > 0 ? "+" : "",
                       value_text(is.unit, change, amount));
}

}  // namespace

std::string report_text(const Report &report, const ReportStyle &style) {
    const Amounts amount(style, report.facts.machine.page_size);
    std::string text = head(report, amount) + totals(report, amount);
    text += report.peak_lag ? peak(*report.peak_lag, report, amount) : "no process was read: the lag is not known\n";
    if (report.processes.size() > 1)
        text += core::tree_text(report.ending.all, amount, seconds(report.ending.all.most.t_ns));
    const std::vector<const ReportProcess *> shown = largest(report.processes, style.processes);
    for (const ReportProcess *const process : shown)
        text += one(*process, report, amount);
    if (const std::size_t more = report.processes.size() - shown.size(); more > 0)
        text += fmt::format("\nand {} more process{}, none with a larger peak; --all shows {}\n", count(more),
                            more == 1 ? "" : "es", more == 1 ? "it" : "them");
    if (report.left_out_processes > 0) text += fmt::format("\n{}\n", left_out_line(report.left_out_processes));
    std::string_view blank = "\n";
    for (const std::vector<int> &pids : sharing(report))
        text += std::string(std::exchange(blank, "")) + core::shared_line(pids);
    return text;
}

std::string diff_text(const Report &before, const Report &after, const ReportStyle &style) {
    const Amounts was_amount(style, before.facts.machine.page_size);
    const Amounts amount(style, after.facts.machine.page_size);
    const bool same_pages = before.facts.machine.page_size.bytes == after.facts.machine.page_size.bytes;
    std::string text = "before: " + head(before, was_amount) + "after:  " + head(after, amount);
    const std::vector<Figure> was = figures(before);
    const std::vector<Figure> is = figures(after);
    std::vector<std::array<std::string, 4>> rows{{"", "BEFORE", "AFTER", "CHANGE"}};
    for (std::size_t i = 0; i < is.size(); ++i) {
        const bool comparable = same_pages || is[i].unit != Figure::Unit::Size;
        rows.push_back({std::string(is[i].name), cell_text(was[i], was_amount), cell_text(is[i], amount),
                        comparable ? change_text(was[i], is[i], amount) : "?"});
    }
    std::size_t width = 16;
    for (const auto &row : rows)
        width = std::max({width, cells_of(row[1]) + 2, cells_of(row[2]) + 2});
    for (const auto &[name, was_text, is_text, change] : rows)
        text += fmt::format("{:<14}{}{}{}\n", name, right(was_text, width), right(is_text, width), right(change, 16));
    return text;
}

}  // namespace rsslag::report
