// SPDX-License-Identifier: BSD-2-Clause
#include "drawn_screen.h"

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "text_checks.h"

namespace rsslag::fuzz {
namespace {

using Name = screen::Key::Name;

constexpr std::array<documents::Size, 6> kSizes{{{1, 1}, {2, 7}, {5, 20}, {24, 80}, {50, 200}, {200, 3}}};
constexpr std::u32string_view kKeys = U"sjktcm/+-wrh?fleGg ,.<>[]npx0";
constexpr std::uint64_t kNamed = static_cast<std::uint64_t>(Name::Tab) + 1;  // Character is typed separately
constexpr std::uint64_t kMostDraws = 8;

screen::ScreenFacts screen_facts(const recording::Header &header, const core::Machine &machine) {
    using std::chrono::system_clock;
    screen::ScreenFacts facts;
    facts.kernel = header.kernel;
    facts.machine = machine;
    facts.boot = system_clock::time_point(
        std::chrono::duration_cast<system_clock::duration>(std::chrono::nanoseconds(header.boot_unix_ns)));
    facts.clock_ticks = header.clock_ticks;
    facts.interval = std::chrono::milliseconds(header.interval_ms);
    facts.walks = header.walk;
    facts.playback = screen::Playback{};
    return facts;
}

}  // namespace

DrawnScreen::DrawnScreen(const recording::Header &header, const core::Machine &machine, std::uint64_t seed)
    : screen_(screen_facts(header, machine), {}), state_(seed | 1) {}

/// xorshift64, so that the same input always has the same result.
std::uint64_t DrawnScreen::next(std::uint64_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % below;
}

void DrawnScreen::type() {
    screen::Key key;
    if (next(2) == 0) {
        key.name = static_cast<Name>(1 + next(kNamed - 1));
    } else {
        key.character = kKeys[next(kKeys.size())];
    }
    (void)screen_.key(key);
}

void DrawnScreen::draw(documents::Size size) {
    const documents::Grid grid = screen_.draw(size, std::chrono::milliseconds(next(5000)));
    require(grid.size() == size);
    for (int row = 0; row < size.rows; ++row) {
        const std::string text = grid.row_text(row);
        require_harmless(text);
        require(text.find('\n') == std::string::npos);
        require(documents::cells(text) == size.columns);
    }
}

void DrawnScreen::take(core::Tick tick) {
    constexpr std::uint64_t kRewinds = 50;
    screen_.take(screen::Playback{tick.t_ns, tick.t_ns, 1, true});
    screen_.take(std::move(tick));
    if (draws_ >= kMostDraws || next(++ticks_) > 8) return;  // the more ticks, the fewer of them are drawn
    draws_++;
    type();
    draw(kSizes[next(kSizes.size())]);
    if (next(kRewinds) == 0) screen_.rewind();
}

void DrawnScreen::end() {
    type();
    draw({1, 1});
    draw(kSizes[next(kSizes.size())]);
}

}  // namespace rsslag::fuzz
