// SPDX-License-Identifier: BSD-2-Clause
// The bar of a replay: where it is, how fast it goes, what happened when.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "documents/glyphs.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

char32_t glyph_of(Playback::Mark::What what, const Glyphs &glyph) {
    switch (what) {
        case Playback::Mark::What::Loss: return glyph.uncertain;
        case Playback::Mark::What::Exec: return glyph.exec;
        case Playback::Mark::What::Peak: break;
    }
    return glyph.peak;
}

}  // namespace

void draw_timeline(Grid &grid, int row, const LiveState &state) {
    const Playback &playback = *state.facts.playback;
    const Glyphs &glyph = glyphs(state.style.utf8);
    const std::string left = " " + position(playback.t_ns) + " ";
    std::string right = " " + position(playback.end_ns);
    if (playback.speed != 1) right += fmt::format("  {}{}", playback.speed, glyph.times);
    const int from = grid.put(row, 0, left);
    const int to = grid.size().columns - 1 - cells(right);
    grid.put(row, to, right);
    const int width = to - from;
    constexpr int kLeast = 10;
    if (width < kLeast || playback.end_ns == 0) return;
    const auto column_of = [&](std::uint64_t t_ns) {
        const double part = static_cast<double>(std::min(t_ns, playback.end_ns)) / static_cast<double>(playback.end_ns);
        return from + static_cast<int>(std::lround(part * (width - 1)));
    };
    const int now = column_of(playback.t_ns);
    grid.fill(row, from, now, glyph.past, Look::Flushed);
    grid.fill(row, now, to, glyph.floor, Look::Faint);
    using What = Playback::Mark::What;
    for (const What what : {What::Exec, What::Loss, What::Peak})
        for (const Playback::Mark &mark : playback.marks)
            if (mark.what == what)
                grid.fill(row, column_of(mark.t_ns), column_of(mark.t_ns) + 1, glyph_of(what, glyph),
                          what == What::Loss ? Look::Uncertain : Look::Cached);
    grid.fill(row, now, now + 1, glyph.here, Look::Bold);
    for (int column = from; column < to; ++column)
        grid.on_click(row, column, column + 1,
                      {.what = Click::What::Time, .part = static_cast<double>(column - from) / (width - 1)});
}

}  // namespace rsslag::screen
