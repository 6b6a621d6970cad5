// SPDX-License-Identifier: BSD-2-Clause
// The table of threads or CPUs. Sorting and filtering suit 10,000 rows; the selection stays on its thread.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "documents/columns.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"
#include "list_keys.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

using core::Pages;

bool before(const Entry &a, const Entry &b) {
    return std::tie(a.key, a.name, a.id) < std::tie(b.key, b.name, b.id);
}

/// The sort key: largest first, except names and numbers.
std::int64_t key_of(const core::TaskNet &task, Sort sort, ShownMember member) {
    switch (sort) {
        case Sort::Cached: return -std::llabs(shown(task.cached.value_or(core::Members{}), member).n);
        case Sort::Net: return -std::llabs(shown(task.net, member).n);
        case Sort::Faults: return -static_cast<std::int64_t>(task.faults);
        case Sort::Flushes: return -static_cast<std::int64_t>(task.flushes);
        case Sort::Recent: return -static_cast<std::int64_t>(task.last_flush_ns);
        case Sort::Id: return task.tid > 0 ? task.tid : task.host_tid;
        case Sort::Name: break;
    }
    return 0;
}

std::int64_t key_of(const core::CpuNet &cpu, Sort sort, ShownMember member) {
    switch (sort) {
        case Sort::Cached: return -std::llabs(shown(cpu.cached, member).n);
        case Sort::Flushes: return -static_cast<std::int64_t>(cpu.folds);
        default: return cpu.cpu;
    }
}

/// The task in the last reading, with its faults since its last flush; nullptr if it is not there.
const core::TaskReading *reading_of(const Process &process, int host_tid) {
    const auto &tasks = process.tick.process.tasks;
    const auto found = std::lower_bound(tasks.begin(), tasks.end(), host_tid,
                                        [](const core::TaskReading &task, int tid) { return task.host_tid < tid; });
    return found == tasks.end() || found->host_tid != host_tid ? nullptr : &*found;
}

std::string bar(int filled, int width, const Glyphs &glyph) {
    std::string text;
    for (int i = 0; i < width; ++i)
        text += utf8_of(i < filled ? glyph.bar : glyph.rest);
    return text;
}

/// "███████░ 6 faults": a thread flushes at the start of the 66th fault since its last flush (mm/memory.c
/// check_sync_rss_stat).
std::string to_flush(const Process &process, int host_tid, const Glyphs &glyph) {
    constexpr int kFaults = 66;
    constexpr int kBar = 8;
    const core::TaskReading *const task = reading_of(process, host_tid);
    if (task == nullptr) return "-";
    const int left = std::clamp(kFaults - task->faults_since_flush, 0, kFaults);
    return fmt::format("{} {} fault{}", bar(kBar * (kFaults - left) / kFaults, kBar, glyph), left,
                       left == 1 ? "" : "s");
}

/// A bar from zero towards ± batch: "    │███" or " ███│".
std::string signed_bar(Pages pages, std::int64_t batch, const Glyphs &glyph) {
    constexpr int kHalf = 8;
    const int cells =
        batch <= 0 ? 0
                   : static_cast<int>(std::min<std::int64_t>(kHalf, (std::llabs(pages.n) * kHalf + batch - 1) / batch));
    std::string text;
    for (int i = -kHalf; i <= kHalf; ++i) {
        const bool filled = i != 0 && ((pages.n < 0 && i < 0 && i >= -cells) || (pages.n > 0 && i > 0 && i <= cells));
        text += i == 0 ? utf8_of(glyph.rule) : filled ? utf8_of(glyph.bar) : " ";
    }
    return text;
}

/// The data that all cells of a table need.
struct Cells {
    const LiveState &state;
    const TextStyle &style;
    const Process &process;
    const Glyphs &glyph;
    std::uint64_t now_ns = 0;

    std::string pages(Pages value) const {
        return fmt::format("{}{}", sign(process.tick.needs_resync ? core::Mark::AfterLoss : core::Mark::None),
                           unmarked(value));
    }
    std::string pages(const core::Members &members) const { return pages(shown(members, state.member)); }
    std::string unmarked(Pages value) const { return column(value, process.tick.page_size, style); }
    std::string last(std::uint64_t flush_ns) const {
        return flush_ns == 0 ? "-" : glyph.minus + age(now_ns - std::min(now_ns, flush_ns));
    }
};

/// "−256  anon  +256", the heading of the bars.
std::string bar_heading(const Cells &cells_of) {
    constexpr int kWidth = 17;
    const LiveState &state = cells_of.state;
    const std::string most = cells_of.unmarked({state.facts.machine.batch().value_or(0)});
    const std::string left = cells_of.glyph.minus + most;
    const std::string right = "+" + most;
    const std::string_view member = state.member ? name(state.member) : "anon";
    const int blanks = std::max(kWidth - cells(left) - cells(right) - cells(member), 2);
    return left + std::string(static_cast<std::size_t>(blanks / 2), ' ') + std::string(member) +
           std::string(static_cast<std::size_t>(blanks - blanks / 2), ' ') + right;
}

std::string net_heading(const Cells &cells_of) {
    return "NET " + cells_of.style.unit;
}

using C = const Cells &;
using Task = const core::TaskNet &;
using Cpu = const core::CpuNet &;
using TaskColumn = Column<Cells, core::TaskNet>;
using CpuColumn = Column<Cells, core::CpuNet>;

std::string tid(C /*cells_of*/, Task t) {
    return t.tid > 0 ? std::to_string(t.tid) : "-";
}
std::string comm(C cells_of, Task t) {
    return core::printable(t.comm, cells_of.style.utf8);
}
std::string faults(C /*cells_of*/, Task t) {
    return thousands(t.faults);
}
std::string flushes_of(C /*cells_of*/, Task t) {
    return thousands(t.flushes);
}
std::string last_flush(C cells_of, Task t) {
    return cells_of.last(t.last_flush_ns);
}
std::string uncertain(C cells_of, Task t) {
    return t.uncertain.n == 0 ? "0" : cells_of.glyph.plus_minus + cells_of.unmarked(t.uncertain);
}
/// A net with ± if it is uncertain, for tables without a column UNCERTAIN.
std::string marked_net(C cells_of, Task t) {
    return cells_of.pages(t.net) + (t.uncertain.n == 0 ? "" : cells_of.glyph.plus_minus);
}

/// Columns of threads under the `cpu` scheme.
std::vector<TaskColumn> deriving_columns() {
    return {{{"TID", 9, 0}, tid},
            {{"COMM", 16, 0, true}, comm},
            {{"NET", 11, 0}, [](C c, Task t) { return c.pages(t.net); }, net_heading},
            {{"UNCERTAIN", 10, 2}, uncertain},
            {{"UPDATES", 9, 1}, [](C, Task t) { return thousands(t.updates); }},
            {{"FAULTS", 9, 4}, faults},
            {{"FOLDS", 7, 3}, flushes_of},
            {{"LAST", 8, 5}, last_flush}};
}

/// Columns of threads under the other schemes.
std::vector<TaskColumn> caching_columns() {
    return {{{"TID", 9, 0}, tid},
            {{"COMM", 16, 0, true}, comm},
            {{"CACHED", 8, 0}, [](C c, Task t) { return t.cached ? c.pages(*t.cached) : "-"; }},
            {{"TO FLUSH", 19, 2, true}, [](C c, Task t) { return to_flush(c.process, t.host_tid, c.glyph); }},
            {{"FAULTS", 7, 4}, faults},
            {{"FLUSHES", 8, 3}, flushes_of},
            {{"NET", 9, 1}, marked_net, net_heading},
            {{"LAST", 8, 5}, last_flush}};
}

std::string cpu_bar(C cells_of, Cpu cpu) {
    const LiveState &state = cells_of.state;
    return signed_bar(cpu.cached[state.member.value_or(core::Member::Anon)], state.facts.machine.batch().value_or(0),
                      cells_of.glyph);
}

template <core::Member kMember>
std::string cached_by(C cells_of, Cpu cpu) {
    return cells_of.pages(cpu.cached[kMember]);
}

constexpr int kBarDropOrder = 5;

/// Of members that RSS includes or, if not `of_rss`, of the others.
template <std::size_t... kIndex>
void append_members(std::vector<CpuColumn> &columns, bool of_rss, std::index_sequence<kIndex...> /*all*/) {
    constexpr int kWide = 2;  // most memory is of the first two members
    const auto append = [&](core::Member member, int position, auto *cell) {
        if (core::in_rss(member) != of_rss) return;
        columns.push_back(
            {{core::name(member), position <= kWide ? 7 : 6, of_rss ? position : kBarDropOrder + 1}, cell});
    };
    (append(core::kMembersInText[kIndex], kIndex + 1, cached_by<core::kMembersInText[kIndex]>), ...);
}

/// "worker-03 96, main 4".
std::string owners(C cells_of, Cpu cpu) {
    const auto &recent = cells_of.process.tick.recent;
    if (!recent || cells_of.process.tick.needs_resync) return "";
    std::string text;
    for (const core::RecentGrowth::Owner &each : recent->owners)
        if (each.cpu == cpu.cpu)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", core::printable(each.comm, cells_of.style.utf8),
                                cells_of.unmarked(each.pages));
    return text;
}

std::vector<CpuColumn> cpu_columns() {
    std::vector<CpuColumn> columns{{{"CPU", 5, 0}, [](C, Cpu cpu) { return std::to_string(cpu.cpu); }},
                                   {{"CACHED", 8, 0}, [](C c, Cpu cpu) { return c.pages(cpu.cached); }},
                                   {{"", 19, kBarDropOrder, true}, cpu_bar, bar_heading}};
    constexpr std::make_index_sequence<core::kMembers> kEach;
    append_members(columns, true, kEach);
    columns.push_back({{"FOLDS", 7, 0}, [](C, Cpu cpu) { return thousands(cpu.folds); }});
    append_members(columns, false, kEach);
    columns.push_back(
        {{"WHOSE PAGES", 46, kBarDropOrder + 2, true}, owners, [](C c) { return "WHOSE PAGES, " + c.style.unit; }});
    return columns;
}

std::string title(const LiveState &state, const Process &process, const Listing &listing, const Window &window,
                  int width) {
    const bool cpus = state.shown_table() == Table::Cpus;
    const Sort sort = effective_sort(state, process);
    const bool ascending = sort == Sort::Id || sort == Sort::Name;
    const bool all = window.end - window.first == listing.entries.size();
    const std::string which =
        all ? thousands(listing.entries.size())
            : fmt::format("{}{}{} of {}", thousands(window.first + 1), state.style.utf8 ? "\u2013" : "-",
                          thousands(window.end), thousands(listing.entries.size()));
    std::vector<Part> parts{
        {0, fmt::format(" {} {}, by {}{}{}", cpus ? "CPUS" : "THREADS", which, heading(sort, cpus_cache(process.tick)),
                        ascending ? "" : " ", ascending ? "" : glyphs(state.style.utf8).down)}};
    if (state.member) parts.push_back({0, std::string(name(state.member))});
    if (!state.filter.empty() && !cpus) {
        parts.push_back({0, fmt::format("filter \"{}\": {} of {}", core::printable(state.filter, state.style.utf8),
                                        thousands(listing.entries.size()), thousands(listing.total))});
    }
    const bool batch = cpus && state.facts.machine.batch().has_value();
    if (batch) {
        parts.push_back({1, fmt::format("limit per CPU and counter: {}{}", glyphs(state.style.utf8).plus_minus,
                                        amount({*state.facts.machine.batch()}, process.tick.page_size, state.style))});
    }
    if (!cpus && cpus_cache(process.tick)) parts.push_back({1, "net since the attach, derived: CPUs cache"});
    return fitting(parts, width);
}

}  // namespace

std::vector<Sort> sorts_of(const Process &process, Table table) {
    if (table == Table::Cpus) return {Sort::Id, Sort::Cached, Sort::Flushes};
    if (cpus_cache(process.tick)) return {Sort::Net, Sort::Faults, Sort::Flushes, Sort::Recent, Sort::Id, Sort::Name};
    return {Sort::Cached, Sort::Net, Sort::Faults, Sort::Flushes, Sort::Recent, Sort::Id, Sort::Name};
}

Sort effective_sort(const LiveState &state, const Process &process) {
    const std::vector<Sort> sorts = sorts_of(process, state.shown_table());
    return std::find(sorts.begin(), sorts.end(), state.sort()) == sorts.end() ? sorts.front() : state.sort();
}

std::string_view heading(Sort sort, bool cpus_cache) {
    switch (sort) {
        case Sort::Cached: return "cached";
        case Sort::Net: return "net";
        case Sort::Faults: return "faults";
        case Sort::Flushes: return cpus_cache ? "folds" : "flushes";
        case Sort::Recent: return cpus_cache ? "last fold" : "last flush";
        case Sort::Id: return "number";
        case Sort::Name: break;
    }
    return "name";
}

Listing list(const LiveState &state, const Process &process, std::size_t until) {
    Listing listing;
    const Sort sort = effective_sort(state, process);
    if (state.shown_table() == Table::Cpus) {
        const auto &cpus = process.tick.ledger.cpus;
        listing.total = cpus.size();
        for (std::size_t i = 0; i < cpus.size(); ++i)
            listing.entries.push_back({key_of(cpus[i], sort, state.member), {}, cpus[i].cpu, i});
    } else {
        const auto &tasks = process.tick.ledger.tasks;
        listing.total = tasks.size();
        listing.entries.reserve(tasks.size());
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            if (!matches_filter(tasks[i].comm, tasks[i].tid, state.filter)) continue;
            const std::string_view by_name = sort == Sort::Name ? std::string_view(tasks[i].comm) : std::string_view();
            listing.entries.push_back({key_of(tasks[i], sort, state.member), by_name, tasks[i].host_tid, i});
        }
    }
    auto &entries = listing.entries;
    const auto chosen =
        std::find_if(entries.begin(), entries.end(), [&](const Entry &e) { return state.selected == e.id; });
    if (chosen != entries.end()) {
        const Entry at = *chosen;
        listing.selected = static_cast<std::size_t>(
            std::count_if(entries.begin(), entries.end(), [&at](const Entry &e) { return before(e, at); }));
    }
    const std::size_t sorted = std::min(entries.size(), std::max(until, listing.selected + until));
    std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(sorted), entries.end(), before);
    return listing;
}

namespace {

constexpr int kAbove = 2;  // title and headings

/// Draws a table in `across` blocks side by side.
template <class Row>
void draw_blocks(Grid &grid, const Area &area, int across, std::vector<Column<Cells, Row>> all, const Cells &cells_of,
                 const std::vector<Row> &rows, const Listing &listing, Window window) {
    const int width = area.columns / across;
    const auto columns = columns_within(width, std::move(all));
    for (int block = 0; block < across; ++block) {
        draw_columns(grid, {area.row, area.column + block * width, area.rows, std::min(width, width_of(columns))},
                     columns, cells_of, window,
                     [&](std::size_t rank) -> const Row & { return rows[listing.entries[rank].index]; });
        window.first += static_cast<std::size_t>(area.rows - 1);
    }
}

}  // namespace

void draw_table(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns) {
    if (area.rows <= kAbove) return;
    const core::MmView &ledger = process.tick.ledger;
    const auto space = static_cast<std::size_t>(area.rows - kAbove);
    const bool cpus = state.shown_table() == Table::Cpus;
    // Rows of CPUs are narrow: several blocks side by side if they do not fit below each other.
    const int across = cpus && ledger.cpus.size() > space ? std::clamp(area.columns / 60, 1, 8) : 1;
    const std::size_t visible = space * static_cast<std::size_t>(across);
    const Listing listing = list(state, process, visible + 1);
    const Window window = window_of(listing.entries.size(), visible, listing.selected);
    grid.put_field(area.row, area.column, area.column + area.columns,
                   title(state, process, listing, window, area.columns), Look::Bold);
    const Cells cells_of{state, state.style, process, glyphs(state.style.utf8), now_ns};
    const Area below{area.row + 1, area.column, area.rows - 1, area.columns};
    if (cpus) {
        draw_blocks(grid, below, across, cpu_columns(), cells_of, ledger.cpus, listing, window);
    } else {
        draw_blocks(grid, below, 1, cpus_cache(process.tick) ? deriving_columns() : caching_columns(), cells_of,
                    ledger.tasks, listing, window);
    }
    if (listing.entries.empty())
        grid.put(area.row + kAbove, area.column + 2, state.filter.empty() ? "none" : "nothing matches the filter",
                 Look::Faint);
}

}  // namespace rsslag::screen
