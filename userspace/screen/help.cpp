// SPDX-License-Identifier: BSD-2-Clause
#include "help.h"

#include <algorithm>

namespace rsslag::screen {

using documents::Area;
using documents::Grid;
using documents::Look;

namespace {

/// Appends the text, in several lines if it is too long for one. Later lines begin where its second word does.
void append_wrapped(std::vector<std::string> &lines, std::string text, int columns) {
    const std::size_t indent = std::min<std::size_t>(text.find_first_not_of(' ', text.find(' ', 3)), 16);
    while (documents::cells(text) > columns) {
        std::size_t end = text.size();
        while (end != std::string::npos && documents::cells(text.substr(0, end)) > columns)
            end = text.rfind(' ', end - 1);
        if (end == std::string::npos || end <= indent) break;
        lines.push_back(text.substr(0, end));
        text = std::string(indent, ' ') + text.substr(end + 1);
    }
    lines.push_back(std::move(text));
}

}  // namespace

void draw_help(Grid &grid, Area area, const Help &help) {
    const std::size_t rows_of_keys = (help.keys.size() + 1) / 2;
    std::vector<std::string> lines{" Keys"};
    int longest = 0;
    for (const std::string &key : help.keys)
        longest = std::max(longest, static_cast<int>(key.size()));
    const int second = std::max(longest + 4, std::min(area.columns / 2, 44));
    for (std::size_t row = 0; row < rows_of_keys; ++row) {
        std::string &line = lines.emplace_back("  " + help.keys[2 * row]);
        line.resize(static_cast<std::size_t>(second), ' ');
        if (2 * row + 1 < help.keys.size()) line += help.keys[2 * row + 1];
    }
    for (const std::string &note : help.notes)
        append_wrapped(lines, note, area.columns);
    const int missing = std::clamp(static_cast<int>(rows_of_keys) + 1 - area.rows, 0, std::max(area.row - 1, 0));
    area.row -= missing;
    area.rows += missing;
    for (int i = 0; i < area.rows; ++i) {
        const std::string line = i < static_cast<int>(lines.size()) ? lines[static_cast<std::size_t>(i)] : "";
        const bool heading = !line.empty() && line.find(' ', 1) == std::string::npos;
        grid.put_field(area.row + i, area.column, area.column + area.columns, line, heading ? Look::Bold : Look::Plain);
    }
}

}  // namespace rsslag::screen
