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

    bool match(const std::string &name) const;
};

/// Matches exactly the names that fnmatch() matches with any of the patterns, except that names with bytes beyond ASCII
/// may be missed. nullopt: more than 64 states, bytes beyond ASCII, an unterminated escape or bracket, or no pattern.
std::optional<GlobStates> glob_states(const std::vector<std::string> &globs);

}  // namespace rsslag::core
