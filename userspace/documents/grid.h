// SPDX-License-Identifier: BSD-2-Clause
// A screen as rows of cells. Pure: the terminal module draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rsslag::documents {

struct Size {
    int rows = 24;
    int columns = 80;

    friend bool operator==(const Size &, const Size &) = default;
};

/// A rectangle of cells.
struct Area {
    int row = 0, column = 0, rows = 0, columns = 0;
};

/// The role of a cell. Colour only emphasizes it: the characters alone carry the information.
enum class Look : std::uint8_t { Plain, Bold, Faint, Heading, Flushed, Cached, Walk, Selected, Good, Uncertain, Bad };

struct Cell {
    char32_t glyph = U' ';
    Look look = Look::Plain;
    bool continues = false;  ///< the right half of a wide character

    friend bool operator==(const Cell &, const Cell &) = default;
};

/// What a click on some cells means.
struct Click {
    enum class What : std::uint8_t { Key, Row, Heading, Time };
    What what = What::Key;
    char32_t key = 0;  ///< Key: as typed; '\r' for Enter, 27 for Esc, U+2190 and U+2192 for the arrows, U+21F2 for End
    std::size_t rank = 0;        ///< Row: of the row in its list
    std::string_view heading{};  ///< Heading: of the column; valid forever
    double part = 0;             ///< Time: of the recording, 0 to 1

    friend bool operator==(const Click &, const Click &) = default;
};

class Grid {
  public:
    /// Has at least one row and one column, even if the terminal reports 0.
    explicit Grid(Size size);

    Size size() const { return size_; }
    const Cell &at(int row, int column) const { return cells_[index(row, column)]; }

    /// Writes UTF-8 text at a position and cuts what is outside the grid. A character whose width is not 1 or 2 becomes
    /// '?', and half a wide character becomes a blank, so that every row keeps its width. Returns the column after the
    /// text.
    int put(int row, int column, std::string_view text, Look look = Look::Plain);
    /// Like put(), cut or padded with blanks to end at `end`.
    void put_field(int row, int column, int end, std::string_view text, Look look = Look::Plain);
    /// Like put(), right-aligned: the text ends at `end`.
    void put_right(int row, int end, std::string_view text, Look look = Look::Plain);
    void fill(int row, int from, int to, char32_t glyph, Look look = Look::Plain);
    /// Changes only the look of cells.
    void mark(int row, int from, int to, Look look);

    /// Sets what a click on the cells from `from` to before `to` means.
    void on_click(int row, int from, int to, const Click &click) { clicks_.push_back({row, from, to, click}); }
    /// nullopt: nothing.
    std::optional<Click> click_at(int row, int column) const;

    /// A row as UTF-8 at full width.
    std::string row_text(int row) const;
    /// The cells of the first row that has Look::Selected, as UTF-8 without blanks at the ends; empty: there is none.
    std::string selected_text() const;
    /// All rows, each with a newline.
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

    struct Clickable {
        int row = 0, from = 0, to = 0;
        Click click;
        friend bool operator==(const Clickable &, const Clickable &) = default;
    };

    Size size_;
    std::vector<Cell> cells_;
    std::vector<Clickable> clicks_;
};

/// The number of terminal cells of a UTF-8 text, by wcwidth() of the locale.
int cells(std::string_view text);

std::string utf8_of(char32_t code);

}  // namespace rsslag::documents
