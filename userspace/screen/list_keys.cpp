// SPDX-License-Identifier: BSD-2-Clause
#include "list_keys.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "documents/grid.h"

namespace rsslag::screen {

std::optional<std::int64_t> move_of(const Key &key) {
    constexpr std::int64_t kPage = 10;
    constexpr std::int64_t kAll = std::int64_t{1} << 40;
    switch (key.name) {
        case Key::Name::Up: return -1;
        case Key::Name::Down: return 1;
        case Key::Name::PageUp: return -kPage;
        case Key::Name::PageDown: return kPage;
        case Key::Name::Home: return -kAll;
        case Key::Name::End: return kAll;
        case Key::Name::Character:
            if (key.character == U'k') return -1;
            if (key.character == U'j') return 1;
            return std::nullopt;
        default: return std::nullopt;
    }
}

Key known_key(const Key &key) {
    const bool h = key.name == Key::Name::Character && key.character == U'h';
    return h || key.name == Key::Name::Help ? Key{Key::Name::Character, U'?'} : key;
}

std::optional<std::int64_t> match_move_of(const Key &key, std::size_t selected, std::size_t count) {
    if (key.name != Key::Name::Character) return std::nullopt;
    const auto at = static_cast<std::int64_t>(selected);
    const auto last = static_cast<std::int64_t>(count) - 1;
    if (key.character == U'n') return at >= last ? -at : 1;
    if (key.character == U'N') return at <= 0 ? last : -1;
    return std::nullopt;
}

bool matches_filter(std::string_view comm, int number, std::string_view filter) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return filter.empty() || std::search(comm.begin(), comm.end(), filter.begin(), filter.end(), same) != comm.end() ||
           std::to_string(number).starts_with(filter);
}

bool edit_filter(std::string &filter, const Key &key) {
    constexpr std::size_t kLongest = 64;
    switch (key.name) {
        case Key::Name::Enter: return true;
        case Key::Name::Escape: filter.clear(); return true;
        case Key::Name::Backspace:
            while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xC0) == 0x80)
                filter.pop_back();
            if (!filter.empty()) filter.pop_back();
            return false;
        case Key::Name::Character:
            if (key.character >= 0x20 && filter.size() < kLongest) filter += documents::utf8_of(key.character);
            return false;
        default: return false;
    }
}

std::chrono::milliseconds stepped(std::chrono::milliseconds interval, bool up) {
    static constexpr std::array<int, 11> kSteps{10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10'000, 60'000};
    const auto now = static_cast<int>(interval.count());
    if (up) {
        const auto *const next = std::upper_bound(kSteps.begin(), kSteps.end(), now);
        return std::chrono::milliseconds(next == kSteps.end() ? std::max(now, kSteps.back()) : *next);
    }
    const auto *const at = std::lower_bound(kSteps.begin(), kSteps.end(), now);
    return std::chrono::milliseconds(at == kSteps.begin() ? kSteps.front() : *(at - 1));
}

}  // namespace rsslag::screen
