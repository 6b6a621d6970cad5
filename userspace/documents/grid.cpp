// SPDX-License-Identifier: BSD-2-Clause
#include "documents/grid.h"

#include <algorithm>
#include <cwchar>

#include "core/text.h"

namespace rsslag::documents {
namespace {

struct Glyph {
    char32_t code = U'?';
    int width = 1;
    std::size_t bytes = 1;
};

/// The first character; '?' if it is invalid or does not take one or two cells.
Glyph glyph_at(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first >= 0x20 && first < 0x7F) return {first, 1, 1};
    const auto decoded = core::decode_utf8(text);
    if (!decoded) return {};
    const int width = wcwidth(static_cast<wchar_t>(decoded->code));
    if (width < 1 || width > 2) return {U'?', 1, decoded->length};
    return {decoded->code, width, decoded->length};
}

void append_utf8(std::string &out, char32_t code) {
    const auto byte = [&out](char32_t value) { out += static_cast<char>(value); };
    if (code < 0x80) {
        byte(code);
    } else if (code < 0x800) {
        byte(0xC0 | code >> 6);
        byte(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        byte(0xE0 | code >> 12);
        byte(0x80 | (code >> 6 & 0x3F));
        byte(0x80 | (code & 0x3F));
    } else {
        byte(0xF0 | code >> 18);
        byte(0x80 | (code >> 12 & 0x3F));
        byte(0x80 | (code >> 6 & 0x3F));
        byte(0x80 | (code & 0x3F));
    }
}

}  // namespace

std::string utf8_of(char32_t code) {
    std::string out;
    append_utf8(out, code);
    return out;
}

int cells(std::string_view text) {
    int sum = 0;
    while (!text.empty()) {
        const Glyph glyph = glyph_at(text);
        sum += glyph.width;
        text.remove_prefix(glyph.bytes);
    }
    return sum;
}

Grid::Grid(Size size) : size_{std::max(size.rows, 1), std::max(size.columns, 1)} {
    cells_.resize(static_cast<std::size_t>(size_.rows) * static_cast<std::size_t>(size_.columns));
}

/// If the cell was half of a wide character, the other half becomes a blank.
void Grid::set(int row, int column, Cell cell) {
    Cell &place = cells_[index(row, column)];
    if (place.continues && column > 0) cells_[index(row, column - 1)].glyph = U' ';
    if (column + 1 < size_.columns && cells_[index(row, column + 1)].continues && !cell.continues) {
        cells_[index(row, column + 1)] = {U' ', cells_[index(row, column + 1)].look, false};
    }
    place = cell;
}

int Grid::put(int row, int column, std::string_view text, Look look) {
    while (!text.empty() && column < size_.columns) {
        const Glyph glyph = glyph_at(text);
        text.remove_prefix(glyph.bytes);
        const bool whole = inside(row, column) && inside(row, column + glyph.width - 1);
        if (whole) {
            if (glyph.width == 2) set(row, column + 1, {U' ', look, false});
            set(row, column, {glyph.code, look, false});
            if (glyph.width == 2) cells_[index(row, column + 1)] = {U' ', look, true};
        } else {
            for (const int half : {column, column + 1}) {
                if (inside(row, half)) set(row, half, {U' ', look, false});
            }
        }
        column += glyph.width;
    }
    return column;
}

void Grid::put_field(int row, int column, int end, std::string_view text, Look look) {
    std::string_view rest = text;
    int at = column;
    while (!rest.empty()) {
        const Glyph glyph = glyph_at(rest);
        if (at + glyph.width > end) break;
        at += glyph.width;
        rest.remove_prefix(glyph.bytes);
    }
    put(row, column, text.substr(0, text.size() - rest.size()), look);
    fill(row, at, end, U' ', look);
}

void Grid::put_right(int row, int end, std::string_view text, Look look) {
    put(row, end - cells(text), text, look);
}

void Grid::fill(int row, int from, int to, char32_t glyph, Look look) {
    for (int column = std::max(from, 0); column < std::min(to, size_.columns); ++column) {
        if (inside(row, column)) set(row, column, {glyph, look, false});
    }
}

void Grid::mark(int row, int from, int to, Look look) {
    for (int column = std::max(from, 0); column < std::min(to, size_.columns); ++column) {
        if (inside(row, column)) cells_[index(row, column)].look = look;
    }
}

std::string Grid::selected_text() const {
    std::string text;
    for (int row = 0; row < size_.rows && text.empty(); ++row) {
        bool mark = true;  // the first cell of a selected row
        for (int column = 0; column < size_.columns; ++column) {
            const Cell &cell = at(row, column);
            if (cell.look != Look::Selected || cell.continues) continue;
            if (!std::exchange(mark, false)) append_utf8(text, cell.glyph);
        }
    }
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::optional<Click> Grid::click_at(int row, int column) const {
    const auto hit = std::find_if(clicks_.begin(), clicks_.end(), [&](const Clickable &each) {
        return each.row == row && each.from <= column && column < each.to;
    });
    return hit == clicks_.end() ? std::nullopt : std::optional(hit->click);
}

std::string Grid::row_text(int row) const {
    std::string text;
    text.reserve(static_cast<std::size_t>(size_.columns));
    for (int column = 0; column < size_.columns; ++column) {
        if (!at(row, column).continues) append_utf8(text, at(row, column).glyph);
    }
    return text;
}

std::string Grid::text() const {
    std::string text;
    for (int row = 0; row < size_.rows; ++row)
        text += row_text(row) + "\n";
    return text;
}

}  // namespace rsslag::documents
