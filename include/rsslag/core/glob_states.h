// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rsslag::core {

/// Shell patterns as something that a BPF program can run: states in a word, one bit each. From all states that hold, a
/// byte leads to the next one where takes[byte] has the state's bit, and back to itself where `loops` has it.
struct GlobStates {
    std::uint64_t start = 0;
    std::uint64_t loops = 0;
    std::uint64_t ends = 0;  ///< a name matches where one of these holds after its last byte
    std::array<std::uint64_t, 256> takes{};

    bool match(const std::string &name) const;
};

/// States that match what fnmatch() matches with any of the patterns, and nothing else; of names with bytes beyond
/// ASCII maybe less. nullopt: more than 64 states, bytes beyond ASCII, an escape or a bracket without an end, or no
/// pattern at all.
std::optional<GlobStates> glob_states(const std::vector<std::string> &globs);

}  // namespace rsslag::core
