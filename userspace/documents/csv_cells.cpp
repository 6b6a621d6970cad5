// SPDX-License-Identifier: BSD-2-Clause
#include "csv_cells.h"

#include <fmt/format.h>

#include "text_parts.h"

namespace rsslag::documents {

void CsvCells::put(std::string_view name, std::string_view text) {
    if (!names_.empty()) {
        names_ += ',';
        texts_ += ',';
    }
    names_ += name;
    texts_ += csv_field(std::string(text));
}

void CsvCells::put(const core::MembersColumn &column, const core::TickFigures &figures) {
    const core::Members &members = figures.*column.value;
    for (const core::Member member : core::kMembersInOrder)
        put(fmt::format("{}_{}", column.name, core::name(member)), members[member].n);
    put(fmt::format("{}_rss", column.name), members.rss().n);
}

}  // namespace rsslag::documents
