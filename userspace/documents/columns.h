// SPDX-License-Identifier: BSD-2-Clause
// Tables of the screen: their columns, the part of a long list that is shown, and the selected row.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "documents/grid.h"
#include "glyphs.h"

namespace rsslag::documents {

/// Layout of one column.
struct ColumnLayout {
    std::string_view heading;
    int width = 0;       ///< in cells, including the blank before it
    int drop_order = 0;  ///< if there is not enough space, the highest is dropped first; 0 is never dropped
    bool left = false;   ///< left-aligned
};

/// A column of a table of `Row`s. `Context` has the data that all cells of the table need, among them the `style`.
template <class Context, class Row>
struct Column : ColumnLayout {
    std::string (*cell)(const Context &context, const Row &row) = nullptr;
    std::string (*heading_of)(const Context &context) = nullptr;  ///< set if the heading depends on the context
};

/// A blank at the left end of each row, for the mark of the selected one.
inline constexpr int kMark = 1;

/// The cells that a table with these columns takes.
template <class Column>
int width_of(const std::vector<Column> &columns) {
    int width = kMark;
    for (const Column &column : columns)
        width += column.width;
    return width;
}

/// The columns that fit into `width`; those with the highest drop_order are dropped.
template <class Column>
std::vector<Column> columns_within(int width, std::vector<Column> columns) {
    const auto by_drop_order = [](const Column &a, const Column &b) { return a.drop_order < b.drop_order; };
    while (width_of(columns) > width) {
        const auto worst = std::max_element(columns.begin(), columns.end(), by_drop_order);
        if (worst == columns.end() || worst->drop_order == 0) break;
        columns.erase(worst);
    }
    return columns;
}

/// The part of a list that is shown: the rows from `first` to before `end`.
struct Window {
    std::size_t first = 0, end = 0;
    std::optional<std::size_t> selected;
};

/// The part of a list of `count` rows if `visible` of them fit. The selected row is in the middle unless the list
/// begins or ends there.
inline Window window_of(std::size_t count, std::size_t visible, std::size_t selected) {
    const std::size_t half = visible / 2;
    const std::size_t first = count <= visible ? 0 : std::min(selected > half ? selected - half : 0, count - visible);
    return {first, std::min(first + visible, count), selected};
}

/// Draws the headings into the first row of `area` and those rows of `window` that fit below. `row_at` returns the row
/// with a given rank. The headings and the rows can be clicked on.
template <class Context, class Row, class RowAt>
void draw_columns(Grid &grid, const Area &area, const std::vector<Column<Context, Row>> &columns,
                  const Context &context, const Window &window, const RowAt &row_at) {
    const int end = area.column + area.columns;
    const auto draw = [&](int row, Look look, const auto &text_of) {
        int at = area.column + kMark;
        for (const Column<Context, Row> &column : columns) {
            if (column.left) {
                grid.put_field(row, at + 1, std::min(at + column.width, end), text_of(column), look);
            } else {
                grid.put_right(row, at + column.width, text_of(column), look);
            }
            at += column.width;
        }
    };
    draw(area.row, Look::Faint, [&](const Column<Context, Row> &column) {
        return column.heading_of != nullptr ? column.heading_of(context) : std::string(column.heading);
    });
    int from = area.column + kMark;
    for (const Column<Context, Row> &column : columns) {
        grid.on_click(area.row, from, std::min(from + column.width, end),
                      {.what = Click::What::Heading, .heading = column.heading});
        from += column.width;
    }
    int row = area.row + 1;
    for (std::size_t rank = window.first; rank < window.end && row < area.row + area.rows; ++rank, ++row) {
        const Look look = rank == window.selected ? Look::Selected : Look::Plain;
        if (look == Look::Selected) {
            grid.fill(row, area.column, end, U' ', look);
            grid.put(row, area.column, glyphs(context.style.utf8).selected, look);
        }
        draw(row, look, [&](const Column<Context, Row> &column) { return column.cell(context, row_at(rank)); });
        grid.on_click(row, area.column, end, {.what = Click::What::Row, .rank = rank});
    }
}

}  // namespace rsslag::documents
