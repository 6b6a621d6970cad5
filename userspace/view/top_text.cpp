// SPDX-License-Identifier: BSD-2-Clause
// rsslag top: rows, text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "glyphs.h"
#include "json_parts.h"
#include "rsslag/core/text.h"
#include "text_parts.h"
#include "top_rows.h"

namespace rsslag::view {
namespace {

using nlohmann::ordered_json;

/// Fits into six cells: separators only up to 99,999.
std::string narrow(std::uint64_t count) {
    constexpr std::uint64_t kMostWithThousands = 99'999;
    return count > kMostWithThousands ? std::to_string(count) : thousands(count);
}

std::string cell(TopField field, const TopProcess &process, const core::PageSize &page_size, const TextStyle &style,
                 const ProcessReading *walked) {
    const core::ProcessTotal &total = process.total;
    const std::string_view how = sign(total.moved ? core::Mark::Approximate : core::Mark::None);
    const auto pages = [&](core::Pages value) { return fmt::format("{}{}", how, column(value, page_size, style)); };
    switch (field) {
        case TopField::Pid: return total.tgid > 0 ? std::to_string(total.tgid) : "-";
        case TopField::Comm: return core::printable(total.comm, style.utf8);
        case TopField::Lag: return pages(process.lag());
        case TopField::Percent: {
            const core::Pages exact = total.exact().rss();
            return exact.n == 0 ? "-"
                                : fmt::format("{:.1f}", 100.0 * static_cast<double>(process.lag().n) /
                                                            static_cast<double>(exact.n));
        }
        case TopField::Exact: return pages(total.exact().rss());
        // /proc/PID/stat of a main thread that has ended shows no memory.
        case TopField::Stat: return pages(total.leader_gone ? core::Pages{} : core::clamped_rss(total.flushed));
        case TopField::Cached: return pages(total.cached.rss());
        case TopField::Tasks: return narrow(static_cast<std::uint64_t>(total.tasks));
        case TopField::Cachers: return narrow(static_cast<std::uint64_t>(total.cachers));
        case TopField::Walked: break;
    }
    if (walked == nullptr) return "";
    return walked->walk ? fmt::format("{} {}", column(page_size.pages(walked->walk->rss), page_size, style),
                                      upper(core::name(walked->verdict.verdict)))
                        : upper(core::name(walked->walk_state));
}

}  // namespace

std::string_view name(TopSort sort) {
    switch (sort) {
        case TopSort::Lag: return "lag";
        case TopSort::Exact: return "exact";
        case TopSort::Cached: return "cached";
        case TopSort::Name: break;
    }
    return "name";
}

void sort_top(std::vector<TopProcess> &processes, TopSort sort) {
    const auto key = [sort](const TopProcess &process) -> std::int64_t {
        switch (sort) {
            case TopSort::Lag: return -process.lag().n;
            case TopSort::Exact: return -process.total.exact().rss().n;
            case TopSort::Cached: return -process.total.cached.rss().n;
            case TopSort::Name: break;
        }
        return 0;
    };
    std::sort(processes.begin(), processes.end(), [&](const TopProcess &a, const TopProcess &b) {
        const std::int64_t first = key(a);
        const std::int64_t second = key(b);
        if (first != second) return first < second;
        if (sort == TopSort::Name && a.total.comm != b.total.comm) return a.total.comm < b.total.comm;
        return a.total.host_tgid < b.total.host_tgid;
    });
}

std::vector<TopColumn> top_columns(int width) {
    return columns_within<TopColumn>(width - 1, {{{"PID", 8, 0}, TopField::Pid},
                                                 {{"COMM", 17, 0, true}, TopField::Comm},
                                                 {{"LAG", 11, 0}, TopField::Lag},
                                                 {{"LAG %", 7, 3}, TopField::Percent},
                                                 {{"EXACT", 12, 1}, TopField::Exact},
                                                 {{"STAT", 12, 2}, TopField::Stat},
                                                 {{"CACHED", 10, 4}, TopField::Cached},
                                                 {{"TASKS", 7, 5}, TopField::Tasks},
                                                 {{"CACHERS", 9, 6}, TopField::Cachers},
                                                 {{"WALKED", 24, 7, true}, TopField::Walked}});
}

void draw_top_heading(Grid &grid, int row, const std::vector<TopColumn> &columns, const TextStyle &style) {
    const auto heading = [&style](const TopColumn &column) {
        const std::string text(column.heading);
        return column.field == TopField::Lag ? text + " " + style.unit : text;
    };
    draw_cells(grid, row, 1, grid.size().columns, columns, heading, Look::Faint);
}

void draw_top_row(Grid &grid, int row, const std::vector<TopColumn> &columns, const TopProcess &process,
                  const core::PageSize &page_size, const TextStyle &style, bool selected,
                  const ProcessReading *walked) {
    const Look look = selected ? Look::Selected : Look::Plain;
    if (selected) {
        grid.fill(row, 0, grid.size().columns, U' ', look);
        grid.put(row, 0, glyphs(style.utf8).selected, look);
    }
    const auto text = [&](const TopColumn &column) { return cell(column.field, process, page_size, style, walked); };
    draw_cells(grid, row, 1, grid.size().columns, columns, text, look);
}

std::string top_text(TopTable table, TopSort sort, std::size_t rows, const TextStyle &style) {
    sort_top(table.processes, sort);
    const std::vector<std::vector<int>> shared = sharing(table.processes);
    if (rows > 0 && table.processes.size() > rows) table.processes.resize(rows);
    constexpr int kWidth = 97;
    const auto columns = top_columns(kWidth);
    Grid grid({static_cast<int>(table.processes.size()) + 1, kWidth});
    draw_top_heading(grid, 0, columns, style);
    int row = 1;
    for (const TopProcess &process : table.processes)
        draw_top_row(grid, row++, columns, process, table.machine.page_size, style, false, nullptr);
    std::string text;
    for (int i = 0; i < grid.size().rows; ++i) {
        std::string line = grid.row_text(i);
        line.resize(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    std::set<int> shown;
    for (const TopProcess &process : table.processes)
        shown.insert(process.total.tgid);
    for (const std::vector<int> &pids : shared) {
        if (std::ranges::any_of(pids, [&shown](int pid) { return shown.contains(pid); })) text += shared_line(pids);
    }
    return text;
}

std::string top_json(TopTable table, TopSort sort, std::size_t rows) {
    sort_top(table.processes, sort);
    if (rows > 0 && table.processes.size() > rows) table.processes.resize(rows);
    ordered_json object;
    object["schema"] = "rsslag.top/1";
    object["time"] = utc_time(table.time);
    object["kernel"] = core::printable(table.kernel);
    object["arch"] = table.arch;
    object["scheme"] = core::name(table.machine.scheme);
    object["page_size"] = table.machine.page_size.bytes;
    object["cpus_online"] = table.machine.cpus_online;
    object["cpus_possible"] = table.machine.cpus_possible;
    object["batch"] = or_null(table.machine.batch());
    object["calibration"] = {{"stat", core::name(table.calibration.stat)},
                             {"statm", core::name(table.calibration.statm)},
                             {"status", core::name(table.calibration.status)}};
    object["sort"] = name(sort);
    object["pass_us"] = table.pass_us;
    object["processes"] = ordered_json::array();
    for (const TopProcess &process : table.processes) {
        const core::ProcessTotal &total = process.total;
        object["processes"].push_back({{"pid", id(total.tgid)},
                                       {"host_pid", id(total.host_tgid)},
                                       {"comm", core::printable(total.comm)},
                                       {"mm", {{"id", process.mm_id}}},
                                       {"tasks", total.tasks},
                                       {"cachers", total.cachers},
                                       {"flushed", members(total.flushed)},
                                       {"cached", members(total.cached)},
                                       {"exact", members(total.exact())},
                                       {"lag", process.lag().n},
                                       {"moving", total.moved}});
    }
    return object.dump() + "\n";
}

}  // namespace rsslag::view
