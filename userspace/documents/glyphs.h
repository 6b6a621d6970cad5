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
    char32_t range;                   ///< from the lowest to the highest value
    char32_t past, here, peak, exec;  ///< of the bar of a replay
    std::u32string_view levels;       ///< of a cell that is filled from below: empty to full
    const char *selected, *down, *enter, *minus, *plus_minus, *times, *sideways;
};

inline constexpr Glyphs kUnicodeGlyphs{
    .flushed = U'\u2588',
    .cached = U'\u2591',
    .excess = U'\u2592',
    .walk = U'\u25C6',
    .uncertain = U'!',
    .axis = U'\u2502',
    .tick = U'\u2524',
    .corner = U'\u2514',
    .cut = U'\u2567',
    .floor = U'\u2500',
    .floor_tick = U'\u252C',
    .bar = U'\u2588',
    .rest = U'\u2591',
    .rule = U'\u2502',
    .range = U'\u254E',
    .past = U'\u2501',
    .here = U'\u25CF',
    .peak = U'\u25B2',
    .exec = U'\u21BB',
    .levels = U" \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588",
    .selected = "\u25B6",
    .down = "\u25BC",
    .enter = "\u21B5",
    .minus = "\u2212",
    .plus_minus = "\u00B1",
    .times = "\u00D7",
    .sideways = "\u2190\u2192",
};
inline constexpr Glyphs kAsciiGlyphs{
    .flushed = U'#',
    .cached = U':',
    .excess = U'%',
    .walk = U'o',
    .uncertain = U'!',
    .axis = U'|',
    .tick = U'|',
    .corner = U'+',
    .cut = U'=',
    .floor = U'-',
    .floor_tick = U'+',
    .bar = U'#',
    .rest = U'.',
    .rule = U'|',
    .range = U'\'',
    .past = U'=',
    .here = U'O',
    .peak = U'^',
    .exec = U'x',
    .levels = U" .:#",
    .selected = ">",
    .down = "v",
    .enter = "Enter",
    .minus = "-",
    .plus_minus = "+-",
    .times = "x",
    .sideways = "left/right",
};

constexpr const Glyphs &glyphs(bool utf8) {
    return utf8 ? kUnicodeGlyphs : kAsciiGlyphs;
}

}  // namespace rsslag::documents
