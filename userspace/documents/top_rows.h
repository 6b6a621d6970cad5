// SPDX-License-Identifier: BSD-2-Clause
// Rows of `rsslag top`, common to its screen and its text.
#pragma once

#include <map>
#include <string>
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
    std::map<int, std::string> branches;          ///< by host TGID: the lines of a tree before the name
};

inline constexpr std::string_view kPidColumn = "PID", kCommColumn = "COMM", kLagColumn = "LAG",
                                  kWalkedColumn = "WALKED";

std::vector<Column<TopCells, TopProcess>> top_columns();

/// Groups of PIDs of processes that share one mm, ascending.
std::vector<std::vector<int>> sharing(const std::vector<TopProcess> &processes);

}  // namespace rsslag::documents
