// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/member_name.h"
#include "core/text.h"
#include "documents/proc.h"
#include "json_parts.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using CsvCells = std::vector<std::pair<std::string, std::string>>;

/// Names and texts of all columns. Columns that a tick has too have the same names there. The last one names the source
/// of the exact RSS.
CsvCells csv_cells(const ProcDocument &document, const ProcReading &reading) {
    const core::ReaderValues &readers = reading.readers;
    CsvCells cells{
        {"time", utc_time(document.time)},
        {"pid", std::to_string(reading.pid)},
        {"comm", core::printable(reading.comm)},
        {"page_size", std::to_string(document.page_size.bytes)},
        {"threads_count", std::to_string(reading.threads_count)},
        {"stat_rss_kb", csv_kb(readers.stat, document.page_size)},
        {"statm_rss_kb", csv_kb(readers.statm, document.page_size)},
        {"status_rss_kb", csv_number(readers.status_rss)},
    };
    for (const core::Member member : core::kMembersInText)
        cells.emplace_back(fmt::format("status_{}_kb", core::name(member)), csv_number(readers.status(member)));
    cells.emplace_back("walk", core::name(reading.walk_state));
    cells.emplace_back("walked_rss_kb", reading.walk ? std::to_string(reading.walk->rss.n) : "");
    for (const core::Member member : core::kMembersInOrder)
        cells.emplace_back(fmt::format("exact_{}", core::name(member)),
                           reading.members ? std::to_string((*reading.members)[member].n) : "");
    cells.emplace_back("exact_rss", csv_number(reading.exact));
    cells.emplace_back("lag", csv_number(reading.lag));
    cells.emplace_back("moved", reading.moved ? "1" : "0");
    cells.emplace_back("sampled", reading.exact ? core::source_name(reading) : "unknown");
    return cells;
}

}  // namespace

std::string proc_csv_header() {
    std::string line;
    for (const auto &[name, text] : csv_cells({}, {}))
        line += (line.empty() ? "" : ",") + name;
    return line + "\r\n";
}

std::string proc_csv(const ProcDocument &document) {
    std::string all;
    for (const ProcReading &reading : document.processes) {
        std::string line;
        for (const auto &[name, text] : csv_cells(document, reading))
            line += (line.empty() ? "" : ",") + csv_field(text);
        all += line + "\r\n";
    }
    return all;
}

}  // namespace rsslag::documents
