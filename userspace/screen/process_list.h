// SPDX-License-Identifier: BSD-2-Clause
// The rows of the list of processes, in the order in which they are drawn.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "live_state.h"

namespace rsslag::screen {

struct ListRow {
    int pid = kEndedRow;
    const Process *process = nullptr;  ///< of an Overview; null: the row of a group, or of all that have ended
    std::string branch;                ///< the lines of the tree before the command
    std::string cgroup{};              ///< of the row of a group
    std::vector<const Process *> members{};
};

struct ListRows {
    std::vector<ListRow> rows;
    std::size_t selected = 0;  ///< rank of the selected row
    std::size_t running = 0;   ///< rows of processes that have not ended
    std::size_t ended = 0;     ///< processes that have ended, before the filter
    std::size_t total = 0;     ///< processes that have not ended, before the filter
};

/// First the running processes that match the filter, sorted or as a tree; then one row for all that have ended; then,
/// if they are to be listed, these.
ListRows list_rows(const LiveState &state);

/// As the title of the list shows it.
std::string_view column_name(ListColumn column);
/// The headings of the columns, by ListColumn.
inline constexpr std::array<std::string_view, kListColumns> kListHeadings{
    "EXACT", "GROWTH/s", "PEAK", "LAG", "THREADS", "UPDATES/s", "VERDICT", "USER", "PID", "COMMAND"};

/// The command line of a process without the directory of its program, or its comm if the command line is not known;
/// printable.
std::string command_of(const Process &process, bool utf8);

}  // namespace rsslag::screen
