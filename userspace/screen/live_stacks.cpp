// SPDX-License-Identifier: BSD-2-Clause
// The view of the functions that add or release pages, as a table and as a tree of calls.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/extreme_text.h"
#include "core/text.h"
#include "documents/columns.h"
#include "documents/glyphs.h"
#include "documents/text_parts.h"
#include "list_keys.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

using profile::Line;

constexpr std::array<StackSort, 5> kStackSorts{StackSort::Came, StackSort::Went, StackSort::Net, StackSort::Resident,
                                               StackSort::Self};

std::string_view sort_name(StackSort sort) {
    switch (sort) {
        case StackSort::Came: return "came";
        case StackSort::Went: return "went";
        case StackSort::Net: return "net";
        case StackSort::Resident: return "resident";
        case StackSort::Self: break;
    }
    return "self";
}

std::int64_t value_of(const Line &line, StackSort sort) {
    switch (sort) {
        case StackSort::Came: return line.all.came;
        case StackSort::Went: return line.all.went;
        case StackSort::Net: return line.all.net();
        case StackSort::Resident: return line.all.resident;
        case StackSort::Self: break;
    }
    return line.self.came;
}

/// The data that all cells need.
struct StackCells {
    const TextStyle &style;
    core::PageSize page_size;
    std::string_view mark;  ///< of amounts

    std::string pages(std::int64_t n) const { return fmt::format("{}{}", mark, column({n}, page_size, style)); }
    std::string heading(std::string_view what) const { return fmt::format("{} {}", what, style.unit); }
};

using StackColumn = Column<StackCells, Line>;

std::string resident(const StackCells &cells_of, const Line &line) {
    return profile::resident_text(line.all, column({line.all.resident}, cells_of.page_size, cells_of.style),
                                  cells_of.style.utf8);
}

std::vector<StackColumn> stack_columns(bool tree) {
    using C = const StackCells &;
    using Row = const Line &;
    std::vector<StackColumn> columns{
        {{"CAME", 12, 0}, [](C c, Row line) { return c.pages(line.all.came); }, [](C c) { return c.heading("CAME"); }},
        {{"WENT", 12, 0}, [](C c, Row line) { return c.pages(line.all.went); }, [](C c) { return c.heading("WENT"); }},
        {{"NET", 12, 3}, [](C c, Row line) { return c.pages(line.all.net()); }, [](C c) { return c.heading("NET"); }},
        {{"RESIDENT", 13, 1}, resident, [](C c) { return c.heading("RESIDENT"); }},
        {{"SELF", 12, 4}, [](C c, Row line) { return c.pages(line.self.came); }, [](C c) { return c.heading("SELF"); }},
        {{"THREADS", 9, 2}, [](C, Row line) { return thousands(line.threads); }}};
    const int least = 20;
    columns.push_back({{tree ? "CALLS" : "FUNCTION", least, 0, true}, [](C c, Row line) {
                           return std::string(static_cast<std::size_t>(line.depth), ' ') +
                                  core::printable(line.name, c.style.utf8);
                       }});
    return columns;
}

std::string stacks_title(const LiveState &state, const Process &process, const profile::Profile &profile, int width) {
    const Stacks &stacks = state.stacks;
    const Tick &tick = process.tick;
    const int tid = state.shown_tid();
    profile::Flow all;
    for (const profile::ThreadFlow &thread : profile.threads)
        if (profile::Of{process.tick.process.pid, tid}.includes(thread.pid, thread.tid)) all += thread.exact;
    const auto kb = [&](std::int64_t pages) { return amount({pages}, tick.page_size, state.style); };
    const std::string mark(core::approximate_mark(profile.lossy));
    const std::string who = tid == 0 ? "" : fmt::format(" of thread {}", tid);
    const std::string how =
        stacks.tree ? "as a tree" : fmt::format("by {} {}", sort_name(stacks.sort), glyphs(state.style.utf8).down);
    std::vector<Part> parts{
        {0, fmt::format(" STACKS{}, {}", who, how)},
        {1, fmt::format("came {}{}, went {}{}", mark, kb(all.came), mark, kb(all.went))},
        {4, profile.period == 1 ? "each page is sampled" : fmt::format("one sample in {} pages", profile.period)}};
    if (profile.lost > 0) parts.push_back({0, fmt::format("{} samples lost", thousands(profile.lost))});
    if (state.past) parts.push_back({0, "as of now"});
    if (stacks.from_ns > 0)
        parts.push_back({0, fmt::format("from {:.1f} s on", static_cast<double>(stacks.from_ns) / 1e9)});
    if (!stacks.filter.empty())
        parts.push_back({0, fmt::format("filter \"{}\"", core::printable(stacks.filter, state.style.utf8))});
    parts.push_back({3, stacks.tree ? "v table" : "v tree"});
    parts.push_back({2, "x or Esc back"});
    return fitting(parts, width);
}

}  // namespace

int LiveState::shown_tid() const {
    const Process *const process = shown_process();
    if (!one || process == nullptr || shown_table() != Table::Threads || !selected) return 0;
    const auto &tasks = process->tick.ledger.tasks;
    const auto task = std::find_if(tasks.begin(), tasks.end(),
                                   [this](const core::TaskNet &each) { return each.host_tid == *selected; });
    return task == tasks.end() ? *selected : task->tid;
}

void LiveState::list_stacks() {
    const std::string before = stacks.selected < stacks.lines.size() ? stacks.lines[stacks.selected].name : "";
    stacks.lines.clear();
    if (!stacks.shown || stacks.profile == nullptr) return;
    const profile::Of of{pid, shown_tid()};
    stacks.lines =
        stacks.tree ? profile::tree(*stacks.profile, of) : profile::lines(*stacks.profile, profile::By::Function, of);
    std::erase_if(stacks.lines, [this](const Line &line) { return !matches_filter(line.name, -1, stacks.filter); });
    if (!stacks.tree) {
        std::stable_sort(stacks.lines.begin(), stacks.lines.end(), [this](const Line &a, const Line &b) {
            return value_of(a, stacks.sort) > value_of(b, stacks.sort);
        });
        const auto same = std::find_if(stacks.lines.begin(), stacks.lines.end(),
                                       [&before](const Line &line) { return line.name == before; });
        if (stacks.selected > 0 && same != stacks.lines.end())
            stacks.selected = static_cast<std::size_t>(same - stacks.lines.begin());
    }
    stacks.selected = std::min(stacks.selected, stacks.lines.empty() ? 0 : stacks.lines.size() - 1);
}

void LiveState::move_in_stacks(std::int64_t by) {
    const auto last = static_cast<std::int64_t>(stacks.lines.size()) - 1;
    const auto at = static_cast<std::int64_t>(stacks.selected);
    if (last >= 0) stacks.selected = static_cast<std::size_t>(std::clamp(at + by, std::int64_t{0}, last));
}

void LiveState::sort_stacks_by(std::string_view column) {
    const auto *const found = std::find_if(kStackSorts.begin(), kStackSorts.end(),
                                           [&](StackSort sort) { return upper(sort_name(sort)) == column; });
    if (stacks.tree || found == kStackSorts.end()) return;
    stacks.sort = *found;
    notice = fmt::format("sorted by {}", sort_name(stacks.sort));
}

bool LiveState::stacks_key(const Key &key) {
    if (const auto by = move_of(key)) return move_in_stacks(*by), true;
    if (const auto by = match_move_of(key, stacks.selected, stacks.lines.size())) {
        if (stacks.filter.empty()) return notice = kNoFilter, true;
        return move_in_stacks(*by), true;
    }
    if (key.name == Key::Name::Enter) return true;
    if (key.name == Key::Name::Escape && !help) return stacks.shown = false, true;
    if (key.name != Key::Name::Character) return false;
    if (key.character == U'v') return stacks.tree = !stacks.tree, stacks.selected = 0, true;
    if (key.character != U's') return false;
    if (stacks.tree) return notice = "a tree is sorted by size", true;
    const auto *const now = std::find(kStackSorts.begin(), kStackSorts.end(), stacks.sort);
    stacks.sort = now + 1 == kStackSorts.end() ? kStackSorts.front() : *(now + 1);
    notice = fmt::format("sorted by {}", sort_name(stacks.sort));
    return true;
}

void draw_stacks(Grid &grid, const Area &area, const LiveState &state, const Process &process) {
    const int end = area.column + area.columns;
    const Stacks &stacks = state.stacks;
    if (area.rows < 1) return;
    if (stacks.profile == nullptr || stacks.profile->period == 0) {
        grid.put_field(area.row, area.column, end,
                       state.facts.sample_period > 0 ? " no stack was sampled yet   x or Esc back"
                       : state.facts.playback        ? " the recording has no stacks; record it with --stacks"
                                                     : " no stacks are sampled; start rsslag live with --stacks",
                       Look::Heading);
        return;
    }
    const profile::Profile &profile = *stacks.profile;
    grid.put_field(area.row, area.column, end, stacks_title(state, process, profile, area.columns), Look::Heading);
    auto columns = columns_within(area.columns, stack_columns(stacks.tree));
    columns.back().width += std::max(0, area.columns - width_of(columns));
    const auto visible = static_cast<std::size_t>(std::max(0, area.rows - 2));
    const StackCells cells_of{state.style, process.tick.page_size, core::approximate_mark(profile.lossy)};
    draw_columns(grid, {area.row + 1, area.column, area.rows - 1, area.columns}, columns, cells_of,
                 window_of(stacks.lines.size(), visible, stacks.selected),
                 [&stacks](std::size_t rank) -> const Line & { return stacks.lines[rank]; });
    if (stacks.lines.empty() && area.rows > 2)
        grid.put(area.row + 2, area.column + 2, stacks.filter.empty() ? "none" : "nothing matches the filter",
                 Look::Faint);
}

}  // namespace rsslag::screen
