// SPDX-License-Identifier: BSD-2-Clause
// Threads or CPUs: sorted and filtered in time for 10,000 of them, the selection staying on its thread.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "glyphs.h"
#include "live_state.h"
#include "rsslag/core/text.h"
#include "text_parts.h"
#include "top_rows.h"

namespace rsslag::view {
namespace {

using core::Pages;

bool before(const Entry &a, const Entry &b) {
    return std::tie(a.key, a.name, a.id) < std::tie(b.key, b.name, b.id);
}

/// Largest first, but for names and numbers.
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

enum class Field : std::uint8_t {
    Id,
    Comm,
    Cached,
    ToFlush,
    Faults,
    Flushes,
    Net,
    Last,
    Uncertain,
    Updates,
    Bar,
    Anon,
    File,
    Shmem,
    Swap
};

struct ColumnSpec {
    Field field;
    std::string heading;
    int width = 0;       ///< with the blank before it
    int drop_order = 0;  ///< the highest goes first when there is no room
    bool left = false;
};

std::vector<ColumnSpec> columns_for(const LiveState &state, const Process &process) {
    const std::string unit = " " + state.style.unit;
    if (state.shown_table() == Table::Cpus) {
        return {{Field::Id, "CPU", 4, 0},        {Field::Cached, "CACHED", 8, 0}, {Field::Bar, "", 19, 5, true},
                {Field::Anon, "anon", 7, 1},     {Field::File, "file", 7, 2},     {Field::Shmem, "shmem", 6, 3},
                {Field::Flushes, "FOLDS", 7, 0}, {Field::Swap, "swap", 6, 6}};
    }
    if (cpu_caches(process.tick)) {
        return {{Field::Id, "TID", 8, 0},         {Field::Comm, "COMM", 16, 0, true}, {Field::Net, "NET" + unit, 12, 0},
                {Field::Uncertain, "OPEN", 8, 2}, {Field::Updates, "UPDATES", 9, 1},  {Field::Faults, "FAULTS", 9, 4},
                {Field::Flushes, "FOLDS", 7, 3},  {Field::Last, "LAST", 8, 5}};
    }
    return {{Field::Id, "TID", 8, 0},         {Field::Comm, "COMM", 16, 0, true},
            {Field::Cached, "CACHED", 8, 0},  {Field::ToFlush, "TO FLUSH", 19, 2, true},
            {Field::Faults, "FAULTS", 7, 4},  {Field::Flushes, "FLUSHES", 8, 3},
            {Field::Net, "NET" + unit, 9, 1}, {Field::Last, "LAST", 8, 5}};
}

/// What is left when the least important have gone; the name takes what is over.
std::vector<ColumnSpec> fitted(std::vector<ColumnSpec> columns, int width) {
    const auto sum = [&columns] {
        int all = 0;
        for (const ColumnSpec &column : columns)
            all += column.width;
        return all;
    };
    while (sum() > width) {
        const auto worst =
            std::max_element(columns.begin(), columns.end(),
                             [](const ColumnSpec &a, const ColumnSpec &b) { return a.drop_order < b.drop_order; });
        if (worst->drop_order == 0) break;
        columns.erase(worst);
    }
    return columns;
}

/// Faults of a task since it last flushed, as the last reading saw them.
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

/// "███████░ 6 faults": a flush comes at the start of the 66th fault since the last (mm/memory.c check_sync_rss_stat).
std::string to_flush(const Process &process, int host_tid, const Glyphs &glyph) {
    constexpr int kFaults = 66;
    constexpr int kBar = 8;
    const core::TaskReading *const task = reading_of(process, host_tid);
    if (task == nullptr) return "-";
    const int left = std::clamp(kFaults - task->faults_since_flush, 0, kFaults);
    return fmt::format("{} {} fault{}", bar(kBar * (kFaults - left) / kFaults, kBar, glyph), left,
                       left == 1 ? "" : "s");
}

/// Around zero, towards the batch: "    │███" or " ███│".
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

class Rows {
  public:
    Rows(const LiveState &state, const Process &process, std::uint64_t now_ns)
        : state_(state),
          process_(process),
          glyph_(glyphs(state.style.utf8)),
          now_ns_(now_ns),
          mark_(sign(process.tick.needs_resync ? core::Mark::AfterLoss : core::Mark::None)) {}

    std::string cell(const Entry &entry, Field field) const {
        return state_.shown_table() == Table::Cpus ? cpu_cell(process_.tick.ledger.cpus[entry.index], field)
                                                   : task_cell(process_.tick.ledger.tasks[entry.index], field);
    }

  private:
    std::string pages(Pages value) const {
        return fmt::format("{}{}", mark_, column(value, process_.tick.page_size, state_.style));
    }
    std::string last(std::uint64_t flush_ns) const {
        return flush_ns == 0 ? "-" : glyph_.minus + age(now_ns_ - std::min(now_ns_, flush_ns));
    }

    std::string task_cell(const core::TaskNet &task, Field field) const {
        switch (field) {
            case Field::Id: return task.tid > 0 ? std::to_string(task.tid) : "-";
            case Field::Comm: return core::printable(task.comm, state_.style.utf8);
            case Field::Cached: return task.cached ? pages(shown(*task.cached, state_.member)) : "-";
            case Field::ToFlush: return to_flush(process_, task.host_tid, glyph_);
            case Field::Faults: return thousands(task.faults);
            case Field::Flushes: return thousands(task.flushes);
            case Field::Net:
                // Where no column tells how much of it is open, a mark says that some is.
                return pages(shown(task.net, state_.member)) +
                       (cpu_caches(process_.tick) || task.uncertain.n == 0 ? "" : glyph_.plus_minus);
            case Field::Last: return last(task.last_flush_ns);
            case Field::Uncertain:
                return task.uncertain.n == 0
                           ? "0"
                           : glyph_.plus_minus + column(task.uncertain, process_.tick.page_size, state_.style);
            case Field::Updates: return thousands(task.updates);
            default: return "";
        }
    }

    std::string cpu_cell(const core::CpuNet &cpu, Field field) const {
        switch (field) {
            case Field::Id: return std::to_string(cpu.cpu);
            case Field::Cached: return pages(shown(cpu.cached, state_.member));
            case Field::Bar:
                return signed_bar(cpu.cached[state_.member.value_or(core::Member::Anon)],
                                  state_.facts.machine.batch().value_or(0), glyph_);
            case Field::Anon: return pages(cpu.cached.anon);
            case Field::File: return pages(cpu.cached.file);
            case Field::Shmem: return pages(cpu.cached.shmem);
            case Field::Swap: return pages(cpu.cached.swap);
            case Field::Flushes: return thousands(cpu.folds);
            default: return "";
        }
    }

    const LiveState &state_;
    const Process &process_;
    const Glyphs &glyph_;
    std::uint64_t now_ns_;
    std::string_view mark_;
};

/// "−256  anon  +256" over the bars.
std::string bar_heading(const LiveState &state, const Process &process) {
    constexpr int kWidth = 17;
    const Pages batch{state.facts.machine.batch().value_or(0)};
    const std::string most = column(batch, process.tick.page_size, state.style);
    const std::string left = glyphs(state.style.utf8).minus + most;
    const std::string right = "+" + most;
    const std::string_view member = state.member ? name(state.member) : "anon";
    const int blanks = std::max(kWidth - cells(left) - cells(right) - cells(member), 2);
    return left + std::string(static_cast<std::size_t>(blanks / 2), ' ') + std::string(member) +
           std::string(static_cast<std::size_t>(blanks - blanks / 2), ' ') + right;
}

std::string title(const LiveState &state, const Process &process, const Listing &listing, std::size_t first,
                  std::size_t shown_rows, int width) {
    const bool cpus = state.shown_table() == Table::Cpus;
    const Sort sort = effective_sort(state, process);
    const bool ascending = sort == Sort::Id || sort == Sort::Name;
    const bool all = shown_rows == 0 || shown_rows >= listing.entries.size();
    const std::string which = all ? thousands(listing.entries.size())
                                  : fmt::format("{}{}{} of {}", thousands(first + 1), state.style.utf8 ? "\u2013" : "-",
                                                thousands(first + shown_rows), thousands(listing.entries.size()));
    std::vector<Part> parts{
        {0, fmt::format(" {} {}, by {}{}{}", cpus ? "CPUS" : "THREADS", which, heading(sort, cpu_caches(process.tick)),
                        ascending ? "" : " ", ascending ? "" : glyphs(state.style.utf8).down)}};
    if (state.member) parts.push_back({0, std::string(name(state.member))});
    if (!state.filter.empty() && !cpus) {
        parts.push_back({0, fmt::format("filter \"{}\": {} of {}", core::printable(state.filter, state.style.utf8),
                                        thousands(listing.entries.size()), thousands(listing.total))});
    }
    const bool batch = cpus && state.facts.machine.batch().has_value();
    if (batch) {
        parts.push_back(
            {1, fmt::format("a CPU folds into the counter at {}{} a member", glyphs(state.style.utf8).plus_minus,
                            amount({*state.facts.machine.batch()}, process.tick.page_size, state.style))});
    }
    if (!cpus && cpu_caches(process.tick)) parts.push_back({1, "net since the attach, derived: CPUs cache"});
    return fitting(parts, width);
}

}  // namespace

std::vector<Sort> sorts_of(const Process &process, Table table) {
    if (table == Table::Cpus) return {Sort::Id, Sort::Cached, Sort::Flushes};
    if (cpu_caches(process.tick)) return {Sort::Net, Sort::Faults, Sort::Flushes, Sort::Recent, Sort::Id, Sort::Name};
    return {Sort::Cached, Sort::Net, Sort::Faults, Sort::Flushes, Sort::Recent, Sort::Id, Sort::Name};
}

Sort effective_sort(const LiveState &state, const Process &process) {
    const std::vector<Sort> sorts = sorts_of(process, state.shown_table());
    return std::find(sorts.begin(), sorts.end(), state.sort()) == sorts.end() ? sorts.front() : state.sort();
}

std::string_view heading(Sort sort, bool cpu_caches) {
    switch (sort) {
        case Sort::Cached: return "cached";
        case Sort::Net: return "net";
        case Sort::Faults: return "faults";
        case Sort::Flushes: return cpu_caches ? "folds" : "flushes";
        case Sort::Recent: return cpu_caches ? "last fold" : "last flush";
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

void draw_table(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns) {
    constexpr int kAbove = 2;  // title and headings
    const int room = area.rows - kAbove;
    if (room < 1) return;
    const std::vector<ColumnSpec> all = columns_for(state, process);
    const std::size_t requested = static_cast<std::size_t>(room);
    const bool cpus = state.shown_table() == Table::Cpus;
    const std::size_t count = cpus ? process.tick.ledger.cpus.size() : process.tick.ledger.tasks.size();
    // CPUs are many and short: beside each other where that shows more of them.
    const int across = cpus && count > requested ? std::clamp(area.columns / 60, 1, 8) : 1;
    const std::size_t visible = requested * static_cast<std::size_t>(across);
    const Listing listing = list(state, process, visible + 1);
    const std::size_t rows = listing.entries.size();
    const std::size_t half = visible / 2;
    const std::size_t first =
        rows <= visible ? 0 : std::min(listing.selected > half ? listing.selected - half : 0, rows - visible);
    grid.put_field(area.row, area.column, area.column + area.columns,
                   title(state, process, listing, first, std::min(visible, rows - first), area.columns), Look::Bold);
    const int width = area.columns / across;
    const std::vector<ColumnSpec> columns = fitted(all, width - 2);
    const Rows cells_of(state, process, now_ns);
    const Glyphs &glyph = glyphs(state.style.utf8);
    for (int block = 0; block < across; ++block) {
        const int left = area.column + block * width;
        int at = left + 2;
        for (const ColumnSpec &column : columns) {
            const std::string text = column.field == Field::Bar ? bar_heading(state, process) : column.heading;
            if (column.left) {
                grid.put_field(area.row + 1, at + 1, at + column.width, text, Look::Faint);
            } else {
                grid.put_right(area.row + 1, at + column.width, text, Look::Faint);
            }
            at += column.width;
        }
        for (int i = 0; i < room; ++i) {
            const std::size_t rank = first + static_cast<std::size_t>(block * room + i);
            if (rank >= rows) break;
            const Entry &entry = listing.entries[rank];
            const bool chosen = rank == listing.selected;
            const Look look = chosen ? Look::Selected : Look::Plain;
            const int row = area.row + kAbove + i;
            if (chosen) grid.fill(row, left, std::min(at, left + width), U' ', look);
            if (chosen) grid.put(row, left, glyph.selected, look);
            int column_at = left + 2;
            for (const ColumnSpec &column : columns) {
                const std::string text = cells_of.cell(entry, column.field);
                if (column.left) {
                    grid.put_field(row, column_at + 1, std::min(column_at + column.width, left + width), text, look);
                } else {
                    grid.put_right(row, column_at + column.width, text, look);
                }
                column_at += column.width;
            }
        }
    }
    if (rows == 0)
        grid.put(area.row + kAbove, area.column + 2, state.filter.empty() ? "none" : "nothing matches the filter",
                 Look::Faint);
}

}  // namespace rsslag::view
