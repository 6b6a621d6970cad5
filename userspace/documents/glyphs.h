// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string_view>

namespace rsslag::documents {

/// The drawing characters, in a UTF-8 and an ASCII set.
struct Glyphs {
    char32_t flushed, cached, excess, walk, uncertain;
    char32_t axis, tick, corner, cut, floor, floor_tick;
    char32_t bar, rest;
    char32_t rule;
    std::u32string_view levels;  ///< of a cell that is filled from below: empty to full
    const char *selected, *down, *enter, *minus, *plus_minus, *times, *sideways;
};

inline constexpr Glyphs kUnicodeGlyphs{
    U'\u2588', U'\u2591',     U'\u2592', U'\u25C6', U'!',
    U'\u2502', U'\u2524',     U'\u2514', U'\u2567', U'\u2500',
    U'\u252C', U'\u2588',     U'\u2591', U'\u2502', U" \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588",
    "\u25B6",  "\u25BC",      "\u21B5",  "\u2212",  "\u00B1",
    "\u00D7",  "\u2190\u2192"};
inline constexpr Glyphs kAsciiGlyphs{U'#', U':', U'%', U'o',    U'!', U'|', U'|',    U'+', U'=', U'-', U'+',
                                     U'#', U'.', U'|', U" .:#", ">",  "v",  "Enter", "-",  "+-", "x",  "left/right"};

constexpr const Glyphs &glyphs(bool utf8) {
    return utf8 ? kUnicodeGlyphs : kAsciiGlyphs;
}

}  // namespace rsslag::documents
