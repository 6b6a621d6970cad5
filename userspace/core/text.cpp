// SPDX-License-Identifier: BSD-2-Clause
#include "core/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

namespace rsslag::core {

std::string utc_time(std::chrono::system_clock::time_point time) {
    // Not floor(): before the earliest time of the clock there is no whole second that it can hold.
    constexpr std::int64_t kSecond = 1'000'000'000;
    const std::int64_t ns = std::chrono::nanoseconds(time.time_since_epoch()).count();
    const std::int64_t seconds = ns / kSecond - (ns % kSecond < 0 ? 1 : 0);
    const std::int64_t rest = (ns % kSecond + kSecond) % kSecond;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds)), rest / 1'000'000);
}

std::optional<Decoded> decode_utf8(std::string_view text) {
    if (text.empty()) return std::nullopt;
    const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return Decoded{lead, 1};
    std::size_t length = 0;
    char32_t code = 0;
    char32_t least = 0;
    if ((lead & 0xE0) == 0xC0) {
        length = 2, code = lead & 0x1F, least = 0x80;
    } else if ((lead & 0xF0) == 0xE0) {
        length = 3, code = lead & 0x0F, least = 0x800;
    } else if ((lead & 0xF8) == 0xF0) {
        length = 4, code = lead & 0x07, least = 0x10000;
    } else {
        return std::nullopt;
    }
    if (text.size() < length) return std::nullopt;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
        code = (code << 6) | (byte(i) & 0x3F);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < least || code > 0x10FFFF || surrogate) return std::nullopt;
    return Decoded{code, length};
}

namespace {

struct Range {
    char32_t from, to;
};

/// Characters that a terminal obeys or hides: C0, DEL, C1, soft hyphen, Arabic letter mark, zero-width and
/// bidirectional marks, separators, invisible operators, variation selectors, byte order mark, interlinear and tag
/// characters.
constexpr std::array<Range, 14> kUnsafe{{{0x00, 0x1F},
                                         {0x7F, 0x9F},
                                         {0xAD, 0xAD},
                                         {0x61C, 0x61C},
                                         {0x180E, 0x180E},
                                         {0x200B, 0x200F},
                                         {0x2028, 0x202E},
                                         {0x2060, 0x206F},
                                         {0xFE00, 0xFE0F},
                                         {0xFEFF, 0xFEFF},
                                         {0xFFF0, 0xFFFB},
                                         {0xFFFE, 0xFFFF},
                                         {0xE0000, 0xE0FFF},
                                         {0xF0000, 0x10FFFF}}};

bool unsafe(char32_t code) {
    for (const Range &range : kUnsafe) {
        if (code >= range.from && code <= range.to) return true;
    }
    return false;
}

void append_escaped(std::string &out, std::string_view bytes) {
    constexpr std::string_view kHex = "0123456789abcdef";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += "\\x";
        out += kHex[byte >> 4];
        out += kHex[byte & 0x0F];
    }
}

std::string escape(std::string_view raw, bool utf8, std::string_view backslash) {
    std::string out;
    out.reserve(raw.size());
    while (!raw.empty()) {
        const auto decoded = decode_utf8(raw);
        const std::size_t length = decoded ? decoded->length : 1;
        if (!decoded || unsafe(decoded->code) || (!utf8 && decoded->code > 0x7F)) {
            append_escaped(out, raw.substr(0, length));
        } else if (decoded->code == U'\\') {
            out += backslash;
        } else {
            out += raw.substr(0, length);
        }
        raw.remove_prefix(length);
    }
    return out;
}

}  // namespace

std::string with_thousands(std::int64_t number) {
    const std::string digits = std::to_string(number);
    const std::size_t first = number < 0 ? 1 : 0;
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        const std::size_t left = digits.size() - i;
        if (i > first && left % 3 == 0) out += ',';
        out += digits[i];
    }
    return out;
}

std::string printable(std::string_view raw, bool utf8) {
    return escape(raw, utf8, "\\\\");
}

std::string harmless(std::string_view line, bool utf8) {
    return escape(line, utf8, "\\");
}

}  // namespace rsslag::core
