// SPDX-License-Identifier: BSD-2-Clause
// Checks that every text that rsslag writes must pass, whatever it has read.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"

namespace rsslag::fuzz {

inline bool is_raw_control(unsigned char c) {
    return (c < 0x20 && c != '\n') || c == 0x7f;
}

/// The text must not contain characters that a terminal executes: control characters, also those of Unicode; those that
/// change the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069); and those that some
/// programs take for the end of a line (U+2028, U+2029).
inline void require_harmless(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto at = [&](std::size_t more) {
            return i + more < text.size() ? static_cast<unsigned char>(text[i + more]) : 0U;
        };
        require(!is_raw_control(static_cast<unsigned char>(text[i])));
        require(!(at(0) == 0xc2 && at(1) >= 0x80 && at(1) <= 0x9f));
        require(!(at(0) == 0xd8 && at(1) == 0x9c));
        require(
            !(at(0) == 0xe2 && at(1) == 0x80 && (at(2) == 0x8e || at(2) == 0x8f || (at(2) >= 0xa8 && at(2) <= 0xae))));
        require(!(at(0) == 0xe2 && at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9));
    }
}

inline void require_json(std::string_view text) {
    require_harmless(text);
    require(nlohmann::json::accept(text));
}

inline void require_json_lines(std::string_view text) {
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        require_json(text.substr(from, to - from));
        from = to + 1;
    }
}

/// Rows end with CRLF, as in RFC 4180, and quotes come in pairs. `columns`: the number of columns; 0: any number.
inline void require_csv(std::string_view text, std::size_t columns = 0) {
    std::size_t commas = 0;
    bool quoted = false;
    std::string lines;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted) commas++;
        if (c == '\r' && !quoted) {
            require(i + 1 < text.size() && text[i + 1] == '\n');
            require(columns == 0 || commas + 1 == columns);
            commas = 0;
            continue;
        }
        lines += c;
    }
    require(!quoted && commas == 0);
    require_harmless(lines);
}

inline bool is_entity(std::string_view text) {
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})
        if (text.starts_with(entity)) return true;
    return text.starts_with("&#");
}

/// A part of the checks of an XML parser: tags are closed, attributes are quoted, and no < or & is unescaped.
inline void require_xml(std::string_view text) {
    require_harmless(text);
    std::vector<std::string_view> open;
    char quote = 0;
    std::size_t tag = std::string_view::npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '&') require(is_entity(text.substr(i)));
        if (tag == std::string_view::npos) {
            if (c == '<') tag = i;
            continue;
        }
        require(c != '<');
        if (quote != 0 || c == '"') {
            quote = quote == 0 ? c : c == quote ? '\0' : quote;
            continue;
        }
        if (c != '>') continue;
        const std::string_view inside = text.substr(tag + 1, i - tag - 1);
        tag = std::string_view::npos;
        const std::string_view name = inside.substr(0, inside.find_first_of(" /", 1));
        require(!inside.empty() && name != "script");
        if (inside.starts_with('?') || inside.ends_with('/')) continue;
        if (!inside.starts_with('/')) {
            open.push_back(name);
            continue;
        }
        require(!open.empty() && inside.substr(1) == open.back());
        open.pop_back();
    }
    require(open.empty() && quote == 0 && tag == std::string_view::npos);
}

}  // namespace rsslag::fuzz
