// SPDX-License-Identifier: BSD-2-Clause
#include "text.h"

#include <fmt/format.h>

#include <algorithm>

namespace rsslag::procfs {

const char *describe(ParseError error) {
    switch (error) {
        case ParseError::None: return "is fine";
        case ParseError::NoDigits: return "is not an unsigned number";
        case ParseError::TooLarge: return "is out of range";
        case ParseError::NoUnit: return "is not in kB";
        case ParseError::Trailing: return "has trailing characters";
    }
    return "";
}

core::Error corrupt(std::string_view file, std::size_t line, std::string_view what) {
    return {core::Kind::Corrupt, fmt::format("{} line {}: {}", file, line, what), 0, {}};
}

void skip_blanks(std::string_view &rest) {
    std::size_t blanks = 0;
    while (blanks < rest.size() && (rest[blanks] == ' ' || rest[blanks] == '\t'))
        ++blanks;
    rest.remove_prefix(blanks);
}

ParseError read_kilobytes(std::string_view value, core::Kilobytes &out) {
    constexpr std::int64_t kMost = std::int64_t{1} << 54;
    skip_blanks(value);
    // By hand for speed: the smaps of a large process has a quarter of a million of these.
    std::int64_t number = 0;
    std::size_t digits = 0;
    for (; digits < value.size() && value[digits] >= '0' && value[digits] <= '9'; ++digits) {
        number = number * 10 + (value[digits] - '0');
        if (number > kMost) return ParseError::TooLarge;
    }
    if (digits == 0) return ParseError::NoDigits;
    value.remove_prefix(digits);
    if (value != " kB") return value.starts_with(" kB") ? ParseError::Trailing : ParseError::NoUnit;
    out = {number};
    return ParseError::None;
}

std::size_t last_line(std::string_view text) {
    if (text.empty()) return 1;
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end() - 1, '\n'));
}

core::Error cut_off(std::string_view file, std::string_view text) {
    if (text.empty()) return corrupt(file, 1, "the file is empty");
    return corrupt(file, last_line(text), "the text is cut off: no newline at its end");
}

}  // namespace rsslag::procfs
