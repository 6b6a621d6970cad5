// SPDX-License-Identifier: BSD-2-Clause
// The layout of the list of processes of a trace. If space is short, the chart is dropped first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "core/extreme_text.h"
#include "core/text.h"
#include "documents/columns.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"
#include "help.h"
#include "key_row.h"
#include "live_state.h"
#include "process_list.h"

namespace rsslag::screen {
namespace {

using core::Pages;

/// The data that all cells need.
struct ListCells {
    const TextStyle &style;
    const core::PageSize &page_size;

    std::string pages(Pages value) const { return column(value, page_size, style); }
};

using L = const ListCells &;
using R = const ListRow &;
using RowColumn = Column<ListCells, ListRow>;

std::string exact_cell(L c, R r) {
    return r.process->ended ? "-"
                            : fmt::format("{}{}", sign(r.process->figures.mark), c.pages(r.process->figures.exact));
}

std::string growth_cell(L c, R r) {
    if (r.process->ended || !r.process->figures.growth) return "-";
    const Pages pages{std::llround(*r.process->figures.growth)};
    return fmt::format("{}{}{}", sign(r.process->figures.growth_mark), pages.n > 0 ? "+" : "", c.pages(pages));
}

std::string peak_cell(L c, R r) {
    return documents::peak_column(r.process->tick.extremes, c.page_size, c.style);
}

std::string lag_cell(L c, R r) {
    if (r.process->ended || !r.process->figures.lag) return "-";
    return fmt::format("{}{}", sign(r.process->figures.mark), c.pages(*r.process->figures.lag));
}

std::string threads_cell(L /*c*/, R r) {
    return r.process->ended ? "-" : thousands(static_cast<std::uint64_t>(r.process->tick.process.threads_count));
}

std::string updates_cell(L c, R r) {
    if (r.process->ended || !r.process->figures.updates) return "-";
    return (r.process->figures.updates_lost ? documents::at_least(c.style) : "") +
           thousands(static_cast<std::uint64_t>(std::llround(*r.process->figures.updates)));
}

std::string verdict_cell(L /*c*/, R r) {
    return upper(r.process->ended ? core::name(*r.process->ended) : core::name(r.process->figures.verdict));
}

std::string user_cell(L c, R r) {
    return core::printable(r.process->user, c.style.utf8);
}

std::string pid_cell(L /*c*/, R r) {
    return std::to_string(r.pid);
}

std::string command_cell(L c, R r) {
    return r.branch + command_of(*r.process, c.style.utf8);
}

/// The row of those that have ended has no cells: its sentence takes the whole row.
template <std::string (*kCell)(L, R)>
std::string of(L c, R r) {
    return r.process == nullptr ? std::string() : kCell(c, r);
}

/// The columns that fit; COMMAND gets the rest of the width.
std::vector<RowColumn> columns_of(const ListChoices &choices, int width) {
    std::vector<RowColumn> all{{{kListHeadings[0], 12, 0}, of<exact_cell>, [](L c) { return "EXACT " + c.style.unit; }},
                               {{kListHeadings[1], 11, 3}, of<growth_cell>},
                               {{kListHeadings[2], 12, 4}, of<peak_cell>, [](L c) { return "PEAK " + c.style.unit; }},
                               {{kListHeadings[3], 10, 2}, of<lag_cell>, [](L c) { return "LAG " + c.style.unit; }},
                               {{kListHeadings[4], 8, 7}, of<threads_cell>},
                               {{kListHeadings[5], 11, 6}, of<updates_cell>},
                               {{kListHeadings[6], 13, 1, true}, of<verdict_cell>},
                               {{kListHeadings[7], 9, 5, true}, of<user_cell>},
                               {{kListHeadings[8], 8, 0}, of<pid_cell>},
                               {{kListHeadings[9], 16, 0, true}, of<command_cell>}};
    for (std::size_t i = kListColumns; i-- > 0;)
        if (choices.hidden[i]) all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    all = columns_within(width, std::move(all));
    if (!all.empty() && all.back().cell == of<command_cell>) all.back().width += std::max(0, width - width_of(all));
    return all;
}

/// The sum of what the running processes hold, how much of it is cached, and how certain that is. An mm that several
/// processes share counts once.
struct Together {
    Pages exact, lag;
    core::Mark mark = core::Mark::None;
    std::uint64_t running = 0, mms = 0, resyncs = 0;
    std::array<std::uint64_t, 5> verdicts{};  ///< by core::Verdict
    const Process *grower = nullptr;          ///< the one that grew most
};

Together together(const Overview &all) {
    Together sum;
    std::unordered_set<std::uint64_t> seen;
    seen.reserve(all.processes.size());
    for (const auto &[pid, process] : all.processes) {
        if (process.ended) continue;
        const ListFigures &figures = process.figures;
        ++sum.running;
        ++sum.verdicts[static_cast<std::size_t>(figures.verdict)];
        sum.mark = std::max(sum.mark, figures.mark);
        if (sum.grower == nullptr || figures.grew > sum.grower->figures.grew) sum.grower = &process;
        if (!seen.insert(figures.mm).second) continue;
        sum.exact += figures.exact;
        sum.lag += figures.lag.value_or(Pages{});
        sum.resyncs += figures.resyncs;
    }
    sum.mms = seen.size();
    return sum;
}

std::string name_of(const Process &process, const TextStyle &style) {
    return fmt::format("{} [{}]", core::printable(process.tick.process.comm, style.utf8), process.tick.process.pid);
}

/// Draws the list between the three lines at the top and the footer.
class ListLayout {
  public:
    ListLayout(Grid &grid, const LiveState &state, std::chrono::milliseconds since)
        : grid_(grid), state_(state), all_(state.shown_all()), list_(list_rows(state)), sum_(together(all_)) {
        const bool still = state.frozen_all || sum_.running == 0 || state.stands_still();
        now_ns_ = all_.latest.t_ns + (still ? 0 : static_cast<std::uint64_t>(since.count()) * 1'000'000);
    }

    void draw() {
        const int rows = grid_.size().rows;
        const int width = grid_.size().columns;
        title();
        grid_.put(1, 0, sentence(width - 1), Look::Bold);
        grid_.put(2, 0, verdicts(width - 1));
        if (rows < 6) {
            if (rows >= 4) grid_.put(rows - 1, 0, state_.notice.empty() ? " q quit  ? help" : " " + state_.notice);
            return;
        }
        footer();
        int bottom = rows - 2;
        if (rows >= 12) {
            --bottom;
            if (state_.facts.playback && state_.notice.empty())
                draw_timeline(grid_, bottom, state_);
            else
                grid_.put(bottom, 0, state_.notice.empty() ? "" : " " + state_.notice, Look::Bold);
        } else if (!state_.notice.empty()) {
            grid_.fill(rows - 1, 0, width, U' ');
            grid_.put(rows - 1, 0, " " + state_.notice, Look::Bold);
        }
        int top = 3;
        if (state_.help) return help({top, 0, bottom - top, width});
        if (state_.choices.chooser.open()) return chooser({top, 0, bottom - top, width});
        if (const int output = output_rows(state_, bottom - top); output > 0) {
            bottom -= output;
            draw_output(grid_, {bottom, 0, output, width}, state_);
        }
        top += chart({top, 0, bottom - top, width});
        table({top, 0, bottom - top, width});
    }

  private:
    std::string amount_of(Pages pages) const { return amount(pages, all_.latest.page_size, state_.style); }

    ListCells cells_of() const { return {state_.style, all_.latest.page_size}; }
    std::string peak_text(const documents::Bounds &peak) const {
        return peak.sign(state_.style) + amount_of(peak.shown());
    }
    std::string unit() const { return state_.style.unit.empty() ? "" : " " + state_.style.unit; }

    void title() {
        const std::string count = fmt::format("{} process{}", thousands(sum_.running), sum_.running == 1 ? "" : "es");
        std::vector<Part> left{
            {0, " rsslag"}, {0, count}, {1, list_.ended == 0 ? "" : fmt::format("{} ended", thousands(list_.ended))}};
        std::vector<Part> right{{6, "Linux " + core::printable(state_.facts.kernel, state_.style.utf8)},
                                {4, fmt::format("scheme {}", core::name(all_.latest.scheme))},
                                {2, (state_.recording ? "REC  " : "") +
                                        pace_text(state_, sum_.running == 0, state_.frozen_all.has_value())},
                                {5, local_clock(all_.latest.time)}};
        draw_title_row(grid_, left, right);
    }

    std::string sentence(int width) const {
        if (sum_.running == 0) return " All have ended.";
        const std::string_view how = sign(sum_.mark);
        const double percent =
            sum_.exact.n == 0 ? 0 : 100.0 * static_cast<double>(sum_.lag.n) / static_cast<double>(sum_.exact.n);
        std::string lag = "stat shows all of it.";
        std::string lag_briefly = lag;
        if (sum_.lag.n > 0) {
            lag_briefly = fmt::format("stat hides {}{}.", how, amount_of(sum_.lag));
            lag = fmt::format("stat does not show {}{} ({:.1f} %) of it, which is cached.", how, amount_of(sum_.lag),
                              percent);
        } else if (sum_.lag.n < 0) {
            lag = lag_briefly = fmt::format("stat shows {}{} too much.", how, amount_of(-sum_.lag));
        }
        const std::string where = sum_.mms < sum_.running ? fmt::format("in {} address space{}", thousands(sum_.mms),
                                                                        sum_.mms == 1 ? "" : "s")
                                                          : std::string("together");
        const std::string hold = fmt::format(" They hold {}{} {}.", how, amount_of(sum_.exact), where);
        // Their first readings are still to come.
        const std::size_t unread = all_.latest.processes - std::min<std::size_t>(all_.latest.processes, sum_.running);
        const std::string rest = unread == 0 ? "" : fmt::format("{} more not read yet.", thousands(unread));
        const bool wide = cells(hold) + 2 + cells(lag) + (rest.empty() ? 0 : 2 + cells(rest)) <= width;
        return fitting({{0, hold}, {0, rest}, {1, wide ? lag : lag_briefly}}, width);
    }

    /// The time that growth is of: kGrowthNs, or since the first tick.
    double growth_seconds() const {
        const std::uint64_t from = all_.latest.t_ns - std::min(all_.latest.t_ns, kGrowthNs);
        const std::uint64_t first = all_.sums.empty() ? all_.latest.t_ns : all_.sums.front().t_ns;
        return static_cast<double>(all_.latest.t_ns - std::max(from, first)) / 1e9;
    }

    struct Growth {
        std::string text;   ///< how much they grew in the last seconds, and who did most
        std::string brief;  ///< only how much
    };

    Growth growth() const {
        if (all_.sums.empty() || sum_.running == 0) return {};
        const std::uint64_t from = all_.latest.t_ns - std::min(all_.latest.t_ns, kGrowthNs);
        auto first = std::upper_bound(all_.sums.begin(), all_.sums.end(), from,
                                      [](std::uint64_t at, const Sample &sample) { return at < sample.t_ns; });
        if (first != all_.sums.begin()) --first;
        const Pages grew = sum_.exact - first->flushed.rss() - first->cached.rss();
        const auto seconds = static_cast<double>(all_.latest.t_ns - first->t_ns) / 1e9;
        Growth growth;
        growth.brief = fmt::format("{} by {}{} in {:.0f} s", grew.n < 0 ? "shrank" : "grew",
                                   sign(std::max(sum_.mark, first->mark)), amount_of(Pages{std::abs(grew.n)}), seconds);
        growth.text = growth.brief;
        if (sum_.grower->figures.grew.n > 0) {
            growth.text += fmt::format("; {} {}by {}{}", name_of(*sum_.grower, state_.style), grew.n < 0 ? "grew " : "",
                                       sign(sum_.grower->figures.grew_mark), amount_of(sum_.grower->figures.grew));
        }
        return growth;
    }

    std::string verdicts(int width) const {
        std::vector<Part> parts;
        for (const core::Verdict verdict : {core::Verdict::Unexplained, core::Verdict::Agrees, core::Verdict::Explained,
                                            core::Verdict::Moving, core::Verdict::Unwalked}) {
            const std::uint64_t count = sum_.verdicts[static_cast<std::size_t>(verdict)];
            if (count == 0) continue;
            parts.push_back({verdict == core::Verdict::Unexplained ? 0 : 2,
                             fmt::format("{} {}", thousands(count), upper(core::name(verdict)))});
        }
        const core::Mark loss = sum_.mark == core::Mark::AfterLoss ? sum_.mark : core::Mark::None;
        parts.push_back({0, fmt::format("lost {}{}", sign(loss), thousands(all_.latest.lost))});
        parts.push_back({5, fmt::format("resyncs {}", thousands(sum_.resyncs))});
        if (all_.latest.all && all_.latest.all->most.to.n > 0) {
            parts.push_back(
                {3, fmt::format("peak {} at {:.2f} s",
                                documents::peak_column(*all_.latest.all, all_.latest.page_size, state_.style) + unit(),
                                static_cast<double>(all_.latest.all->most.t_ns) / 1e9)});
        }
        const Growth growth = this->growth();
        parts.push_back({1, growth.text});
        std::string line = fitting(parts, width - 1, "   ");
        if (line.find(growth.text) == std::string::npos) {
            parts.back().text = growth.brief;
            line = fitting(parts, width - 1, "   ");
        }
        return " " + line;
    }

    void footer() {
        const Latest &latest = all_.latest;
        const int rows = grid_.size().rows;
        const int width = grid_.size().columns - 1;
        const std::string events = thousands(static_cast<std::uint64_t>(std::llround(latest.events_per_s)));
        grid_.put(
            rows - 2, 0,
            fitting({{2, fmt::format(" {} events/s", sum_.running == 0 ? "0" : events)},
                     {5, thousands(latest.emitted - std::min(latest.emitted, latest.lost)) + " seen"},
                     {0, fmt::format("lost {}", thousands(latest.lost))},
                     {1, fmt::format("rsslag: CPU {:.1f} %", latest.own.cpu_percent)},
                     {4, fmt::format("RSS {}", amount_of(latest.page_size.pages(latest.own.rss)))},
                     {3, latest.own.bpf_ns_per_event ? fmt::format("BPF {:.0f} ns/event", *latest.own.bpf_ns_per_event)
                                                     : std::string("BPF not timed")}},
                    width),
            Look::Faint);
        if (draw_typing(grid_, state_)) return;
        draw_keys(grid_, keys_here(), width, state_.style.utf8);
    }

    std::vector<Part> keys_here() const {
        if (state_.help) return keys_of_help();
        if (state_.choices.chooser.open()) return keys_of_chooser();
        const std::string enter = glyphs(state_.style.utf8).enter;
        if (state_.past)
            return {{0, " q quit"},   {1, "? help"},   {1, enter + " open"}, {2, "[ ] a moment back, on"},
                    {3, "End now"},   {4, "{ } 10 s"}, {5, "s S sort"},      {6, "/ filter"},
                    {7, "C columns"}, {6, "v tree"}};
        std::vector<Part> keys{{0, " q quit"},   {1, "? help"},   {1, enter + " open"},
                               {2, "s S sort"},  {3, "/ filter"}, {3, "v tree"},
                               {6, "C columns"}, {5, "g grew"},   {4, "space pause"}};
        if (state_.facts.playback) {
            keys = {{0, " q quit"},
                    {1, "? help"},
                    {1, enter + " open"},
                    {2, state_.facts.playback->playing ? "space pause" : "space play"},
                    {3, fmt::format("{} seek", glyphs(state_.style.utf8).sideways)},
                    {3, "s S sort"},
                    {4, "/ filter"},
                    {4, "v tree"},
                    {5, "p peak"},
                    {6, "C columns"}};
        } else {
            keys.push_back({8, "[ ] back in time"});
            keys.push_back({7, "w walk"});
            keys.push_back({9, "+- interval"});
            keys.push_back({state_.recording ? 2 : 8, state_.recording ? "r end of recording" : "r record"});
            if (state_.has_command && state_.command.running) keys.push_back({3, "i type to the command"});
        }
        return keys;
    }

    void help(const Area &area) {
        std::vector<std::string> keys{"j k PgUp PgDn Home End  move", "Enter  open   Esc  back",
                                      "s S  sort, reverse the order", "/  filter: name, user or PID",
                                      "n N  next, previous match",    "y  copy the row",
                                      "C  choose the columns",        "v  tree, by cgroup, flat",
                                      "g  what the process grew by",  "Enter on ended  list them"};
        const bool replay = state_.facts.playback.has_value();
        for (const char *key :
             replay ? std::array{"[ ] , .  a tick back, on", "left right  5 s", "0-9  to that tenth",
                                 "p  to the peak lag", "space  play, pause", "+ -  faster, slower"}
                    : std::array{"[ ]  a moment back, on", "{ }  10 s   End  now", "space  pause the display",
                                 "+ -  change the interval", "w  walk smaps   r  record", "o i  CMD's output, input"})
            keys.emplace_back(key);
        keys.emplace_back("? h F1  help   q  quit");
        draw_help(grid_, area,
                  {std::move(keys),
                   {" Columns", "   EXACT     flushed + cached: what the process holds now",
                    "   GROWTH/s  the mean over the last 5 s",
                    "   PEAK      the highest value since the start of the trace, from every record",
                    "   LAG       the part of EXACT that stat does not show",
                    "   Pages that processes share copy-on-write count in each of them.",
                    " Marks  ~ approximate   ! after a loss, until the resync   >= at least"}});
    }

    void chooser(const Area &area) {
        std::vector<ChosenColumn> columns;
        for (std::size_t i = 0; i < kListColumns; ++i)
            columns.push_back({column_name(static_cast<ListColumn>(i)), state_.choices.hidden[i]});
        state_.choices.chooser.draw(grid_, area, columns);
    }

    /// Of all running processes together.
    Pages lag_bound() const {
        Pages sum;
        for (const auto &[pid, process] : all_.processes)
            if (!process.ended) sum += process.tick.process.bound.rss;
        return sum;
    }

    /// The number of rows that the chart takes.
    int chart(const Area &area) {
        constexpr int kLeast = 6;
        constexpr int kMost = 20;
        constexpr int kLeastTable = 8;
        const auto needed = static_cast<int>(std::min<std::size_t>(list_.rows.size() + 2, 1000));
        const int rows = std::min(area.rows - std::min(needed, std::max(kLeastTable, area.rows * 3 / 5)), kMost);
        if (rows < kLeast || area.columns < 40) return 0;
        Chart chart;
        chart.page_size = all_.latest.page_size;
        chart.now_ns = now_ns_;
        if (state_.past) chart.right = "then";
        const auto point = [&chart](const Sample &sample) {
            chart.points.push_back({sample.t_ns, sample.flushed.rss(), sample.cached.rss(), std::nullopt,
                                    sample.mark == core::Mark::AfterLoss,
                                    core::lag(sample.flushed + sample.cached, sample.flushed)});
        };
        chart.span_ns = chart_span(all_.sums.empty() ? 0 : now_ns_ - std::min(now_ns_, all_.sums.front().t_ns));
        const std::uint64_t from = now_ns_ - std::min(now_ns_, chart.span_ns);
        for (std::size_t i = 0; i < all_.sums.size(); ++i)
            if (i + 1 == all_.sums.size() || all_.sums[i + 1].t_ns >= from) point(all_.sums[i]);
        point(sums_of(all_));
        // With --mode counts no record shows what they held between ticks.
        const bool records = std::none_of(all_.processes.begin(), all_.processes.end(),
                                          [](const auto &each) { return each.second.tick.extremes.summed; });
        if (records) chart.add(all_.course, from);
        if (all_.latest.all && all_.latest.all->most.to.n > 0)
            chart.marks.push_back({all_.latest.all->most.t_ns, ChartMark::What::Peak});
        chart.lag_strip = true;
        chart.lag_bound = lag_bound();
        draw_legend(grid_, area.row, area.column, area.columns - 1, records ? " RSS of all" : " RSS of all at ticks",
                    records, state_.style);
        draw_chart(grid_, {area.row + 1, area.column + 1, rows - 1, area.columns - 2}, chart, state_.style);
        return rows;
    }

    void table(const Area &area) {
        if (area.rows < 3) return;
        const std::size_t space = static_cast<std::size_t>(area.rows - 2);
        const Window window = window_of(list_.rows.size(), space, list_.selected);
        std::vector<Part> parts{
            {0, fmt::format(" PROCESSES, by {}{}{}", column_name(state_.choices.sort),
                            state_.choices.reversed ? ", reversed" : "", text_of(state_.choices.shape))}};
        if (!state_.choices.filter.empty()) {
            parts.push_back(
                {0, fmt::format("filter \"{}\": {} of {}", core::printable(state_.choices.filter, state_.style.utf8),
                                thousands(list_.running), thousands(list_.total))});
        }
        if (window.end - window.first < list_.rows.size()) {
            parts.push_back({1, fmt::format("rows {}{}{} of {}", window.first + 1, state_.style.utf8 ? "\u2013" : "-",
                                            window.end, list_.rows.size())});
        }
        grid_.put_field(area.row, area.column, area.columns, fitting(parts, area.columns), Look::Bold);
        const auto columns = columns_of(state_.choices, area.columns);
        draw_columns(grid_, {area.row + 1, area.column, area.rows - 1, area.columns}, columns, cells_of(), window,
                     [&](std::size_t rank) -> const ListRow & { return list_.rows[rank]; });
        for (std::size_t rank = window.first; rank < window.end; ++rank) {
            const ListRow &row = list_.rows[rank];
            if (row.process != nullptr) continue;
            const std::string text =
                row.pid == kEndedRow ? ended_text(area.columns - 3) : group_text(row, area.columns - 3);
            const int at = area.row + 2 + static_cast<int>(rank - window.first);
            grid_.put(at, area.column + 2, text,
                      rank == window.selected ? Look::Selected
                      : row.pid == kEndedRow  ? Look::Faint
                                              : Look::Bold);
        }
    }

    /// "system.slice/ssh.service: 3 processes hold 34,120 kB, grew by 12 kB in 30 s". A shared mm counts once. Each
    /// process has grown since then, or since its attach.
    std::string group_text(const ListRow &row, int width) const {
        Pages exact, grew;
        core::Mark mark = core::Mark::None;
        std::unordered_set<std::uint64_t> seen;
        for (const Process *const process : row.members) {
            const ListFigures &figures = process->figures;
            if (!seen.insert(figures.mm).second) continue;
            exact += figures.exact;
            grew += figures.grew;
            mark = std::max({mark, figures.mark, figures.grew_mark});
        }
        const std::size_t count = row.members.size();
        return fitting({{0, core::printable(cgroup_text(row.cgroup), state_.style.utf8) + ":"},
                        {0, fmt::format("{} process{}", thousands(count), count == 1 ? "" : "es")},
                        {0, fmt::format("{}{}", sign(mark), amount_of(exact))},
                        {1, fmt::format("{} by {}{} in {:.0f} s", grew.n < 0 ? "shrank" : "grew", sign(mark),
                                        amount_of(Pages{std::abs(grew.n)}), growth_seconds())}},
                       width);
    }

    /// "12 ended; the highest peak 26,044 kB: make [12201]; their peaks add up to 34,120 kB".
    std::string ended_text(int width) const {
        EndedPeaks peaks = all_.left_out_peaks;
        for (const auto &[pid, process] : all_.processes)
            if (process.ended) peaks.add(process.tick);
        const std::string more =
            all_.left_out == 0 ? "" : fmt::format("{} of them are no longer listed", thousands(all_.left_out));
        return fitting({{0, fmt::format("{} ended", thousands(list_.ended))},
                        {1, fmt::format("the highest peak {}: {}", peak_text(peaks.highest),
                                        core::printable(peaks.name, state_.style.utf8))},
                        {2, fmt::format("their peaks add up to {}", peak_text(peaks.sum))},
                        {4, more},
                        {3, state_.choices.ended ? "Enter hides them" : "Enter lists them"}},
                       width, "; ");
    }

    Grid &grid_;
    const LiveState &state_;
    const Overview &all_;
    ListRows list_;
    Together sum_;
    std::uint64_t now_ns_ = 0;
};

}  // namespace

void draw_list(Grid &grid, const LiveState &state, std::chrono::milliseconds since_tick) {
    ListLayout(grid, state, since_tick).draw();
}

}  // namespace rsslag::screen
