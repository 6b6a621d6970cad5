// SPDX-License-Identifier: BSD-2-Clause
// Differences of the live screen in a replay: keys, position and help.
#include <fmt/format.h>

#include <algorithm>

#include "documents/glyphs.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

constexpr double kSeconds = 5;  ///< the step of the left and right arrows

std::string interval_text(std::chrono::milliseconds interval) {
    return interval.count() < 1000 ? fmt::format("{} ms", interval.count())
                                   : fmt::format("{:.1f} s", static_cast<double>(interval.count()) / 1000.0);
}

std::optional<Play> play_of(const Key &key) {
    using What = Play::What;
    if (key.name == Key::Name::Left) return Play{What::SeekBy, -kSeconds};
    if (key.name == Key::Name::Right) return Play{What::SeekBy, kSeconds};
    if (key.name != Key::Name::Character) return std::nullopt;
    switch (key.character) {
        case U' ': return Play{What::Toggle, 0};
        case U']':
        case U'.': return Play{What::StepOn, 0};
        case U'[':
        case U',': return Play{What::StepBack, 0};
        case U'+': return Play{What::Faster, 0};
        case U'-': return Play{What::Slower, 0};
        case U'f': return Play{What::NextFlush, 0};
        case U'l': return Play{What::NextLoss, 0};
        case U'p': return Play{What::Peak, 0};
        default: break;
    }
    if (key.character < U'0' || key.character > U'9') return std::nullopt;
    return Play{What::SeekTo, static_cast<double>(key.character - U'0') / 10};
}

}  // namespace

std::string position(std::uint64_t ns) {
    const std::uint64_t tenths = ns / 100'000'000;
    if (tenths < 1000) return fmt::format("{}.{} s", tenths / 10, tenths % 10);
    return fmt::format("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10);
}

ReplayKey replay_key(LiveState &state, const Key &key) {
    if (!state.facts.playback) return {};
    if (const auto play = play_of(key)) return {true, *play};
    if (key.name != Key::Name::Character) return {};
    if (key.character == U'w') {
        state.notice = "a recording has only the walks made while recording";
        return {true, std::nullopt};
    }
    if (key.character == U'r') {
        state.notice = "cannot record a replay";
        return {true, std::nullopt};
    }
    return {};
}

std::string pace_text(const LiveState &state, bool ended, bool paused) {
    const auto &playback = state.facts.playback;
    if (state.cursor) return past_text(state);
    if (!playback) {
        const char *const how = ended ? "ended" : paused ? "PAUSED" : "live";
        return fmt::format("{} {}", how, interval_text(state.facts.interval));
    }
    const std::string where = fmt::format("{} of {}", position(playback->t_ns), position(playback->end_ns));
    if (playback->t_ns >= playback->end_ns) return fmt::format("END of {}", position(playback->end_ns));
    if (!playback->playing) return "PAUSED at " + where;
    return playback->speed == 1 ? "replay " + where
                                : fmt::format("replay {} {}{}", where, playback->speed, glyphs(state.style.utf8).times);
}

std::vector<Part> replay_keys(const LiveState &state) {
    const bool playing = state.facts.playback && state.facts.playback->playing;
    return {{0, " q quit"},
            {1, "? help"},
            {2, playing ? "space pause" : "space play"},
            {4, ", . step"},
            {3, fmt::format("{} seek", glyphs(state.style.utf8).sideways)},
            {6, "0-9 tenths"},
            {5, "+- speed"},
            {3, "p peak"},
            {5, "f next flush"},
            {6, "l next loss"},
            {7, "s sort"},
            {7, "/ filter"},
            {8, "t c m g view"}};
}

std::vector<std::string> replay_help() {
    return {"space  play, pause",  ", .  a tick back, forward", "left right  5 s",      "0-9  to that tenth",
            "+ -  faster, slower", "p  to the peak lag",        "f  to the next flush", "l  to the next loss",
            "Tab  next process",   "? h F1  help   q  quit"};
}

}  // namespace rsslag::screen
