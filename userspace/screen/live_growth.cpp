// SPDX-License-Identifier: BSD-2-Clause
// The view of recent growth, by mapping and by thread.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/growth.h"
#include "core/text.h"
#include "documents/text_parts.h"
#include "live_state.h"
#include "profile/profile.h"

namespace rsslag::screen {
namespace {

using core::Pages;

/// A row of either list.
struct GrownRow {
    Pages came;
    std::string what;
    std::string by;  ///< the stack of most of its pages; empty: not known
};

/// The stacks of mappings by their names; if the process has exec'ed, those of its last program.
std::map<std::string_view, const profile::MappingStack *> stacks_of(const profile::Profile *profile, int pid) {
    std::map<std::string_view, const profile::MappingStack *> stacks;
    if (profile == nullptr) return stacks;
    for (const profile::MappingStack &each : profile->mappings)  // sorted by mm
        if (each.pid == pid) stacks[each.mapping] = &each;
    return stacks;
}

std::vector<GrownRow> mapping_rows(const core::RecentGrowth &growth, const profile::Profile *profile, int pid,
                                   bool utf8) {
    const auto stacks = stacks_of(profile, pid);
    std::vector<GrownRow> rows;
    for (const auto &mapping : growth.mappings) {
        if (mapping.came.n == 0) continue;
        GrownRow &row = rows.emplace_back(GrownRow{mapping.came, core::printable(mapping.name, utf8), ""});
        if (const auto by = stacks.find(mapping.name); by != stacks.end())
            row.by = core::printable(profile::most_by(*profile, *by->second), utf8);
    }
    if (growth.other_mappings.n != 0) rows.push_back({growth.other_mappings, "(others)", ""});
    return rows;
}

std::vector<GrownRow> no_fault_rows(const core::RecentGrowth &growth) {
    std::vector<GrownRow> rows;
    for (std::size_t i = 0; i < core::kNoFaults; ++i)
        if (growth.no_fault[i].n != 0)
            rows.push_back({growth.no_fault[i], std::string(core::describe(static_cast<core::NoFault>(i))), ""});
    return rows;
}

std::vector<GrownRow> thread_rows(const core::RecentGrowth &growth, bool utf8) {
    std::vector<GrownRow> rows;
    for (const auto &thread : growth.threads)
        if (thread.came.n != 0)
            rows.push_back({thread.came, fmt::format("{:>7} {}", thread.tid, core::printable(thread.comm, utf8)), ""});
    if (growth.other_threads.n != 0) rows.push_back({growth.other_threads, "        (others)", ""});
    return rows;
}

/// Draws a heading and the rows that fit. The rows of `last` take precedence: without them the sum does not add up.
void draw_rows(Grid &grid, const Area &area, const std::string &heading, const std::vector<GrownRow> &first,
               const std::vector<GrownRow> &last, const core::PageSize &page_size, const TextStyle &style) {
    constexpr int kCame = 13;
    const int end = area.column + area.columns;
    if (area.rows < 1) return;
    grid.put_right(area.row, area.column + kCame, "CAME " + style.unit, Look::Faint);
    grid.put_field(area.row, area.column + kCame + 2, end, heading, Look::Faint);
    int row = area.row + 1;
    const auto put = [&](const GrownRow &each) {
        if (row >= area.row + area.rows) return;
        grid.put_right(row, area.column + kCame, column(each.came, page_size, style));
        const std::string by = each.by.empty() ? "" : "  " + each.by;
        grid.put_field(row++, area.column + kCame + 2, end, each.what + by);
    };
    const int space = std::max(0, area.rows - 1 - static_cast<int>(last.size()));
    const bool all = static_cast<int>(first.size()) <= space;
    const auto shown = all ? first.size() : static_cast<std::size_t>(std::max(0, space - 1));
    GrownRow rest{{}, fmt::format("({} more)", first.size() - shown), ""};
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (i < shown) put(first[i]);
        if (i >= shown) rest.came += first[i].came;
    }
    if (!all && space > 0) put(rest);
    for (const GrownRow &each : last)
        put(each);
}

}  // namespace

void draw_growth(Grid &grid, const Area &area, const LiveState &state, const Process &process, std::uint64_t now_ns) {
    constexpr int kSideBySide = 96;
    constexpr int kThreads = 40;
    const int end = area.column + area.columns;
    const Tick &tick = process.tick;
    if (!tick.recent) {
        grid.put_field(area.row, area.column, end, " growth is not known", Look::Bold);
        return;
    }
    const core::RecentGrowth &growth = *tick.recent;
    const auto seconds = static_cast<double>(now_ns - std::min(now_ns, growth.from_ns)) / 1e9;
    grid.put_field(
        area.row, area.column, end,
        fitting({{0, fmt::format(" GREW BY {}{} in {} last {:.0f} s", sign(core::mark(tick, core::figures_of(tick))),
                                 amount(growth.grew(), tick.page_size, state.style), process.ended ? "its" : "the",
                                 std::min(seconds, 30.0))},
                 {2, "net change at page faults"},
                 {1, "g or Esc back"}},
                area.columns, "   "),
        Look::Heading);
    const auto threads = thread_rows(growth, state.style.utf8);
    const auto no_fault = no_fault_rows(growth);
    const profile::Profile *const profile = state.stacks.profile.get();
    const auto mappings = mapping_rows(growth, profile, tick.process.pid, state.style.utf8);
    const bool sampled = profile != nullptr && !profile->mappings.empty();
    const std::string named = !growth.any_names ? "MAPPING (mappings not traced)"
                              : sampled         ? "MAPPING, and who made most of its pages come"
                                                : "MAPPING";
    const int rows = area.rows - 1;
    const bool side_by_side = area.columns >= kSideBySide;
    const int left = side_by_side ? area.columns - kThreads - 1 : area.columns;
    const int below = side_by_side ? 0 : std::min(rows / 2, static_cast<int>(threads.size() + no_fault.size()) + 1);
    draw_rows(grid, {area.row + 1, area.column, rows - below, left}, named, mappings, no_fault, tick.page_size,
              state.style);
    const Area of_threads = side_by_side ? Area{area.row + 1, area.column + left + 1, rows, kThreads}
                                         : Area{area.row + 1 + rows - below, area.column, below, area.columns};
    draw_rows(grid, of_threads, "    TID THREAD", threads, no_fault, tick.page_size, state.style);
}

}  // namespace rsslag::screen
