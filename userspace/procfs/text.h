// SPDX-License-Identifier: BSD-2-Clause
// Shared by all parsers of this module: lines with their numbers, unsigned numbers, sizes in kB, errors with the line.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "core/result.h"
#include "core/units.h"

namespace rsslag::procfs {

/// The reason why a value cannot be parsed.
enum class ParseError : std::uint8_t { None, NoDigits, TooLarge, NoUnit, Trailing };

/// The error as text that follows the name of the value: "Rss is not in kB".
const char *describe(ParseError error);

/// A Kind::Corrupt error with the file and the 1-based line.
core::Error corrupt(std::string_view file, std::size_t line, std::string_view what);

/// Takes an unsigned number off the front of `rest`. A sign is an error: the kernel prints none here.
template <class T>
ParseError take_number(std::string_view &rest, T &out, int base = 10) {
    const char *end = rest.data() + rest.size();
    if (rest.empty() || rest.front() == '-') return ParseError::NoDigits;
    auto [stop, error] = std::from_chars(rest.data(), end, out, base);
    if (error == std::errc::result_out_of_range) return ParseError::TooLarge;
    if (error != std::errc{}) return ParseError::NoDigits;
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    return ParseError::None;
}

/// Parses `word`, all of which must be one unsigned number.
template <class T>
ParseError read_number(std::string_view word, T &out) {
    ParseError error = take_number(word, out);
    return error == ParseError::None && !word.empty() ? ParseError::Trailing : error;
}

/// Drops spaces and tabs at the front.
void skip_blanks(std::string_view &rest);

/// Reads "     1692 kB". More than 2^54 kB exceeds a 64-bit address space and is TooLarge.
ParseError read_kilobytes(std::string_view value, core::Kilobytes &out);

/// The kernel ends each of these files with a newline. Text without one was cut off, perhaps within its last number.
inline bool ends_in_newline(std::string_view text) {
    return !text.empty() && text.back() == '\n';
}

/// The 1-based number of the line with the last byte.
std::size_t last_line(std::string_view text);

/// The Corrupt error "empty" or "cut off" for text that fails ends_in_newline().
core::Error cut_off(std::string_view file, std::string_view text);

/// Iterates over lines and counts them.
class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}

    /// False at the end. `line` excludes the newline.
    bool next(std::string_view &line) {
        if (rest_.empty()) return false;
        ++number_;
        std::size_t end = rest_.find('\n');
        line = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        return true;
    }
    /// The 1-based number of the line that next() returned last.
    std::size_t number() const { return number_; }

  private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

}  // namespace rsslag::procfs
