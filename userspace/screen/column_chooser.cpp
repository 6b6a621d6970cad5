// SPDX-License-Identifier: BSD-2-Clause
#include "column_chooser.h"

#include <fmt/format.h>

#include <algorithm>

#include "list_keys.h"

namespace rsslag::screen {

std::optional<std::size_t> ColumnChooser::key(const Key &key, std::size_t count) {
    if (const auto by = move_of(key)) {
        const auto to = static_cast<std::int64_t>(selected_) + *by;
        selected_ = static_cast<std::size_t>(std::clamp<std::int64_t>(to, 0, static_cast<std::int64_t>(count) - 1));
        return std::nullopt;
    }
    if (key.name == Key::Name::Enter || (key.name == Key::Name::Character && key.character == U' ')) return selected_;
    open_ = false;
    return std::nullopt;
}

void ColumnChooser::draw(Grid &grid, const documents::Area &area, const std::vector<ChosenColumn> &columns) const {
    grid.put_field(area.row, 0, area.columns, " COLUMNS   space shows or hides one, C or Esc ends", Look::Heading);
    for (std::size_t i = 0; i < columns.size() && static_cast<int>(i) + 1 < area.rows; ++i) {
        grid.put_field(area.row + 1 + static_cast<int>(i), 0, 30,
                       fmt::format("   [{}] {}", columns[i].hidden ? " " : "x", columns[i].name),
                       i == selected_ ? Look::Selected : Look::Plain);
    }
}

}  // namespace rsslag::screen
