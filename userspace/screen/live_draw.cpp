// SPDX-License-Identifier: BSD-2-Clause
// The layout of the live screen. If space is short, first the chart gets lower, then the flush log, the line of lagging
// readers, the members and the readers are dropped. The first three lines, the lost records and the keys always stay.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/extreme_text.h"
#include "core/text.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

using core::Pages;

constexpr int kReaders = 6;       ///< heading and five files
constexpr int kLeastChart = 6;    ///< legend, three rows, axis, time
constexpr int kSideBySide = 110;  ///< least width for tables next to the chart

std::string seconds_ago(std::chrono::milliseconds ago) {
    return fmt::format("{:.1f}s", static_cast<double>(ago.count()) / 1000.0);
}

struct Reader {
    const char *name;
    std::optional<Pages> shown;
    bool approximate = false;
};

/// The RSS by each file, its distance from exact, and its age.
void draw_readers(Grid &grid, const Area &area, const LiveState &state, const Process &process,
                  std::chrono::milliseconds since) {
    const Tick &tick = process.tick;
    const core::ReadingFigures figures = figures_of(tick);
    const core::ReaderValues &readers = figures.readers;
    const auto in_pages = [&tick](const std::optional<core::Kilobytes> &kb) {
        return kb ? std::optional(tick.page_size.pages(*kb)) : std::nullopt;
    };
    const bool rollup = !figures.walk || figures.walk->file == core::WalkFile::SmapsRollup;
    const std::array<Reader, 5> rows{
        {{"stat field 24", readers.stat},
         {"statm resident", readers.statm},
         {"status VmRSS", in_pages(readers.status_rss)},
         {rollup ? "smaps_rollup" : "smaps", figures.walk ? in_pages(figures.walk->rss) : std::nullopt},
         {"status VmHWM", in_pages(readers.status_hwm), true}}};
    const int end = area.column + area.columns;
    const int from_end = end - 7;
    const int says_end = from_end - 12;
    grid.put_field(area.row, area.column, says_end, "READER", Look::Faint);
    grid.put_right(area.row, says_end, "SAYS " + state.style.unit, Look::Faint);
    grid.put_right(area.row, from_end, "FROM EXACT", Look::Faint);
    grid.put_right(area.row, end, "AGE", Look::Faint);
    for (int i = 0; i + 1 < area.rows && i < static_cast<int>(rows.size()); ++i) {
        const Reader &reader = rows[static_cast<std::size_t>(i)];
        const int row = area.row + 1 + i;
        const bool walk = i == 3;
        grid.put_field(row, area.column, says_end, reader.name);
        if (!reader.shown) {
            grid.put_right(row, says_end, "-");
            continue;
        }
        const std::string mark = reader.approximate ? "~" : "";
        grid.put_right(row, says_end, mark + column(*reader.shown, tick.page_size, state.style));
        const bool in_window =
            walk && figures.verdict == core::Verdict::Moving && figures.residual && figures.residual->n == 0;
        const Pages from = *reader.shown - figures.exact.rss();
        const Look look = from.n == 0 || reader.approximate || in_window ? Look::Plain : Look::Bold;
        grid.put_right(row, from_end,
                       reader.approximate ? "-"
                       : in_window
                           ? "in window"
                           : fmt::format("{}{}", sign(mark.empty() ? core::mark(tick, figures) : core::Mark::None),
                                         column(from, tick.page_size, state.style)),
                       look);
        const auto age_of = walk ? since + std::chrono::milliseconds(tick.process.walk_age_ms) : since;
        const bool stale = walk && tick.stale_walk;
        grid.put_right(row, end, (stale ? "@" : "") + seconds_ago(age_of));
    }
}

void draw_members(Grid &grid, const Area &area, const LiveState &state, const Process &process) {
    const Tick &tick = process.tick;
    const core::ReadingFigures figures = figures_of(tick);
    const std::string_view how = sign(mark(tick, figures));
    const int width = (area.columns - 6) / 3;
    const auto row = [&](int at, std::string_view label, const std::array<std::string, 3> &values, Look look) {
        if (at >= area.row + area.rows) return;
        grid.put(at, area.column, label, look);
        for (int i = 0; i < 3; ++i)
            grid.put_right(at, area.column + 6 + width * (i + 1), values[static_cast<std::size_t>(i)], look);
    };
    row(area.row, state.style.unit, {"FLUSHED", "CACHED", "EXACT"}, Look::Faint);
    int at = area.row + 1;
    for (const ShownMember &member : kShownMembers) {
        const bool nothing = shown(figures.flushed, member).n == 0 && shown(figures.cached, member).n == 0;
        if (member && !core::in_rss(*member) && nothing) continue;
        const auto number = [&](const core::Members &members) {
            return fmt::format("{}{}", how, column(shown(members, member), tick.page_size, state.style));
        };
        const Look look = member == state.member ? Look::Bold : Look::Plain;
        if (tick.state != core::State::Running) {  // what it held before its teardown; its cached part is not kept
            row(at++, name(member), {"-", "-", number(tick.ledger.last)}, look);
            continue;
        }
        row(at++, name(member), {number(figures.flushed), number(figures.cached), number(figures.exact)}, look);
    }
}

Chart chart_of(const LiveState &state, const Process &process, std::uint64_t now_ns) {
    Chart chart;
    chart.page_size = process.tick.page_size;
    chart.now_ns = now_ns;
    chart.span_ns = chart_span(process.history.empty() ? 0 : now_ns - std::min(now_ns, process.history.front().t_ns));
    const std::uint64_t from = now_ns - std::min(now_ns, chart.span_ns);
    for (std::size_t i = 0; i < process.history.size(); ++i) {
        const Sample &sample = process.history[i];
        if (i + 1 < process.history.size() && process.history[i + 1].t_ns < from) continue;
        chart.points.push_back({sample.t_ns, shown(sample.flushed, state.member), shown(sample.cached, state.member),
                                state.member ? std::nullopt : sample.walked, sample.mark == core::Mark::AfterLoss,
                                core::lag(sample.flushed + sample.cached, sample.flushed)});
    }
    if (!state.member) {
        // With --mode counts no record shows what it held between ticks.
        if (!process.tick.extremes.summed) chart.add(process.course, from);
        for (const std::uint64_t t_ns : process.execs)
            chart.marks.push_back({t_ns, ChartMark::What::Exec});
        if (process.tick.extremes.most.to.n > 0)
            chart.marks.push_back({process.tick.extremes.most.t_ns, ChartMark::What::Peak});
    }
    if (state.past) chart.right = "then";
    chart.lag_strip = !state.member;
    if (const auto &bound = figures_of(process.tick).bound) chart.lag_bound = bound->rss;
    return chart;
}

/// The peak so far: "at most 417,612 kB at 1.32 s", and of a member "anon at most 410,876 kB at 1.32 s".
std::string peak_text(const Tick &tick, ShownMember member, const TextStyle &style) {
    const core::Extremes &extremes = tick.extremes;
    if (extremes.most.to.n <= 0) return "";
    const auto text = [&](Pages pages) { return amount(pages, tick.page_size, style); };
    std::string most = core::at_most_text(extremes, text);
    std::uint64_t t_ns = extremes.most.t_ns;
    if (member) {
        most = fmt::format("{} at most {}{}", name(member), core::approximate_mark(extremes.approximate()),
                           text(extremes.each_most[*member]));
        t_ns = extremes.each_most_at[static_cast<std::size_t>(*member)].t_ns;
    }
    return fmt::format("{} at {:.2f} s{}", most, static_cast<double>(t_ns) / 1e9,
                       core::program_text(extremes, tick.process.comm, style.utf8));
}

/// `peak`: shown in the legend's row, before items of the legend that do not fit next to it.
void draw_history(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns,
                  const std::string &peak) {
    // With --mode counts no record shows what the process held between ticks.
    const bool records = !process.tick.extremes.summed;
    const std::string what = " " + upper(name(state.member)) + (records ? "" : " at ticks");
    const int end = area.column + area.columns;
    grid.put_right(area.row, end, peak);
    draw_legend(grid, area.row, area.column, end - (peak.empty() ? 0 : cells(peak) + 2), what, !state.member && records,
                state.style);
    draw_chart(grid, {area.row + 1, area.column + 1, area.rows - 1, area.columns - 1}, chart_of(state, process, now_ns),
               state.style);
}

/// The files that lag and those that are exact, as calibrated.
std::string lagging_files(const Tick &tick, bool with_readers) {
    struct File {
        core::Truth truth;
        const char *name, *readers;
    };
    std::string lags;
    std::string exact;
    for (const File &file :
         {File{tick.calibration.stat, "stat", " (Redis, Node, btop read it)"},
          File{tick.calibration.statm, "statm", " (top, htop)"}, File{tick.calibration.status, "status", " (ps)"}}) {
        std::string &list = file.truth == core::Truth::Flushed ? lags : exact;
        if (file.truth != core::Truth::Unknown)
            list += (list.empty() ? "" : ", ") + std::string(file.name) + (with_readers ? file.readers : "");
    }
    std::string text = lags.empty() ? "" : " Lags here: " + lags + ".";
    if (!exact.empty()) text += " Exact here: " + exact + ".";
    return text.empty() ? text : text + " As calibrated at the start.";
}

/// Why the lag of a quiet process persists.
std::string quiet_text(const LiveState &state, const Process &process, std::uint64_t now_ns) {
    constexpr std::uint64_t kQuietNs = 3'000'000'000;
    const Tick &tick = process.tick;
    const std::uint64_t quiet = now_ns - std::min(now_ns, process.last_change_ns);
    const core::ReadingFigures figures = figures_of(tick);
    if (process.ended || quiet < kQuietNs || figures.cached.rss().n == 0) return "";
    const std::string cached = amount(figures.cached.rss(), tick.page_size, state.style);
    const std::string seconds = fmt::format("{:.0f}", static_cast<double>(quiet) / 1e9);
    if (cpus_cache(tick)) {
        const Pages batch{state.facts.machine.batch().value_or(0)};
        return fmt::format(
            " No update for {} s. {} stay cached until a CPU's cache of one counter reaches {}{}, or the process ends.",
            seconds, cached, glyphs(state.style.utf8).plus_minus, amount(batch, tick.page_size, state.style));
    }
    return fmt::format(" No update for {} s. {} stay cached until each thread faults again, unmaps, or exits.", seconds,
                       cached);
}

/// Draws the parts that fit between the head and the footer.
class Layout {
  public:
    Layout(Grid &grid, const LiveState &state, const Process &process, std::uint64_t now_ns,
           std::chrono::milliseconds since)
        : grid_(grid), state_(state), process_(process), now_ns_(now_ns), since_(since) {}

    void draw() {
        const int columns = grid_.size().columns;
        const int rows = grid_.size().rows;
        int top = 3;
        int bottom = rows - 2;
        const std::string quiet = state_.notice.empty() ? quiet_text(state_, process_, now_ns_) : " " + state_.notice;
        if (rows >= 12) {
            --bottom;
            if (state_.facts.playback && state_.notice.empty())
                draw_timeline(grid_, bottom, state_);
            else
                grid_.put(bottom, 0, quiet, Look::Bold);
        } else if (!state_.notice.empty()) {
            grid_.put(bottom + 1, 0, std::string(static_cast<std::size_t>(columns), ' '));
            grid_.put(bottom + 1, 0, quiet, Look::Bold);
        }
        if (state_.help) {
            draw_help(grid_, {top, 0, bottom - top, columns}, state_);
            return;
        }
        if (const int output = output_rows(state_, bottom - top); output > 0) {
            bottom -= output;
            draw_output(grid_, {bottom, 0, output, columns}, state_);
        }
        if (state_.stacks.shown) {
            draw_stacks(grid_, {top, 0, bottom - top, columns}, state_, process_);
            return;
        }
        if (state_.growth) {
            draw_growth(grid_, {top, 0, bottom - top, columns}, state_, process_, now_ns_);
            return;
        }
        if (state_.one) {
            draw_one(grid_, {top, 0, bottom - top, columns}, state_, process_, now_ns_);
            return;
        }
        top = columns >= kSideBySide ? wide(top, bottom, columns) : narrow(top, bottom, columns);
        table(top, bottom, columns);
    }

  private:
    /// Chart on the left, readers above members on the right.
    int wide(int top, int bottom, int columns) {
        constexpr int kTables = 48;
        constexpr int kMembers = 1 + kShownMembers.size();
        const int space = bottom - top;
        constexpr int kLeastTable = 6;
        if (space - kLeastTable < kReaders) return top;
        // The chart takes the rows that a short table does not need.
        int rows = std::clamp(std::max(space * 2 / 5, space - table_rows() - 3), kReaders, 24);
        rows = std::min(rows, space - kLeastTable);
        std::string peak = peak_text(process_.tick, state_.member, state_.style);
        const bool spacious = space >= 24;
        if (spacious) grid_.put(top++, 1, std::exchange(peak, ""));
        const int left = columns - kTables - 2;
        if (rows >= kLeastChart) draw_history(grid_, {top, 0, rows, left}, state_, process_, now_ns_, peak);
        draw_readers(grid_, {top, left + 2, std::min(rows, kReaders), kTables - 1}, state_, process_, since_);
        if (rows >= kReaders + 3) {
            const int gap = rows >= kReaders + kMembers + 1 ? 1 : 0;
            draw_members(grid_, {top + kReaders + gap, left + 2, rows - kReaders - gap, kTables - 1}, state_, process_);
        }
        top += rows;
        if (space >= 22) {
            std::string lags = lagging_files(process_.tick, true);
            if (cells(lags) > columns) lags = lagging_files(process_.tick, false);
            grid_.put(top, 0, lags);
            top += lags.empty() ? 0 : 1;
        }
        return top + (spacious ? 1 : 0);
    }

    /// The chart at full width, below it readers next to members.
    int narrow(int top, int bottom, int columns) {
        const int space = bottom - top;
        constexpr int kLeastTable = 6;
        if (space < 8 || columns < 40) return top;
        const bool both = columns >= 76;
        const int reader_rows = std::clamp(space - kLeastTable + 1, 0, space >= 22 ? kReaders : space >= 14 ? 5 : 4);
        const int chart = std::min(space - std::min(kLeastTable, table_rows()) - reader_rows, 16);
        if (chart >= kLeastChart) {
            draw_history(grid_, {top, 0, chart, columns - 1}, state_, process_, now_ns_,
                         peak_text(process_.tick, state_.member, state_.style));
            top += chart;
        }
        if (reader_rows < 2) return top;
        const int readers = both ? 41 : columns - 2;
        draw_readers(grid_, {top, 1, reader_rows, readers}, state_, process_, since_);
        if (both)
            draw_members(grid_, {top, readers + 4, reader_rows, std::min(columns - readers - 5, 44)}, state_, process_);
        return top + reader_rows;
    }

    /// Title, headings and all rows of the table.
    int table_rows() const {
        const core::MmView &mm = process_.tick.ledger;
        const bool cpus = state_.shown_table() == Table::Cpus;
        return 2 + static_cast<int>(std::clamp<std::size_t>(cpus ? mm.cpus.size() : mm.tasks.size(), 1, 1000));
    }

    void table(int top, int bottom, int columns) {
        const int log_columns = columns >= 160 ? 56 : 42;
        const bool threads = state_.shown_table() == Table::Threads;
        const bool log = columns >= kSideBySide + 10 && bottom - top >= 6 && (threads || columns >= 160);
        const int width = log ? columns - log_columns - 2 : columns;
        draw_table(grid_, {top, 0, bottom - top, width}, state_, process_, now_ns_);
        if (!log) return;
        for (int row = top; row < bottom; ++row)
            grid_.fill(row, width, width + 1, glyphs(state_.style.utf8).rule, Look::Faint);
        draw_flushes(grid_, {top, width + 2, bottom - top, log_columns}, state_, process_, now_ns_, std::nullopt);
    }

    Grid &grid_;
    const LiveState &state_;
    const Process &process_;
    std::uint64_t now_ns_;
    std::chrono::milliseconds since_;
};

}  // namespace

std::string fitting(const std::vector<Part> &parts, int width, std::string_view between) {
    std::vector<Part> kept = parts;
    std::erase_if(kept, [](const Part &part) { return part.text.find_first_not_of(' ') == std::string::npos; });
    const auto joined = [&kept, between] {
        std::string text;
        for (const Part &part : kept)
            text += std::string(text.empty() ? "" : between) + part.text;
        return text;
    };
    std::string text = joined();
    while (cells(text) > width) {
        const auto worst = std::max_element(kept.begin(), kept.end(),
                                            [](const Part &a, const Part &b) { return a.drop_order < b.drop_order; });
        if (worst == kept.end() || worst->drop_order == 0) break;
        kept.erase(worst);
        text = joined();
    }
    return text;
}

std::string age(std::uint64_t ns) {
    const double seconds = static_cast<double>(ns) / 1e9;
    if (seconds < 100) return fmt::format("{:.1f}s", seconds);
    return seconds < 6000 ? fmt::format("{:.0f}m", seconds / 60) : fmt::format("{:.0f}h", seconds / 3600);
}

void draw_flushes(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns,
                  std::optional<int> of_tid) {
    if (area.rows < 3) return;
    const Tick &tick = process.tick;
    const bool folds = cpus_cache(tick);
    const int end = area.column + area.columns;
    std::vector<Part> counts{{0, fmt::format("{} {}", folds ? "FOLDS" : "FLUSHES", thousands(flushes(tick.ledger)))}};
    for (const core::FlushReason reason : reasons(tick.scheme)) {
        const std::uint64_t count = tick.ledger.flushes[static_cast<std::size_t>(reason)];
        if (!folds && count > 0)
            counts.push_back(
                {static_cast<int>(counts.size()), fmt::format("{} {}", core::name(reason), thousands(count))});
    }
    if (!of_tid) grid.put_field(area.row, area.column, end, fitting(counts, area.columns), Look::Bold);
    if (of_tid) grid.put_field(area.row, area.column, end, folds ? "ITS LAST FOLDS" : "ITS LAST FLUSHES", Look::Bold);
    const bool wide = area.columns >= 50;  // with the cause
    const int comm = wide ? 11 : 10;
    const std::string last =
        fmt::format("{:>4} {}", state.style.unit, folds ? "CPU MEMBER" : "WHY") + (wide ? " CAUSE" : "");
    grid.put_field(area.row + 1, area.column, end,
                   fmt::format("{:>7} {:>7} {:<{}} {}", "WHEN", "TID", "COMM", comm, last), Look::Faint);
    int row = area.row + 2;
    for (auto flush = process.flushes.rbegin(); flush != process.flushes.rend() && row < area.row + area.rows;
         ++flush) {
        if (flush->t_ns > now_ns || (of_tid && flush->tid != *of_tid)) continue;
        grid.put_right(row, area.column + 7, glyphs(state.style.utf8).minus + age(now_ns - flush->t_ns));
        grid.put_right(row, area.column + 15, std::to_string(flush->tid));
        grid.put_field(row, area.column + 16, area.column + 16 + comm, core::printable(flush->comm, state.style.utf8));
        const std::string pages = flush->pages ? column(*flush->pages, tick.page_size, state.style) : "?";
        const std::string why =
            folds ? fmt::format("{:>4} {:>3} {:<6}", pages, flush->cpu, name(flush->member))
                  : fmt::format("{:>4} {}{}", pages, core::name(flush->reason),
                                flush->member == core::Member::Anon ? "" : fmt::format(" {}", name(flush->member)));
        grid.put_field(row, area.column + 17 + comm, end,
                       wide ? fmt::format("{} {}", why, core::name(flush->cause)) : why);
        ++row;
    }
}

void draw_one(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns) {
    const Tick &tick = process.tick;
    const bool cpu = state.shown_table() == Table::Cpus;
    const int id = state.selected.value_or(0);
    const auto &pasts = cpu ? process.cpus : process.tasks;
    const auto past = pasts.find(id);
    const auto task = std::find_if(tick.ledger.tasks.begin(), tick.ledger.tasks.end(),
                                   [id](const core::TaskNet &t) { return t.host_tid == id; });
    const bool lives = cpu || task != tick.ledger.tasks.end();
    std::string who = cpu ? fmt::format(" CPU {}", id) : fmt::format(" THREAD {}", lives ? task->tid : id);
    if (!cpu && lives) who += "  " + core::printable(task->comm, state.style.utf8);
    if (!lives) who += "  has ended";
    const bool cached = cpu || (lives && task->cached);
    const Glyphs &glyph = glyphs(state.style.utf8);
    const std::string what = fmt::format("{} {} over time, {}", utf8_of(cached ? glyph.cached : glyph.flushed),
                                         cached ? "what it caches" : "its net since the attach", name(state.member));
    grid.put_field(area.row, area.column, area.column + area.columns,
                   fitting({{0, who}, {1, what}, {2, "Esc back"}}, area.columns), Look::Heading);
    // Its row, as in the table.
    LiveState alone;
    alone.facts = state.facts, alone.style = state.style, alone.member = state.member,
    alone.table = state.shown_table();
    Process only;
    only.tick.scheme = tick.scheme, only.tick.page_size = tick.page_size, only.tick.needs_resync = tick.needs_resync,
    only.tick.t_ns = tick.t_ns;
    only.tick.process.tasks = tick.process.tasks;
    if (!cpu && lives) only.tick.ledger.tasks = {*task};
    for (const core::CpuNet &each : tick.ledger.cpus)
        if (cpu && each.cpu == id) only.tick.ledger.cpus = {each};
    Grid row({3, area.columns});
    draw_table(row, {0, 0, 3, area.columns}, alone, only, now_ns);
    for (int i = 1; i < 3 && lives; ++i)
        grid.put(area.row + i, area.column, row.row_text(i));
    Chart chart;
    chart.page_size = tick.page_size;
    chart.now_ns = now_ns;
    chart.span_ns = chart_span(process.history.empty() ? 0 : now_ns - std::min(now_ns, process.history.front().t_ns));
    if (past != pasts.end()) {
        // Only an amount that is cached has the glyph of cached.
        for (const PastValue &value : past->second) {
            const Pages pages = shown(value.members, state.member);
            chart.points.push_back(
                {value.t_ns, cached ? Pages{} : pages, cached ? pages : Pages{}, std::nullopt, false});
        }
    }
    const int log = std::clamp(area.rows / 4, 0, 10);
    const int rows = area.rows - 3 - log;
    draw_chart(grid, {area.row + 3, area.column + 1, rows, area.columns - 2}, chart, state.style);
    if (!cpu && lives)
        draw_flushes(grid, {area.row + 3 + rows, area.column + 1, log, area.columns - 2}, state, process, now_ns,
                     task->tid);
}

Grid LiveScreen::draw(Size size, std::chrono::milliseconds since_tick) const {
    Grid grid(size);
    if (state_->lists() && !state_->all.processes.empty()) {
        draw_list(grid, *state_, since_tick);
        return grid;
    }
    const Process *const process = state_->shown_process();
    if (process == nullptr) {
        grid.put(0, 0,
                 state_->past             ? " rsslag  this process was not traced then: ] goes on, End is now"
                 : state_->facts.no_match ? " rsslag  no process matches yet"
                                          : " rsslag  waiting for the first reading",
                 Look::Bold);
        grid.put(grid.size().rows - 1, 0, state_->notice.empty() ? " q quit" : " " + state_->notice);
        return grid;
    }
    const bool still = state_->frozen || process->ended || state_->stands_still();
    const auto since = still ? std::chrono::milliseconds{} : since_tick;
    const std::uint64_t now_ns = process->tick.t_ns + static_cast<std::uint64_t>(since.count()) * 1'000'000;
    draw_head(grid, *state_, *process);
    if (grid.size().rows >= 6) {
        draw_footer(grid, *state_, *process);
        Layout(grid, *state_, *process, now_ns, since).draw();
    } else if (grid.size().rows >= 4) {
        grid.put(grid.size().rows - 1, 0, state_->notice.empty() ? " q quit  ? help" : " " + state_->notice);
    }
    return grid;
}

}  // namespace rsslag::screen
