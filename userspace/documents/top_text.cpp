// SPDX-License-Identifier: BSD-2-Clause
// rsslag top: rows, text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/text.h"
#include "json_parts.h"
#include "text_parts.h"
#include "top_rows.h"

namespace rsslag::documents {
namespace {

using nlohmann::ordered_json;

/// Fits into six cells: separators only up to 99,999.
std::string narrow(std::uint64_t count) {
    constexpr std::uint64_t kMostWithThousands = 99'999;
    return count > kMostWithThousands ? std::to_string(count) : thousands(count);
}

using All = const TopCells &;
using One = const TopProcess &;

std::string pages(All c, One p, core::Pages value) {
    return fmt::format("{}{}", sign(p.total.moved ? core::Mark::Approximate : core::Mark::None),
                       column(value, c.page_size, c.style));
}

std::string percent(All /*c*/, One p) {
    const core::Pages exact = p.total.exact().rss();
    if (exact.n == 0) return "-";
    return fmt::format("{:.1f}", 100.0 * static_cast<double>(p.lag().n) / static_cast<double>(exact.n));
}

/// /proc/PID/stat of a main thread that has ended shows no memory.
std::string stat(All c, One p) {
    return pages(c, p, p.total.leader_gone ? core::Pages{} : core::clamped_rss(p.total.flushed));
}

std::string walked(All c, One p) {
    const auto found = c.walked.find(p.total.tgid);
    if (found == c.walked.end()) return "";
    const ProcessReading &reading = found->second;
    if (!reading.walk) return upper(core::name(reading.walk_state));
    return fmt::format("{} {}", column(c.page_size.pages(reading.walk->rss), c.page_size, c.style),
                       upper(core::name(reading.verdict.verdict)));
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

std::vector<Column<TopCells, TopProcess>> top_columns() {
    return {{{kPidColumn, 8, 0}, [](All, One p) { return p.total.tgid > 0 ? std::to_string(p.total.tgid) : "-"; }},
            {{kCommColumn, 17, 0, true}, [](All c, One p) { return core::printable(p.total.comm, c.style.utf8); }},
            {{kLagColumn, 11, 0},
             [](All c, One p) { return pages(c, p, p.lag()); },
             [](All c) { return "LAG " + c.style.unit; }},
            {{"LAG %", 7, 3}, percent},
            {{"EXACT", 12, 1}, [](All c, One p) { return pages(c, p, p.total.exact().rss()); }},
            {{"STAT", 12, 2}, stat},
            {{"CACHED", 10, 4}, [](All c, One p) { return pages(c, p, p.total.cached.rss()); }},
            {{"TASKS", 7, 5}, [](All, One p) { return narrow(static_cast<std::uint64_t>(p.total.tasks)); }},
            {{"CACHERS", 9, 6}, [](All, One p) { return narrow(static_cast<std::uint64_t>(p.total.cachers)); }},
            {{kWalkedColumn, 24, 7, true}, walked}};
}

std::string top_text(TopTable table, TopSort sort, std::size_t rows, const TextStyle &style) {
    sort_top(table.processes, sort);
    const std::vector<std::vector<int>> shared = sharing(table.processes);
    if (rows > 0 && table.processes.size() > rows) table.processes.resize(rows);
    constexpr int kWidth = 97;
    Grid grid({static_cast<int>(table.processes.size()) + 1, kWidth});
    draw_columns(grid, {0, 0, grid.size().rows, kWidth}, columns_within(kWidth, top_columns()),
                 TopCells{style, table.machine.page_size, {}, {}}, {0, table.processes.size(), std::nullopt},
                 [&](std::size_t rank) -> const TopProcess & { return table.processes[rank]; });
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

}  // namespace rsslag::documents
