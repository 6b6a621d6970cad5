// SPDX-License-Identifier: BSD-2-Clause
// What all parsers of this room share: lines with their numbers, unsigned numbers, sizes in kB, and errors that say
// where.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "rsslag/core/result.h"
#include "rsslag/core/units.h"

namespace rsslag::procfs {

/// Why a value was not read.
enum class Fault : std::uint8_t { None, NoDigits, TooLarge, NoUnit, Trailing };

/// The fault in words, to follow the name of the value: "Rss has no digits".
const char *describe(Fault fault);

/// A Kind::Corrupt that names the file and the 1-based line.
core::Error corrupt(std::string_view file, std::size_t line, std::string_view what);

/// Takes an unsigned number off the front of `rest`. A sign is not a digit: the kernel prints none where this is used.
template <class T>
Fault take_number(std::string_view &rest, T &out, int base = 10) {
    const char *end = rest.data() + rest.size();
    if (rest.empty() || rest.front() == '-') return Fault::NoDigits;
    auto [stop, error] = std::from_chars(rest.data(), end, out, base);
    if (error == std::errc::result_out_of_range) return Fault::TooLarge;
    if (error != std::errc{}) return Fault::NoDigits;
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    return Fault::None;
}

/// The whole of `word` is one unsigned number.
template <class T>
Fault read_number(std::string_view word, T &out) {
    Fault fault = take_number(word, out);
    return fault == Fault::None && !word.empty() ? Fault::Trailing : fault;
}

/// Drops spaces and tabs at the front.
void skip_blanks(std::string_view &rest);

/// "     1692 kB". More than 2^54 kB is more than 64 bits of address reach, and is TooLarge.
Fault read_kilobytes(std::string_view value, core::Kilobytes &out);

/// The kernel ends each of these files with a newline. Text that does not was cut, and its last number may be too.
inline bool ends_in_newline(std::string_view text) {
    return !text.empty() && text.back() == '\n';
}

/// The 1-based number of the line that holds the last byte.
std::size_t last_line(std::string_view text);

/// Corrupt "empty" or "cut off", for text that ends_in_newline() refuses.
core::Error cut_off(std::string_view file, std::string_view text);

/// Walks over lines, counting them.
class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}

    /// False at the end. `line` comes without its newline.
    bool next(std::string_view &line) {
        if (rest_.empty()) return false;
        ++number_;
        std::size_t end = rest_.find('\n');
        line = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        return true;
    }
    /// The number of the line last given, 1-based.
    std::size_t number() const { return number_; }

  private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

}  // namespace rsslag::procfs
