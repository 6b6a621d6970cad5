// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "core/extreme_text.h"
#include "core/reading_figures.h"
#include "core/shared_memory.h"
#include "core/text.h"
#include "documents/tick.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using core::Pages;
using core::TaskNet;
using Out = std::back_insert_iterator<std::string>;
using Counts = std::map<std::string, std::uint64_t>;

std::string percent_of(const std::optional<Pages> &part, Pages whole) {
    if (!part || whole.n == 0) return "-";
    return fmt::format("{:.1f}", 100.0 * static_cast<double>(part->n) / static_cast<double>(whole.n));
}

/// The verdict, the age of its walk, the residual, disagreements and resyncs. For an ended process: how it ended.
std::string verdict_text(const Tick &tick, const core::ReadingFigures &figures, const TextStyle &style) {
    const bool ended = tick.state != core::State::Running;
    std::string text = upper(ended ? core::name(tick.state) : core::name(figures.verdict));
    if (tick.stale_walk && figures.walk)
        text += fmt::format(" @{:.1f}s", static_cast<double>(tick.process.walk_age_ms) / 1000.0);
    const bool apart = figures.verdict == core::Verdict::Explained || figures.verdict == core::Verdict::Unexplained;
    if (apart && figures.residual)
        text += fmt::format(" residual {}", amount(*figures.residual, tick.page_size, style));
    if (tick.ledger.disagreements > 0) text += "  disagreements " + thousands(tick.ledger.disagreements);
    if (tick.ledger.resyncs > 0) text += "  resyncs " + thousands(tick.ledger.resyncs);
    return ended ? text : painted(text, figures.verdict, style.color);
}

/// Padded to its column; marked after a loss.
std::string net_text(Pages pages, const Tick &tick, const TextStyle &style) {
    const std::string_view mark = sign(tick.needs_resync ? core::Mark::AfterLoss : core::Mark::None);
    return right(fmt::format("{}{}", mark, amount(pages, tick.page_size, style)), 10);
}

std::string uncertain_text(Pages pages, const Tick &tick, const TextStyle &style) {
    if (pages.n == 0) return "";
    return fmt::format(" {} {}", style.utf8 ? "\u00b1" : "+-", amount(pages, tick.page_size, style));
}

/// The sum of tasks without a row of their own. With these rows the nets add up to the growth since the attach.
struct Rest {
    std::uint64_t tasks = 0;
    Pages net, uncertain;
    std::uint64_t faults = 0, updates = 0;

    void add(const TaskNet &task) {
        ++tasks;
        net += task.net.rss();
        uncertain += task.uncertain;
        faults += task.faults;
        updates += task.updates;
    }
};

Rest unlisted(const Tick &tick, std::vector<const TaskNet *> listed) {
    std::sort(listed.begin(), listed.end());
    Rest rest;
    for (const TaskNet &task : tick.ledger.tasks)
        if (!std::binary_search(listed.begin(), listed.end(), &task)) rest.add(task);
    return rest;
}

void append_rest(Out out, const Rest &rest, const std::string &who, const Tick &tick, const TextStyle &style) {
    if (rest.tasks == 0 && rest.net.n == 0 && rest.updates == 0) return;
    const std::string no_cached(core::tasks_cache(tick.scheme) ? 19 : 0, ' ');
    // After the teardown the nets no longer add up to a growth.
    const bool over = tick.state != core::State::Running;
    fmt::format_to(out, "{:>31}{}  net {}", who, no_cached, over ? right("-", 10) : net_text(rest.net, tick, style));
    if (!over) fmt::format_to(out, "{}", uncertain_text(rest.uncertain, tick, style));
    if (rest.faults > 0) fmt::format_to(out, "  faults {}", thousands(rest.faults));
    fmt::format_to(out, "  updates {}\n", thousands(rest.updates));
}

void append_rests(Out out, const std::vector<const TaskNet *> &listed, const Tick &tick, const TextStyle &style) {
    const auto count = [](const Rest &rest, std::string_view one, std::string_view more) {
        return fmt::format("{} {}", thousands(rest.tasks), rest.tasks == 1 ? one : more);
    };
    const Rest rest = unlisted(tick, listed);
    append_rest(out, rest, count(rest, "thread not listed", "threads not listed"), tick, style);
    const core::ExitedNet &exited = tick.ledger.exited;
    const core::ExitedNet &ended_others = tick.ledger.ended_others;  // its net is part of `exited`
    const Rest ended{exited.threads, exited.net.rss() - ended_others.net.rss(), exited.uncertain, exited.faults,
                     exited.updates};
    append_rest(out, ended, count(ended, "thread that ended", "threads that ended"), tick, style);
    Rest others{ended_others.threads, ended_others.net.rss(), ended_others.uncertain, 0, ended_others.updates};
    for (const TaskNet &task : tick.ledger.others)
        others.add(task);
    append_rest(out, others, count(others, "task of other processes", "tasks of other processes"), tick, style);
    // The remainder, which no record accounts for: an error, unless records were lost.
    if (tick.state == core::State::Running)
        append_rest(out, {0, tick.ledger.remainder.rss(), {}, 0, 0}, "not attributed", tick, style);
}

void append_thread(Out out, const TaskNet &task, const Tick &tick, const TextStyle &style) {
    const auto pages = [&](Pages p) { return net_text(p, tick, style); };
    const bool cpus_cache = core::cpus_cache(tick.scheme);
    const std::string tid = task.tid > 0 ? std::to_string(task.tid) : "-";
    fmt::format_to(out, "{:>15} {:<15}", tid, core::printable(task.comm, style.utf8));
    if (core::tasks_cache(tick.scheme))
        fmt::format_to(out, "  cached {}", task.cached ? pages(task.cached->rss()) : right("-", 10));
    fmt::format_to(out, "  net {}", pages(task.net.rss()));
    fmt::format_to(out, "{}", uncertain_text(task.uncertain, tick, style));
    fmt::format_to(out, "  faults {}  updates {}  {} {}", thousands(task.faults), thousands(task.updates),
                   cpus_cache ? "folds" : "flushes", thousands(task.flushes));
    if (task.last_flush_ns != 0) {
        const std::uint64_t age = tick.t_ns - std::min(tick.t_ns, task.last_flush_ns);
        fmt::format_to(out, ", last {:.1f} s ago", static_cast<double>(age) / 1e9);
    }
    fmt::format_to(out, "\n");
}

/// "12.3 s"; from one minute on "0:02:03".
std::string duration(std::uint64_t ns) {
    const std::uint64_t seconds = ns / 1'000'000'000;
    if (seconds < 60) return fmt::format("{}.{} s", seconds, ns / 100'000'000 % 10);
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/// A time in the trace: "0.184 s"; from one minute on "0:02:03".
std::string instant(std::uint64_t ns) {
    constexpr std::uint64_t kMinute = 60'000'000'000;
    return ns < kMinute ? fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9) : duration(ns);
}

/// " (threshold 301, zap 8)": the counts that are not 0.
std::string parts(const Counts &counts) {
    std::string text;
    for (const auto &[name, count] : counts) {
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, thousands(count));
    }
    return text.empty() ? "" : " (" + text + ")";
}

/// Before counts that may be too low.
std::string at_least(const Summary &summary) {
    return summary.at_least() ? "at least " : "";
}

/// "flushes 309 (threshold 301, zap 8)"; folds have only one reason.
std::string flushes_text(const Summary &summary) {
    const std::string number = at_least(summary) + thousands(summary.flushes);
    if (core::cpus_cache(summary.scheme)) return "folds " + number;
    Counts counts = summary.flush_reasons;
    counts.erase(std::string(core::name(core::FlushReason::Direct)));
    return fmt::format("flushes {}{}", number, parts(counts));
}

std::string direct_updates(const Summary &summary) {
    const auto direct = summary.flush_reasons.find(std::string(core::name(core::FlushReason::Direct)));
    if (direct == summary.flush_reasons.end() || direct->second == 0) return "";
    return fmt::format(", {} direct updates", thousands(direct->second));
}

void append_process(Out out, const Summary::Process &process, const Summary &summary, const TextStyle &style) {
    const auto pages = [&](Pages p) { return amount(p, summary.page_size, style); };
    fmt::format_to(out, "{} [{}] {}: {}{} at first, {}{} at last, {} at {}{}, peak lag {}{}",
                   core::printable(process.comm, style.utf8), process.pid,
                   core::state_text(process.state, process.extremes), core::approximate_mark(process.start_approximate),
                   pages(process.at_start.rss()), core::approximate_mark(process.final_approximate),
                   pages(process.last.rss()), core::at_most_text(process.extremes, pages),
                   instant(process.extremes.most.t_ns), core::program_text(process.extremes, process.comm, style.utf8),
                   core::approximate_mark(process.extremes.approximate()), pages(process.extremes.lag));
    if (process.extremes.lag.n != 0) fmt::format_to(out, " at {}", instant(process.extremes.lag_t_ns));
    fmt::format_to(out, "{}\n", parts(process.verdicts));
}

/// A table of the processes with the highest peaks, and a line with the sums of the others.
void append_table(Out out, const Summary &summary, const TextStyle &style) {
    constexpr std::size_t kRows = 10;
    std::vector<const Summary::Process *> all;
    for (const Summary::Process &process : summary.processes)
        all.push_back(&process);
    // What a fork held before its first exec was its parent's: it comes last.
    const auto rank = [](const Summary::Process *process) {
        return std::pair(process->extremes.image != 0, process->extremes.most.to);
    };
    std::stable_sort(all.begin(), all.end(), [&rank](const auto *a, const auto *b) { return rank(a) > rank(b); });
    const auto heading = [&style](std::string_view word) { return fmt::format("{} {}", word, style.unit); };
    fmt::format_to(out, "{:>13} {:>9} {:>12} {:>12} {:>12} {:<8} {:>7} COMM\n", heading("PEAK"), "AT", heading("FIRST"),
                   heading("LAST"), heading("PEAK LAG"), "STATE", "PID");
    const std::size_t shown = std::min(kRows, all.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const Summary::Process &process = *all[i];
        const auto pages = [&](bool approximate, Pages p) {
            return fmt::format("{}{}", core::approximate_mark(approximate), column(p, summary.page_size, style));
        };
        const core::Extremes &extremes = process.extremes;
        fmt::format_to(
            out, "{} {:>9} {} {} {} {:<8} {:>7} {}{}\n", right(peak_column(extremes, summary.page_size, style), 13),
            instant(extremes.most.t_ns), right(pages(process.start_approximate, process.at_start.rss()), 12),
            right(pages(process.final_approximate, process.last.rss()), 12),
            right(pages(extremes.approximate(), extremes.lag), 12), core::state_text(process.state, extremes),
            process.pid, core::printable(process.comm, style.utf8),
            core::program_text(extremes, process.comm, style.utf8));
    }
    Summary::LeftOut rest = summary.left_out;
    for (std::size_t i = shown; i < all.size(); ++i) {
        const core::Extremes &extremes = all[i]->extremes;
        ++rest.processes;
        rest.peak = std::max(rest.peak, extremes.most.to);
        rest.peaks += extremes.most.to;
        rest.peak_lag = std::max(rest.peak_lag, extremes.lag);
        rest.approximate = rest.approximate || extremes.approximate();
    }
    for (const Summary::Process *process : all)
        for (const auto &[verdict, ticks] : process->verdicts)
            rest.verdicts[verdict] += ticks;
    const auto text = [&](Pages p) {
        return fmt::format("{}{}", core::approximate_mark(rest.approximate), amount(p, summary.page_size, style));
    };
    if (rest.processes > 0) {
        fmt::format_to(out, "and {} more, with peaks of at most {}, {} together, and a peak lag of at most {}\n",
                       thousands(rest.processes), text(rest.peak), text(rest.peaks), text(rest.peak_lag));
    }
    if (const std::string verdicts = parts(rest.verdicts); !verdicts.empty())
        fmt::format_to(out, "verdicts of all{}\n", verdicts);
}

std::string ended_text(const Summary &summary) {
    if (summary.ended_mms == 0)
        return summary.at_least() ? "no address space is known to have ended: records are missing"
                                  : "no address space ended";
    const std::string ended = fmt::format("{}{} address space{} ended", at_least(summary), thousands(summary.ended_mms),
                                          summary.ended_mms == 1 ? "" : "s");
    if (summary.ended_not_at_zero == 0) return ended + ", every counter at 0";
    return fmt::format("{}, ! {} with a counter other than 0", ended, thousands(summary.ended_not_at_zero));
}

std::string own_text(const Summary &summary, const TextStyle &style) {
    const OwnCost &own = summary.own;
    const std::string bpf =
        own.bpf_ns_per_event ? fmt::format("  BPF {:.0f} ns/event", *own.bpf_ns_per_event) : std::string();
    const auto size = [&](core::Kilobytes kb) { return amount(summary.page_size.pages(kb), summary.page_size, style); };
    const std::string buffers = own.buffers ? fmt::format("  buffers {}", size(*own.buffers)) : std::string();
    return fmt::format("rsslag: CPU {:.1f} %  RSS {}{}{}", own.cpu_percent, size(own.rss), buffers, bpf);
}

}  // namespace

std::string line_header(const TextStyle &style) {
    return fmt::format("{:<8} {:>6} {:<9} {:>5} {:>9} {:>9} {:>9} {:>5} {:>9} {:>9} {:>9} {:>4} {}\n", "TIME", "PID",
                       "COMM", style.unit, "STAT", "EXACT", "LAG", "LAG %", "FLUSHED", "CACHED", "UPDATES", "LOST",
                       "VERDICT");
}

std::string tick_lines(const Tick &tick, const TextStyle &style, bool with_threads) {
    const core::ReadingFigures figures = figures_of(tick);
    const core::Mark how_sure = mark(tick, figures);
    const auto pages = [&](const std::optional<Pages> &p, core::Mark mark) {
        const std::string text =
            p ? fmt::format("{}{}", sign(mark), column(*p, tick.page_size, style)) : std::string("-");
        return right(text, 9);
    };
    // After the teardown the process holds no memory, so this shows what it held before.
    const bool over = tick.state != core::State::Running;
    const auto unless_over = [over](Pages p) { return over ? std::nullopt : std::optional(p); };
    const Pages exact = over ? tick.ledger.last.rss() : figures.exact.rss();
    const core::Mark after_loss = tick.needs_resync ? core::Mark::AfterLoss : core::Mark::None;
    const std::string percent = percent_of(figures.lag, figures.exact.rss());
    const std::uint64_t updates = tick.ledger.updates + tick.ledger.updates_by_others;
    std::string text =
        fmt::format("{} {:>6} {:<15} {} {} {} {:>5} {} {} {:>9} {:>4} {}\n", local_clock(tick.time), tick.process.pid,
                    core::printable(tick.process.comm, style.utf8), pages(figures.readers.stat, core::Mark::None),
                    pages(exact, how_sure), pages(figures.lag, how_sure), percent,
                    pages(unless_over(figures.flushed.rss()), how_sure),
                    pages(unless_over(figures.cached.rss()), how_sure), thousands(updates),
                    fmt::format("{}{}", sign(after_loss), thousands(tick.lost)), verdict_text(tick, figures, style));
    if (!with_threads) return text;
    const std::vector<const TaskNet *> listed = listed_threads(tick);
    for (const TaskNet *task : listed)
        append_thread(std::back_inserter(text), *task, tick, style);
    append_rests(std::back_inserter(text), listed, tick, style);
    return text;
}

std::string gap_text(std::uint64_t lines, const TextStyle &style) {
    return fmt::format("! {} {} lines are missing here: they came faster than they were read {}\n",
                       style.utf8 ? "⋯" : "...", thousands(lines), style.utf8 ? "⋯" : "...");
}

std::string dropped_text(std::uint64_t lines) {
    return fmt::format("{} lines of this output were dropped: they came faster than they were read", thousands(lines));
}

std::string summary_text(const Summary &summary, const TextStyle &style) {
    std::string text;
    const Out out = std::back_inserter(text);
    fmt::format_to(out, "traced {} on Linux {}, scheme {}: {} tick{}, {}{} updates ({} by others), {} faults\n",
                   duration(summary.duration_ns), core::printable(summary.kernel, style.utf8),
                   core::name(summary.scheme), thousands(summary.ticks), summary.ticks == 1 ? "" : "s",
                   at_least(summary), thousands(summary.updates + summary.updates_by_others),
                   thousands(summary.updates_by_others), thousands(summary.faults));
    constexpr std::size_t kFew = 3;
    const std::uint64_t processes = summary.processes.size() + summary.left_out.processes;
    if (processes > kFew) append_table(out, summary, style);
    for (const Summary::Process &process : summary.processes)
        if (processes <= kFew) append_process(out, process, summary, style);
    std::map<std::uint64_t, std::vector<int>> by_mm;
    for (const Summary::Process &process : summary.processes)
        if (process.mm != 0 && process.pid > 0) by_mm[process.mm].push_back(process.pid);
    for (const std::vector<int> &pids : core::sharing(std::move(by_mm)))
        text += core::shared_line(pids, true);
    if (processes > 1)
        text += core::tree_text(
            summary.all, [&](Pages p) { return amount(p, summary.page_size, style); }, instant(summary.all.most.t_ns));
    fmt::format_to(out, "{}{}\n", flushes_text(summary), direct_updates(summary));
    fmt::format_to(out, "{}lost {} of {} records{}, resyncs {}, disagreements {}\n", summary.lost > 0 ? "! " : "",
                   thousands(summary.lost), thousands(summary.emitted), parts(summary.lost_by),
                   thousands(summary.resyncs), thousands(summary.disagreements));
    if (const std::string missed = core::missed_text(summary); !missed.empty())
        fmt::format_to(out, "! {}; what they did then is not known\n", missed);
    if (summary.lines_dropped > 0) fmt::format_to(out, "! {}\n", dropped_text(summary.lines_dropped));
    if (summary.readings_failed > 0)
        fmt::format_to(out, "! {} readings of processes failed: these ticks are missing\n",
                       thousands(summary.readings_failed));
    fmt::format_to(out, "{}\n", ended_text(summary));
    fmt::format_to(out, "{}\n", own_text(summary, style));
    return text;
}

}  // namespace rsslag::documents
