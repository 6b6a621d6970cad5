// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/member_name.h"
#include "core/text.h"
#include "core/tick_columns.h"
#include "csv_cells.h"
#include "documents/proc.h"

namespace rsslag::documents {
namespace {

/// The last column names the source of the exact RSS.
CsvCells cells_of(const ProcDocument &document, const ProcReading &reading) {
    namespace columns = core::columns;
    CsvCells cells;
    cells.put(columns::kTime.name, core::utc_time(document.time));
    cells.put("pid", reading.pid);
    cells.put("comm", core::printable(reading.comm));
    cells.put("page_size", document.page_size.bytes);
    cells.put("threads_count", reading.threads_count);
    cells.put(columns::kStat, reading.readers, document.page_size);
    cells.put(columns::kStatm, reading.readers, document.page_size);
    cells.put(columns::kStatusRss, reading.readers, document.page_size);
    cells.put(columns::kStatusMembers, reading.readers, document.page_size);
    cells.put("walk", core::name(reading.walk_state));
    cells.put(columns::kWalkedRss, reading.walk, document.page_size);
    for (const core::Member member : core::kMembersInOrder)
        cells.put(fmt::format("{}_{}", columns::kExact.name, core::name(member)),
                  reading.members ? std::optional((*reading.members)[member].n) : std::nullopt);
    cells.put(fmt::format("{}_rss", columns::kExact.name), columns::count_of(reading.exact));
    cells.put(columns::kLag.name, columns::count_of(reading.lag));
    cells.put("moved", reading.moved ? "1" : "0");
    cells.put("sampled", reading.exact ? core::source_name(reading) : "unknown");
    return cells;
}

}  // namespace

std::string proc_csv_header() {
    return cells_of({}, {}).names_line();
}

std::string proc_csv(const ProcDocument &document) {
    std::string all;
    for (const ProcReading &reading : document.processes)
        all += cells_of(document, reading).line();
    return all;
}

}  // namespace rsslag::documents
