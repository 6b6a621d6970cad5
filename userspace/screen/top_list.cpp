// SPDX-License-Identifier: BSD-2-Clause
#include "top_list.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/reading.h"
#include "documents/top_rows.h"
#include "list_keys.h"
#include "tree.h"

namespace rsslag::screen {
namespace {

std::int64_t stat_of(const TopProcess &process) {
    return process.total.leader_gone ? 0 : core::clamped_rss(process.total.flushed).n;
}

double lag_percent(const TopProcess &process) {
    const std::int64_t exact = process.total.exact().rss().n;
    return exact == 0 ? 0 : static_cast<double>(process.lag().n) / static_cast<double>(exact);
}

/// Processes that are equal in this order stay as they are.
bool before(const TopProcess &a, const TopProcess &b, TopOrder order) {
    switch (order) {
        case TopOrder::Lag: return a.lag() > b.lag();
        case TopOrder::Exact: return a.total.exact().rss() > b.total.exact().rss();
        case TopOrder::Cached: return a.total.cached.rss() > b.total.cached.rss();
        case TopOrder::LagPercent: return lag_percent(a) > lag_percent(b);
        case TopOrder::Stat: return stat_of(a) > stat_of(b);
        case TopOrder::Tasks: return a.total.tasks > b.total.tasks;
        case TopOrder::Cachers: return a.total.cachers > b.total.cachers;
        case TopOrder::Pid: return false;
        case TopOrder::User: return a.names.user < b.names.user;
        case TopOrder::Cgroup: return a.names.cgroup < b.names.cgroup;
        case TopOrder::Command: return a.names.command_line < b.names.command_line;
        case TopOrder::Name: break;
    }
    return a.total.comm < b.total.comm;
}

bool matches(const TopProcess &process, const std::string &filter) {
    const documents::ProcessNames &names = process.names;
    const std::array<std::string_view, 4> texts{process.total.comm, names.command_line, names.user, names.cgroup};
    return std::ranges::any_of(texts,
                               [&](std::string_view text) { return matches_filter(text, process.total.tgid, filter); });
}

}  // namespace

TopOrder order_of(TopSort sort) {
    switch (sort) {
        case TopSort::Exact: return TopOrder::Exact;
        case TopSort::Cached: return TopOrder::Cached;
        case TopSort::Name: return TopOrder::Name;
        case TopSort::Lag: break;
    }
    return TopOrder::Lag;
}

std::string_view name(TopOrder order) {
    static constexpr std::array<std::string_view, kTopOrders> kNames{
        "lag", "exact", "cached", "name", "lag %", "stat", "tasks", "cachers", "PID", "user", "cgroup", "command"};
    return kNames[static_cast<std::size_t>(order)];
}

std::optional<TopOrder> order_by(std::string_view heading) {
    static constexpr std::array<std::string_view, kTopOrders> kHeadings{documents::kLagColumn,
                                                                        "EXACT",
                                                                        "CACHED",
                                                                        documents::kCommColumn,
                                                                        "LAG %",
                                                                        "STAT",
                                                                        "TASKS",
                                                                        "CACHERS",
                                                                        documents::kPidColumn,
                                                                        "USER",
                                                                        "CGROUP",
                                                                        "COMMAND"};
    const auto *const found = std::ranges::find(kHeadings, heading);
    if (found == kHeadings.end()) return std::nullopt;
    return static_cast<TopOrder>(found - kHeadings.begin());
}

void sort_rows(std::vector<TopProcess> &processes, const TopChoices &choices) {
    std::ranges::sort(processes, {}, [](const TopProcess &process) { return process.total.host_tgid; });
    std::stable_sort(processes.begin(), processes.end(), [&](const TopProcess &a, const TopProcess &b) {
        return choices.reversed ? before(b, a, choices.order) : before(a, b, choices.order);
    });
    if (choices.reversed && choices.order == TopOrder::Pid) std::reverse(processes.begin(), processes.end());
}

std::vector<TopRow> rows_of(const TopTable &table, const TopChoices &choices, bool utf8) {
    std::vector<TopRow> rows;
    rows.reserve(table.processes.size());
    for (const TopProcess &process : table.processes)
        if (matches(process, choices.filter)) rows.push_back({process.total.host_tgid, &process, ""});
    if (choices.shape == Shape::Flat) return rows;
    if (choices.shape == Shape::Cgroups)
        return grouped(rows, [](const TopRow &row) -> std::string_view { return row.process->names.cgroup; });
    std::vector<TreeNode> nodes;
    nodes.reserve(rows.size());
    for (const TopRow &row : rows)
        nodes.push_back({row.process->total.host_tgid, row.process->total.host_ppid});
    std::vector<TopRow> placed;
    placed.reserve(rows.size());
    for (TreeRow &at : tree_of(nodes, utf8))
        placed.push_back({rows[at.node].id, rows[at.node].process, std::move(at.branch)});
    return placed;
}

}  // namespace rsslag::screen
