// SPDX-License-Identifier: BSD-2-Clause
// Extremes as text.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/ledger.h"
#include "core/text.h"

namespace rsslag::core {

/// "417,612 kB"; "417,000 kB to 417,612 kB" if several CPUs changed the rss concurrently; "~417,612 kB" if the latest
/// updates are not settled; "at least ..." if records were lost. `amount` formats Pages.
template <class Amount>
std::string peak_range_text(const Extremes &extremes, const Amount &amount) {
    const Extreme &most = extremes.most;
    if (extremes.lossy) return "at least " + amount(most.from);
    if (most.from == most.to) return amount(most.to);
    return extremes.open ? "~" + amount(most.likely()) : amount(most.from) + " to " + amount(most.to);
}

/// peak_range_text() for use in a sentence: "at most 417,612 kB".
template <class Amount>
std::string at_most_text(const Extremes &extremes, const Amount &amount) {
    return (extremes.lossy ? "" : "at most ") + peak_range_text(extremes, amount);
}

/// A line with the peak of the sum over all mms, which was at `when`.
template <class Amount>
std::string tree_text(const Extremes &all, const Amount &amount, std::string_view when) {
    return fmt::format("tree peak {} at {} with {} process{}; pages shared copy-on-write are counted in each\n",
                       peak_range_text(all, amount), when, all.most.processes, all.most.processes == 1 ? "" : "es");
}

/// " as sh" if the peak was that of an earlier program of the process, which is now named `comm`.
inline std::string program_text(const Extremes &extremes, std::string_view comm, bool utf8) {
    return extremes.comm.empty() || extremes.comm == comm ? "" : " as " + printable(extremes.comm, utf8);
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
