// SPDX-License-Identifier: BSD-2-Clause
// Columns of the screen's tables: selection by width and alignment of cells.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/view/grid.h"

namespace rsslag::view {

/// Layout of one column.
struct ColumnLayout {
    std::string_view heading;
    int width = 0;       ///< in cells, including the blank before it
    int drop_order = 0;  ///< if there is not enough space, the highest is dropped first; 0 is never dropped
    bool left = false;   ///< left-aligned
};

/// The columns that fit into `width`; those with the highest drop_order are dropped. Column derives from ColumnLayout.
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

/// Draws a row of cells from column `at` on; left-aligned ones end at `end`. Returns the column after the last cell.
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
