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

struct Decoded {
    char32_t code = 0;
    std::size_t length = 0;  ///< bytes
};

/// One well-formed UTF-8 sequence at the front: shortest form, no surrogates, at most U+10FFFF.
std::optional<Decoded> decode_utf8(std::string_view text);

/// Text from an untrusted process, made safe for a terminal, CSV, JSON or SVG: control, escape, bidirectional and
/// other invisible characters and bytes that are no UTF-8 become \xNN, a backslash becomes \\; the rest stays.
/// For a terminal whose locale is not UTF-8 all that is not ASCII is escaped too.
std::string printable(std::string_view raw, bool utf8 = true);

/// The same for a line of our own that may quote such text: a backslash stays, so that nothing is escaped twice.
std::string harmless(std::string_view line, bool utf8 = true);

}  // namespace rsslag::core
