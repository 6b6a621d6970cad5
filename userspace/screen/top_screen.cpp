// SPDX-License-Identifier: BSD-2-Clause
// The screen of rsslag top: all processes, by lag.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "column_chooser.h"
#include "core/text.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"
#include "documents/top_rows.h"
#include "help.h"
#include "key_row.h"
#include "list_keys.h"
#include "live_state.h"
#include "top_list.h"

namespace rsslag::screen {

struct TopState {
    TextStyle style;
    TopChoices choices;
    ColumnChooser chooser;
    std::chrono::milliseconds interval{1000};
    TopTable table;  ///< sorted
    std::string notice;
    bool filtering = false, help = false, paused = false;
    std::optional<int> selected;           ///< host TGID
    std::map<int, ProcessReading> walked;  ///< by PID

    std::vector<TopRow> listed() const { return rows_of(table, choices, style.utf8); }
    std::size_t rank(const std::vector<TopRow> &rows) const;
    void move(std::int64_t by);
    void sort();
    std::optional<Intent> character(char32_t key);
    void choose_column(const Key &key);
    std::string shared_by_selected() const;
    std::optional<Intent> of_selected(bool live);
};

std::size_t TopState::rank(const std::vector<TopRow> &rows) const {
    const auto found = std::find_if(rows.begin(), rows.end(), [this](const TopRow &row) { return selected == row.id; });
    return found == rows.end() ? 0 : static_cast<std::size_t>(found - rows.begin());
}

void TopState::move(std::int64_t by) {
    const auto rows = listed();
    if (rows.empty()) return;
    const auto last = static_cast<std::int64_t>(rows.size()) - 1;
    const auto to = std::clamp(static_cast<std::int64_t>(rank(rows)) + by, std::int64_t{0}, last);
    selected = rows[static_cast<std::size_t>(to)].id;
}

/// Sorts the table again, and says how.
void TopState::sort() {
    sort_rows(table.processes, choices);
    notice = fmt::format("sorted by {}{}", name(choices.order), choices.reversed ? ", reversed" : "");
}

/// The processes that share the mm of the selected one, as a sentence; empty if there are none.
std::string TopState::shared_by_selected() const {
    const auto rows = listed();
    if (rows.empty() || rows[rank(rows)].process == nullptr) return "";
    const int pid = rows[rank(rows)].process->total.tgid;
    for (const std::vector<int> &pids : sharing(table.processes)) {
        if (!std::binary_search(pids.begin(), pids.end(), pid)) continue;
        std::string line = shared_line(pids);
        line.pop_back();
        return line;
    }
    return "";
}

std::optional<Intent> TopState::of_selected(bool live) {
    const auto rows = listed();
    if (rows.empty()) return std::nullopt;
    if (rows[rank(rows)].process == nullptr) {
        notice = "a cgroup has no screen of its own: / filters by its name";
        return std::nullopt;
    }
    const core::ProcessTotal &process = rows[rank(rows)].process->total;
    selected = process.host_tgid;
    if (process.tgid == 0) {
        notice = "this process is not visible in rsslag's PID namespace";
        return std::nullopt;
    }
    if (live) return OpenLive{process.tgid};
    return WalkNow{process.tgid};
}

TopScreen::TopScreen(std::chrono::milliseconds interval, TextStyle style, TopSort sort)
    : state_(std::make_unique<TopState>()) {
    state_->interval = interval;
    state_->style = std::move(style);
    state_->choices.order = order_of(sort);
}
TopScreen::~TopScreen() = default;
TopScreen::TopScreen(TopScreen &&) noexcept = default;
TopScreen &TopScreen::operator=(TopScreen &&) noexcept = default;

void TopScreen::take(TopTable table) {
    if (state_->paused) return;
    state_->table = std::move(table);
    sort_rows(state_->table.processes, state_->choices);
}

void TopScreen::take(const ProcessReading &reading) {
    state_->walked[reading.pid] = reading;
    const core::ReadingFigures figures = figures_of(reading);
    const core::PageSize &page_size = state_->table.machine.page_size;
    state_->notice = fmt::format("{} [{}]: {}", core::printable(reading.comm, state_->style.utf8), reading.pid,
                                 upper(core::name(figures.verdict)));
    if (reading.walk) {
        state_->notice += fmt::format(", smaps shows {} in {:.1f} ms, exact was {}",
                                      amount(page_size.pages(reading.walk->rss), page_size, state_->style),
                                      static_cast<double>(reading.walk->took_us) / 1000.0,
                                      amount(figures.exact.rss(), page_size, state_->style));
    }
}

void TopScreen::notify(std::string notice) {
    state_->notice = std::move(notice);
}

std::optional<Intent> TopScreen::key(const Key &pressed) {
    TopState &state = *state_;
    state.notice.clear();
    if (state.filtering) {
        if (edit_filter(state.choices.filter, pressed)) state.filtering = false;
        state.selected.reset();
        return std::nullopt;
    }
    if (state.chooser.open()) {
        state.choose_column(pressed);
        return std::nullopt;
    }
    const Key key = known_key(pressed);
    if (const auto by = move_of(key)) {
        state.move(*by);
        return std::nullopt;
    }
    const auto rows = state.listed();
    if (const auto by = match_move_of(key, state.rank(rows), rows.size())) {
        if (state.choices.filter.empty())
            state.notice = kNoFilter;
        else
            state.move(*by);
        return std::nullopt;
    }
    if (key.name == Key::Name::Enter) return state.of_selected(true);
    if (key.name == Key::Name::Character) return state.character(key.character);
    if (key.name == Key::Name::Escape) {
        state.help = false;
        state.choices.filter.clear();
    }
    return std::nullopt;
}

std::optional<Intent> TopScreen::click(const Click &click) {
    TopState &state = *state_;
    if (click.what == Click::What::Key) return key(key_of(click));
    state.notice.clear();
    state.filtering = false;
    if (click.what == Click::What::Heading) {
        const auto order = order_by(click.heading);
        if (!order) return std::nullopt;
        state.choices.reversed = state.choices.order == *order && !state.choices.reversed;
        state.choices.order = *order;
        state.sort();
        return std::nullopt;
    }
    const auto rows = state.listed();
    if (click.rank >= rows.size()) return std::nullopt;
    if (state.selected == rows[click.rank].id) return state.of_selected(true);
    state.selected = rows[click.rank].id;
    return std::nullopt;
}

std::optional<Intent> TopState::character(char32_t key) {
    switch (key) {
        case U'q': return Quit{};
        case U's':
            choices.order = static_cast<TopOrder>((static_cast<int>(choices.order) + 1) % kTopOrders);
            choices.reversed = false;
            sort();
            break;
        case U'S':
            choices.reversed = !choices.reversed;
            sort();
            break;
        case U'v': choices.shape = next(choices.shape, true); break;
        case U'C': chooser.begin(); break;
        case U'/': filtering = true; break;
        case U'w': return of_selected(false);
        case U' ': paused = !paused; break;
        case U'?': help = !help; break;
        case U'y': return Copy{};
        case U'r': notice = "open a process (Enter) to record it"; break;
        case U'+':
        case U'-': interval = stepped(interval, key == U'+'); return SetInterval{interval};
        default: break;
    }
    return std::nullopt;
}

namespace {

Help top_help() {
    return {{"j k PgUp PgDn Home End  move", "Enter  trace it   Esc  back", "s S  sort, reverse the order",
             "/  filter: name, user, PID", "n N  next, previous match", "y  copy the row", "C  choose the columns",
             "v  tree, by cgroup, flat", "w  walk smaps of this one", "space  pause", "+ -  change the interval",
             "? h F1  help   q  quit"},
            {" EXACT is what the process holds. LAG is the part of it that the flushed counters do not show.",
             " All of it comes from one pass of a BPF iterator: page tables are walked only on w.",
             " Pages that processes share copy-on-write count in each of them.",
             " ~ the counters changed during the pass"}};
}

/// Of all processes. An mm that several of them share counts once.
struct TopSums {
    core::Pages exact, hidden;
    std::size_t hiding = 0;
    bool moved = false;                ///< counters of one of them changed during the pass
    const TopProcess *most = nullptr;  ///< the one with the largest lag; null: there is none
};

TopSums sums_of(const TopTable &table) {
    TopSums sums;
    std::set<std::uint64_t> seen;
    for (const TopProcess &process : table.processes) {
        if (!seen.insert(process.total.mm).second) continue;
        sums.exact += process.total.exact().rss();
        sums.hidden += process.lag();
        sums.hiding += process.lag().n != 0 ? 1 : 0;
        sums.moved = sums.moved || process.total.moved;
        if (sums.most == nullptr || process.lag() > sums.most->lag()) sums.most = &process;
    }
    return sums;
}

/// The sum of all lags, and the process with the largest.
std::string top_sentence(const TopTable &table, const TopSums &sums, const TextStyle &style, int width) {
    const auto text = [&](core::Pages pages, bool moved) {
        return (moved ? "~" : "") + amount(pages, table.machine.page_size, style);
    };
    std::vector<Part> parts{
        {0, fmt::format(" stat hides {} of {} processes", text(sums.hidden, sums.moved), thousands(sums.hiding))}};
    if (sums.most != nullptr && sums.most->lag().n > 0) {
        parts.push_back({1, fmt::format("the most: {} [{}] {}", core::printable(sums.most->total.comm, style.utf8),
                                        sums.most->total.tgid, text(sums.most->lag(), sums.most->total.moved))});
    }
    return fitting(parts, width, ";  ");
}

}  // namespace

namespace {

using TopColumn = Column<TopCells, TopProcess>;
constexpr std::string_view kCommand = "COMMAND";

/// The lines of the tree before a name.
std::string branch_of(const TopCells &cells, const TopProcess &process) {
    const auto found = cells.branches.find(process.total.host_tgid);
    return found == cells.branches.end() ? "" : found->second;
}

std::vector<TopColumn> all_columns() {
    using All = const TopCells &;
    using One = const TopProcess &;
    std::vector<TopColumn> all = top_columns();
    all.push_back({{"USER", 9, 8, true}, [](All c, One p) { return core::printable(p.names.user, c.style.utf8); }});
    all.push_back(
        {{"CGROUP", 26, 9, true}, [](All c, One p) { return core::printable(p.names.cgroup, c.style.utf8); }});
    all.push_back({{kCommand, 16, 7, true},
                   [](All c, One p) { return branch_of(c, p) + core::printable(p.names.command_line, c.style.utf8); }});
    return all;
}

/// Those that are not hidden and fit. COMMAND gets the rest of the width. LAG is left out if it is CACHED of each
/// process: it differs if a counter is below 0, which /proc shows as 0, or if stat shows the exact value.
std::vector<TopColumn> columns_of(const TopState &state, const std::vector<TopRow> &rows, int width) {
    std::vector<TopColumn> all = all_columns();
    const bool lags = std::ranges::any_of(rows, [](const TopRow &row) {
        return row.process != nullptr && row.process->lag() != row.process->total.cached.rss();
    });
    std::erase_if(all, [&](const TopColumn &column) {
        return (column.heading == documents::kLagColumn && !lags && !rows.empty()) ||
               (column.heading == documents::kWalkedColumn && state.walked.empty()) ||
               state.choices.hidden.contains(column.heading);
    });
    all = columns_within(width, std::move(all));
    if (!all.empty() && all.back().heading == kCommand) {
        all.back().width += std::max(0, width - width_of(all));
        return all;
    }
    const auto comm = std::ranges::find(all, documents::kCommColumn, &TopColumn::heading);
    if (comm != all.end())
        comm->cell = [](const TopCells &c, const TopProcess &p) {
            return branch_of(c, p) + core::printable(p.total.comm, c.style.utf8);
        };
    return all;
}

/// The columns that can be hidden: all but PID, COMM and WALKED, which is there after a walk alone.
std::vector<ChosenColumn> choice_of(const TopChoices &choices) {
    std::vector<ChosenColumn> columns;
    for (const TopColumn &column : all_columns()) {
        const bool kept = column.heading == documents::kPidColumn || column.heading == documents::kCommColumn ||
                          column.heading == documents::kWalkedColumn;
        if (!kept) columns.push_back({column.heading, choices.hidden.contains(column.heading)});
    }
    return columns;
}

/// Draws the rows of cgroups over the empty ones: "system.slice/ssh.service: 3 processes  34,120 kB  12 kB hidden". A
/// shared mm counts once.
void draw_groups(Grid &grid, const Area &area, const std::vector<TopRow> &rows, const Window &window,
                 const core::PageSize &page_size, const TextStyle &style) {
    for (std::size_t rank = window.first; rank < window.end; ++rank) {
        const TopRow &row = rows[rank];
        if (row.process != nullptr) continue;
        core::Pages exact, lag;
        std::set<std::uint64_t> seen;
        for (const TopProcess *const process : row.members) {
            if (!seen.insert(process->total.mm).second) continue;
            exact += process->total.exact().rss();
            lag += process->lag();
        }
        const Look look = rank == window.selected ? Look::Selected : Look::Bold;
        const int at = area.row + 1 + static_cast<int>(rank - window.first);
        if (at >= area.row + area.rows) return;
        grid.fill(at, area.column, area.columns, U' ', look == Look::Selected ? look : Look::Plain);
        if (look == Look::Selected) grid.put(at, area.column, glyphs(style.utf8).selected, look);
        const std::size_t count = row.members.size();
        grid.put(at, area.column + 2,
                 fitting({{0, core::printable(cgroup_text(row.cgroup), style.utf8) + ":"},
                          {0, fmt::format("{} process{}", thousands(count), count == 1 ? "" : "es")},
                          {0, amount(exact, page_size, style)},
                          {1, fmt::format("stat hides {}", amount(lag, page_size, style))}},
                         area.columns - 3),
                 look);
    }
}

}  // namespace

void TopState::choose_column(const Key &key) {
    const std::vector<ChosenColumn> columns = choice_of(choices);
    const auto chosen = chooser.key(key, columns.size());
    if (!chosen) return;
    const std::string_view heading = columns[*chosen].name;
    if (choices.hidden.erase(heading) == 0) choices.hidden.insert(heading);
}

Grid TopScreen::draw(Size size) const {
    const TopState &state = *state_;
    Grid grid(size);
    const int width = grid.size().columns;
    const int rows = grid.size().rows;
    const TopTable &table = state.table;
    const auto listed = state.listed();
    const std::string interval = state.interval.count() < 1000
                                     ? fmt::format("{} ms", state.interval.count())
                                     : fmt::format("{:.1f} s", static_cast<double>(state.interval.count()) / 1000.0);
    grid.fill(0, 0, width, U' ', Look::Heading);
    grid.put(
        0, 0,
        fitting({{0, " rsslag top"},
                 {1, fmt::format("{} processes", thousands(table.processes.size()))},
                 {2, fmt::format("by {}{}{}", name(state.choices.order), state.choices.reversed ? ", reversed" : "",
                                 text_of(state.choices.shape))},
                 {3, state.choices.filter.empty()
                         ? ""
                         : fmt::format("filter \"{}\": {}", core::printable(state.choices.filter, state.style.utf8),
                                       thousands(listed.size()))},
                 {7, "Linux " + core::printable(table.kernel, state.style.utf8)},
                 {6, fmt::format("scheme {}", core::name(table.machine.scheme))},
                 {4, (state.paused ? "PAUSED " : "") + interval},
                 {5, local_clock(table.time)}},
                width - 1),
        Look::Heading);
    const TopSums sums = sums_of(table);
    grid.put(1, 0, top_sentence(table, sums, state.style, width - 1), Look::Bold);
    const Area area{3, 0, std::max(rows - 5, 1), width};  // the last two rows: a blank one and the keys
    const Window window = window_of(listed.size(), static_cast<std::size_t>(area.rows - 1), state.rank(listed));
    TopCells cells{state.style, table.machine.page_size, state.walked, {}};
    for (const TopRow &row : listed)
        if (row.process != nullptr && !row.branch.empty())
            cells.branches.emplace(row.process->total.host_tgid, row.branch);
    if (state.chooser.open())
        state.chooser.draw(grid, area, choice_of(state.choices));
    else if (!state.help)
        draw_columns(grid, area, columns_of(state, listed, width), cells, window,
                     [&](std::size_t rank) -> const TopProcess & {
                         static const TopProcess kNone;
                         return listed[rank].process == nullptr ? kNone : *listed[rank].process;
                     });
    if (!state.chooser.open() && !state.help)
        draw_groups(grid, area, listed, window, table.machine.page_size, state.style);
    if (!state.notice.empty()) {
        grid.put(2, 0, " " + state.notice, Look::Bold);
    } else {
        grid.put(2, 0,
                 fitting({{0, fmt::format(" They hold {}{} together", sums.moved ? "~" : "",
                                          amount(sums.exact, table.machine.page_size, state.style))},
                          {2, fmt::format("one pass {:.1f} ms", static_cast<double>(table.pass_us) / 1000.0)},
                          {1, state.shared_by_selected()},
                          {1, fmt::format("rsslag: CPU {:.1f} %", table.own.cpu_percent)},
                          {3, fmt::format("RSS {}", amount(table.machine.page_size.pages(table.own.rss),
                                                           table.machine.page_size, state.style))}},
                         width - 1),
                 Look::Faint);
    }
    if (state.help) draw_help(grid, area, top_help());
    if (rows < 6) return grid;
    if (state.filtering) {
        grid.put(rows - 1, 0,
                 fmt::format(" filter by name, command, user, cgroup or PID: {}_   Enter keeps it, Esc drops it",
                             core::printable(state.choices.filter, state.style.utf8)),
                 Look::Bold);
    } else if (state.help || state.chooser.open()) {
        draw_keys(grid, state.help ? keys_of_help() : keys_of_chooser(), width, state.style.utf8);
    } else {
        const std::string enter = glyphs(state.style.utf8).enter;
        draw_keys(grid,
                  {{0, " q quit"},
                   {1, "? help"},
                   {3, "s sort"},
                   {4, "/ filter"},
                   {2, enter + " live"},
                   {5, "v tree"},
                   {6, "C columns"},
                   {7, "w walk"},
                   {8, "space pause"},
                   {9, "+- interval"}},
                  width, state.style.utf8);
    }
    return grid;
}

}  // namespace rsslag::screen
