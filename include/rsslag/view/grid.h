// SPDX-License-Identifier: BSD-2-Clause
// A screen as rows of cells. Pure; what a terminal makes of it is the back end's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rsslag::view {

struct Size {
    int rows = 24;
    int columns = 80;

    friend bool operator==(const Size &, const Size &) = default;
};

/// What a cell is there for. Colour only underlines it: the characters alone say the same.
enum class Look : std::uint8_t { Plain, Bold, Faint, Heading, Flushed, Cached, Walk, Selected, Good, Doubt, Bad };

struct Cell {
    char32_t glyph = U' ';
    Look look = Look::Plain;
    bool continues = false;  ///< the right half of a wide character

    friend bool operator==(const Cell &, const Cell &) = default;
};

class Grid {
  public:
    /// At least one cell, whatever the terminal claims.
    explicit Grid(Size size);

    Size size() const { return size_; }
    const Cell &at(int row, int column) const { return cells_[index(row, column)]; }

    /// Puts UTF-8 at a place and cuts what lies outside. What has no width of its own becomes '?', half a wide
    /// character a blank, so that every row keeps its width. The column behind it.
    int put(int row, int column, std::string_view text, Look look = Look::Plain);
    /// The same, but not beyond `end`, and cut or padded to reach it.
    void put_field(int row, int column, int end, std::string_view text, Look look = Look::Plain);
    /// Ends at `end`.
    void put_right(int row, int end, std::string_view text, Look look = Look::Plain);
    void fill(int row, int from, int to, char32_t glyph, Look look = Look::Plain);
    /// Changes what cells are there for.
    void mark(int row, int from, int to, Look look);

    /// A row as UTF-8, to the full width; text() is all of them, each with a newline.
    std::string row_text(int row) const;
    std::string text() const;

    friend bool operator==(const Grid &, const Grid &) = default;

  private:
    std::size_t index(int row, int column) const {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.columns) +
               static_cast<std::size_t>(column);
    }
    bool inside(int row, int column) const {
        return row >= 0 && row < size_.rows && column >= 0 && column < size_.columns;
    }
    void set(int row, int column, Cell cell);

    Size size_;
    std::vector<Cell> cells_;
};

/// How many cells a terminal takes for it, as the locale's wcwidth() has it.
int cells(std::string_view text);

std::string utf8_of(char32_t code);

}  // namespace rsslag::view
