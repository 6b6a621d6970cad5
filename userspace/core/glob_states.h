// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rsslag::core {

/// Shell patterns as a nondeterministic automaton that a BPF program can run: one bit for each state. A byte moves each
/// active state to the next one if takes[byte] has its bit, and keeps it active if `loops` has its bit (before a '*').
struct GlobStates {
    std::uint64_t start = 0;
    std::uint64_t loops = 0;
    std::uint64_t ends = 0;  ///< a name matches if one of these is active after its last byte
    std::array<std::uint64_t, 256> takes{};

    /// Runs the automaton as the BPF program does.
    bool match(const std::string &name) const;
};

/// An automaton that matches the same names as fnmatch() does with any of the patterns. It may miss names with bytes
/// beyond ASCII. nullopt: the patterns need more than 64 states, contain bytes beyond ASCII or an unterminated escape
/// or bracket, or there is no pattern.
std::optional<GlobStates> glob_states(const std::vector<std::string> &globs);

}  // namespace rsslag::core
