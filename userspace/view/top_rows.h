// SPDX-License-Identifier: BSD-2-Clause
// Rows of `rsslag top`, common to its screen and its text.
#pragma once

#include <string_view>
#include <vector>

#include "columns.h"
#include "rsslag/view/screen.h"

namespace rsslag::view {

enum class TopField : std::uint8_t { Pid, Comm, Lag, Percent, Exact, Stat, Cached, Tasks, Cachers, Walked };

struct TopColumn : ColumnLayout {
    TopField field = TopField::Pid;
};

std::vector<TopColumn> top_columns(int width);
void draw_top_heading(Grid &grid, int row, const std::vector<TopColumn> &columns, const TextStyle &style);
void draw_top_row(Grid &grid, int row, const std::vector<TopColumn> &columns, const TopProcess &process,
                  const core::PageSize &page_size, const TextStyle &style, bool selected, const ProcessReading *walked);

/// Groups of PIDs of processes that share one mm, ascending.
std::vector<std::vector<int>> sharing(const std::vector<TopProcess> &processes);

}  // namespace rsslag::view
