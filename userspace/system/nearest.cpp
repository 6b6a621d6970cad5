// SPDX-License-Identifier: BSD-2-Clause
#include "system/nearest.h"

#include <algorithm>
#include <cstddef>

namespace rsslag::system {
namespace {

constexpr std::size_t kLongest = 64;  ///< longer names are not compared: the effort is the product of both lengths

/// The optimal string alignment distance: Damerau's edits, none of them within another.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                least[i][j] = i + j;
                continue;
            }
            least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1,
                                    least[i - 1][j - 1] + static_cast<std::size_t>(a[i - 1] != b[j - 1])});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
        }
    }
    return least[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string> &known) {
    if (word.size() < 2 || word.size() > kLongest) return std::nullopt;
    const std::string *best = nullptr;
    std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string &each : known) {
        if (each.size() < 2 || each.size() > kLongest || each == word) continue;
        const std::size_t needed = edits(word, each);
        if (needed < fewest && needed < each.size()) {
            fewest = needed;
            best = &each;
        }
    }
    if (best != nullptr) return *best;
    for (const std::string &each : known) {
        if (word.size() < 3 || !each.starts_with(word)) continue;
        if (best != nullptr && *best != each) return std::nullopt;
        best = &each;
    }
    return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace rsslag::system
