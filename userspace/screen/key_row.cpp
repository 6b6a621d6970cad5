// SPDX-License-Identifier: BSD-2-Clause
#include "key_row.h"

#include <algorithm>
#include <optional>
#include <string>

#include "documents/glyphs.h"

namespace rsslag::screen {
namespace {

constexpr char32_t kEnter = U'\r', kEscape = 27, kLeft = U'\u2190', kRight = U'\u2192', kEnd = U'\u21f2';

/// The keys that a word of a part names, one for each of its cells, or a single one for all cells; empty: none.
std::u32string keys_of(std::string_view word, bool utf8) {
    const Glyphs &glyph = glyphs(utf8);
    if (word == glyph.enter) return {kEnter};
    if (word == glyph.sideways) return {kLeft, kRight};
    if (word == "Esc") return {kEscape};
    if (word == "End") return {kEnd};
    if (word == "space") return U" ";
    if (word == "+-") return U"+-";
    if (word.size() == 1) return {static_cast<char32_t>(word.front())};
    return {};
}

class KeyRow {
  public:
    KeyRow(Grid &grid, int row, bool utf8) : grid_(grid), row_(row), utf8_(utf8) {}

    /// Makes a part clickable that begins at this column.
    void add(std::string_view part, int column) {
        std::optional<char32_t> first;
        bool named = true;  // the next word may name a key
        while (!part.empty()) {
            const std::size_t end = std::min(part.find(' '), part.size());
            const std::string_view word = part.substr(0, end);
            const int width = cells(word);
            const std::u32string keys = named ? keys_of(word, utf8_) : std::u32string();
            named = !keys.empty();
            if (named && !first) first = keys.front();
            if (first) add_word(column, width, keys.empty() ? std::u32string(1, *first) : keys);
            column += width + 1;
            part.remove_prefix(std::min(end + 1, part.size()));
        }
    }

  private:
    void add_word(int column, int width, const std::u32string &keys) {
        const auto count = static_cast<int>(keys.size());
        for (int i = 0; i < count; ++i)
            grid_.on_click(row_, column + width * i / count, column + width * (i + 1) / count,
                           {.what = Click::What::Key, .key = keys[static_cast<std::size_t>(i)]});
    }

    Grid &grid_;
    int row_;
    bool utf8_;
};

}  // namespace

void draw_keys(Grid &grid, const std::vector<Part> &keys, int width, bool utf8) {
    const int row = grid.size().rows - 1;
    const std::string text = fitting(keys, width);
    grid.put(row, 0, text);
    KeyRow clickable(grid, row, utf8);
    std::size_t from = 0;
    for (const Part &part : keys) {
        const std::size_t at = text.find(part.text, from);
        if (part.text.empty() || at == std::string::npos) continue;
        const std::size_t blanks = std::min(part.text.find_first_not_of(' '), part.text.size());
        clickable.add(std::string_view(part.text).substr(blanks), cells(std::string_view(text).substr(0, at + blanks)));
        from = at + part.text.size();
    }
}

Key key_of(const Click &click) {
    switch (click.key) {
        case kEnter: return {Key::Name::Enter};
        case kEscape: return {Key::Name::Escape};
        case kLeft: return {Key::Name::Left};
        case kRight: return {Key::Name::Right};
        case kEnd: return {Key::Name::End};
        default: return {Key::Name::Character, click.key};
    }
}

std::vector<Part> keys_of_help() {
    return {{0, " q quit"}, {1, "? help"}, {1, "Esc back"}};
}

std::vector<Part> keys_of_chooser() {
    return {{0, " space show or hide"}, {0, "Esc back"}};
}

}  // namespace rsslag::screen
