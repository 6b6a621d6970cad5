// SPDX-License-Identifier: BSD-2-Clause
// The list in which the user chooses the columns of a table (key C).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "documents/grid.h"
#include "screen/screen.h"

namespace rsslag::screen {

struct ChosenColumn {
    std::string_view name;
    bool hidden = false;
};

class ColumnChooser {
  public:
    bool open() const { return open_; }
    void begin() { open_ = true; }

    /// Returns the index of the column that the key shows or hides; nullopt: it moves the selection, or ends the list.
    std::optional<std::size_t> key(const Key &key, std::size_t count);
    void draw(Grid &grid, const documents::Area &area, const std::vector<ChosenColumn> &columns) const;

  private:
    bool open_ = false;
    std::size_t selected_ = 0;
};

}  // namespace rsslag::screen
