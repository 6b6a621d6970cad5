// SPDX-License-Identifier: BSD-2-Clause
// Numbers, times and names as text.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rsslag::core {

/// 1234567 → "1,234,567"; −1234 → "-1,234".
std::string with_thousands(std::int64_t number);

/// RFC 3339 in UTC with milliseconds.
std::string utc_time(std::chrono::system_clock::time_point time);

/// One character and its length in UTF-8.
struct Decoded {
    char32_t code = 0;
    std::size_t length = 0;  ///< bytes
};

/// Decodes the UTF-8 sequence at the start of `text`; nullopt unless it is well-formed: shortest form, no surrogates,
/// at most U+10FFFF.
std::optional<Decoded> decode_utf8(std::string_view text);

/// Makes text from an untrusted process safe for a terminal, CSV, JSON or SVG. Control, escape, bidirectional and other
/// invisible characters, and bytes that are not UTF-8, become \xNN; a backslash becomes \\. Without `utf8` (a terminal
/// in another locale) all characters that are not ASCII are escaped, too.
std::string printable(std::string_view raw, bool utf8 = true);

/// As printable(), for a line of rsslag that may contain such text. Backslashes stay, so that nothing is escaped twice.
std::string harmless(std::string_view line, bool utf8 = true);

}  // namespace rsslag::core
