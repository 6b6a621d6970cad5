// SPDX-License-Identifier: BSD-2-Clause
// Rows of `rsslag top`, common to its screen and its text.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "columns.h"
#include "documents/top.h"

namespace rsslag::documents {

/// The data that all cells of the table need.
struct TopCells {
    const TextStyle &style;
    const core::PageSize &page_size;
    const std::map<int, ProcessReading> &walked;  ///< by PID
};

inline constexpr std::string_view kLagColumn = "LAG", kWalkedColumn = "WALKED";

std::vector<Column<TopCells, TopProcess>> top_columns();

/// Groups of PIDs of processes that share one mm, ascending.
std::vector<std::vector<int>> sharing(const std::vector<TopProcess> &processes);

}  // namespace rsslag::documents
