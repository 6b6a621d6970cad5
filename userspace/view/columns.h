// SPDX-License-Identifier: BSD-2-Clause
// Columns of the screens' tables: which there is room for, and how their cells stand.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/view/grid.h"

namespace rsslag::view {

/// Where a column stands in its table.
struct ColumnLayout {
    std::string_view heading;
    int width = 0;       ///< cells, with the blank before it
    int drop_order = 0;  ///< the highest goes first when there is no room; 0 stays
    bool left = false;   ///< its text begins where the column does
};

/// What is left of columns, each a ColumnLayout and more, when the least important have gone for want of room.
template <class Column>
std::vector<Column> columns_within(int width, std::vector<Column> columns) {
    const auto by_drop_order = [](const Column &a, const Column &b) { return a.drop_order < b.drop_order; };
    for (;;) {
        int sum = 0;
        for (const Column &column : columns)
            sum += column.width;
        if (sum <= width) return columns;
        const auto worst = std::max_element(columns.begin(), columns.end(), by_drop_order);
        if (worst == columns.end() || worst->drop_order == 0) return columns;
        columns.erase(worst);
    }
}

/// A row of cells from `at` on, nothing of it from `end` on; where it ended.
template <class Column, class Text>
int draw_cells(Grid &grid, int row, int at, int end, const std::vector<Column> &columns, const Text &text_of,
               Look look) {
    for (const Column &column : columns) {
        const std::string text(text_of(column));
        if (column.left) {
            grid.put_field(row, at + 1, std::min(at + column.width, end), text, look);
        } else {
            grid.put_right(row, at + column.width, text, look);
        }
        at += column.width;
    }
    return at;
}

}  // namespace rsslag::view
