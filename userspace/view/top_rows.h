// SPDX-License-Identifier: BSD-2-Clause
// Rows of `rsslag top`, the same on the screen and in its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rsslag/view/screen.h"

namespace rsslag::view {

enum class TopField : std::uint8_t { Pid, Comm, Lag, Percent, Exact, Stat, Cached, Tasks, Cachers, Walked };

struct TopColumn {
    TopField field = TopField::Pid;
    std::string heading;
    int width = 0;
    int drop_order = 0;  ///< the highest goes first when there is no room
    bool left = false;
};

std::vector<TopColumn> top_columns(int width, const TextStyle &style);
void draw_top_heading(Grid &grid, int row, const std::vector<TopColumn> &columns);
void draw_top_row(Grid &grid, int row, const std::vector<TopColumn> &columns, const TopProcess &process,
                  const core::PageSize &page_size, const TextStyle &style, bool selected, const ProcessReading *walked);

/// By name, whatever its case, or by the first digits of the number; an empty filter lets all through.
bool matches_filter(std::string_view comm, int number, std::string_view filter);
/// What a key does to a filter that is being typed; whether that ends it.
bool edit_filter(std::string &filter, const Key &key);
/// The next step on the ladder from 10 ms to a minute.
std::chrono::milliseconds stepped(std::chrono::milliseconds interval, bool up);

}  // namespace rsslag::view
