// SPDX-License-Identifier: BSD-2-Clause
// All processes by what they hide: rows, text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "glyphs.h"
#include "json_parts.h"
#include "rsslag/core/text.h"
#include "text_parts.h"
#include "top_rows.h"

namespace rsslag::view {
namespace {

using nlohmann::ordered_json;

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
        case TopField::Stat: return pages(core::clamped_rss(total.flushed));
        case TopField::Cached: return pages(total.cached.rss());
        case TopField::Tasks: return thousands(static_cast<std::uint64_t>(total.tasks));
        case TopField::Cachers: return thousands(static_cast<std::uint64_t>(total.cachers));
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

std::vector<TopColumn> top_columns(int width, const TextStyle &style) {
    std::vector<TopColumn> columns{{TopField::Pid, "PID", 8, 0},
                                   {TopField::Comm, "COMM", 17, 0, true},
                                   {TopField::Lag, "LAG " + style.unit, 11, 0},
                                   {TopField::Percent, "LAG %", 7, 3},
                                   {TopField::Exact, "EXACT", 12, 1},
                                   {TopField::Stat, "STAT", 12, 2},
                                   {TopField::Cached, "CACHED", 10, 4},
                                   {TopField::Tasks, "TASKS", 7, 5},
                                   {TopField::Cachers, "IN", 7, 6},
                                   {TopField::Walked, "WALKED", 24, 7, true}};
    const auto sum = [&columns] {
        int all = 1;
        for (const TopColumn &column : columns)
            all += column.width;
        return all;
    };
    while (sum() > width) {
        const auto worst = std::max_element(columns.begin(), columns.end(), [](const TopColumn &a, const TopColumn &b) {
            return a.drop_order < b.drop_order;
        });
        if (worst->drop_order == 0) break;
        columns.erase(worst);
    }
    return columns;
}

void draw_top_heading(Grid &grid, int row, const std::vector<TopColumn> &columns) {
    int at = 1;
    for (const TopColumn &column : columns) {
        if (column.left) grid.put_field(row, at + 1, at + column.width, column.heading, Look::Faint);
        if (!column.left) grid.put_right(row, at + column.width, column.heading, Look::Faint);
        at += column.width;
    }
}

void draw_top_row(Grid &grid, int row, const std::vector<TopColumn> &columns, const TopProcess &process,
                  const core::PageSize &page_size, const TextStyle &style, bool selected,
                  const ProcessReading *walked) {
    const Look look = selected ? Look::Selected : Look::Plain;
    if (selected) {
        grid.fill(row, 0, grid.size().columns, U' ', look);
        grid.put(row, 0, glyphs(style.utf8).selected, look);
    }
    int at = 1;
    for (const TopColumn &column : columns) {
        const std::string text = cell(column.field, process, page_size, style, walked);
        if (column.left) grid.put_field(row, at + 1, at + column.width, text, look);
        if (!column.left) grid.put_right(row, at + column.width, text, look);
        at += column.width;
    }
}

bool matches_filter(std::string_view comm, int number, std::string_view filter) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return filter.empty() || std::search(comm.begin(), comm.end(), filter.begin(), filter.end(), same) != comm.end() ||
           std::to_string(number).starts_with(filter);
}

bool edit_filter(std::string &filter, const Key &key) {
    constexpr std::size_t kLongest = 64;
    switch (key.name) {
        case Key::Name::Enter: return true;
        case Key::Name::Escape: filter.clear(); return true;
        case Key::Name::Backspace:
            while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xC0) == 0x80)
                filter.pop_back();
            if (!filter.empty()) filter.pop_back();
            return false;
        case Key::Name::Character:
            if (key.character >= 0x20 && filter.size() < kLongest) filter += utf8_of(key.character);
            return false;
        default: return false;
    }
}

std::chrono::milliseconds stepped(std::chrono::milliseconds interval, bool up) {
    static constexpr std::array<int, 11> kSteps{10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10'000, 60'000};
    const auto now = static_cast<int>(interval.count());
    if (up) {
        const auto *const next = std::upper_bound(kSteps.begin(), kSteps.end(), now);
        return std::chrono::milliseconds(next == kSteps.end() ? std::max(now, kSteps.back()) : *next);
    }
    const auto *const at = std::lower_bound(kSteps.begin(), kSteps.end(), now);
    return std::chrono::milliseconds(at == kSteps.begin() ? kSteps.front() : *(at - 1));
}

std::string top_text(TopTable table, TopSort sort, std::size_t rows, const TextStyle &style) {
    sort_top(table.processes, sort);
    if (rows > 0 && table.processes.size() > rows) table.processes.resize(rows);
    constexpr int kWidth = 95;
    auto columns = top_columns(kWidth, style);
    Grid grid({static_cast<int>(table.processes.size()) + 1, kWidth});
    draw_top_heading(grid, 0, columns);
    int row = 1;
    for (const TopProcess &process : table.processes)
        draw_top_row(grid, row++, columns, process, table.machine.page_size, style, false, nullptr);
    std::string text;
    for (int i = 0; i < grid.size().rows; ++i) {
        std::string line = grid.row_text(i);
        line.resize(line.find_last_not_of(' ') + 1);
        text += line + "\n";
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
