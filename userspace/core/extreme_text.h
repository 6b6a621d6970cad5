// SPDX-License-Identifier: BSD-2-Clause
// Extremes as text.
#pragma once

#include <string>
#include <string_view>

#include "core/ledger.h"

namespace rsslag::core {

/// "417,612 kB"; "417,000 kB to 417,612 kB" if several CPUs changed the rss concurrently; "at least ..." if records
/// were lost. `amount` formats Pages.
template <class Amount>
std::string peak_range_text(const Extremes &extremes, const Amount &amount) {
    const Extreme &most = extremes.most;
    if (extremes.lossy) return "at least " + amount(most.from);
    return most.from == most.to ? amount(most.to) : amount(most.from) + " to " + amount(most.to);
}

/// peak_range_text() for use in a sentence: "at most 417,612 kB".
template <class Amount>
std::string at_most_text(const Extremes &extremes, const Amount &amount) {
    return (extremes.lossy ? "" : "at most ") + peak_range_text(extremes, amount);
}

/// The mark before a number that lost records may have changed.
constexpr std::string_view approximate_mark(bool approximate) {
    return approximate ? "~" : "";
}

/// Why extremes are lossy.
constexpr std::string_view loss_text(bool read_late) {
    return read_late ? "updates came before the first reading" : "records were lost";
}

/// The state's name; "image 0" for what a fork held before its first exec.
inline std::string_view state_text(State state, const Extremes &extremes) {
    return extremes.image == 0 ? "image 0" : name(state);
}

}  // namespace rsslag::core
