// SPDX-License-Identifier: BSD-2-Clause
#include "core/glob_states.h"

#include <fnmatch.h>

#include <algorithm>

namespace rsslag::core {
namespace {

constexpr int kStates = 64;
constexpr int kAscii = 128;

/// Length of the element at `at`, which matches one byte: a letter, '?', an escape or a bracket. 0: not terminated.
std::size_t element_length(const std::string &glob, std::size_t at) {
    if (glob[at] == '\\') return at + 1 < glob.size() ? 2 : 0;
    if (glob[at] != '[') return 1;
    std::size_t end = at + 1;
    if (end < glob.size() && (glob[end] == '!' || glob[end] == '^')) ++end;
    if (end < glob.size() && glob[end] == ']') ++end;
    while (end < glob.size() && glob[end] != ']') {
        if (glob[end] == '\\') ++end;
        if (end + 1 < glob.size() && glob[end] == '[' && std::string(":.=").find(glob[end + 1]) != std::string::npos) {
            const std::size_t close = glob.find({glob[end + 1], ']'}, end + 2);
            if (close == std::string::npos) return 0;
            end = close + 1;
        }
        ++end;
    }
    return end < glob.size() ? end + 1 - at : 0;
}

/// Appends a pattern's states. Returns false if there is no space, or if the pattern is malformed or not ASCII.
bool append(GlobStates &states, int &used, const std::string &glob) {
    if (std::any_of(glob.begin(), glob.end(), [](char c) { return static_cast<unsigned char>(c) >= kAscii; }))
        return false;
    if (used >= kStates) return false;
    states.start |= 1ULL << used;
    for (std::size_t at = 0; at < glob.size();) {
        if (glob[at] == '*') {
            states.loops |= 1ULL << used;
            ++at;
            continue;
        }
        const std::size_t length = element_length(glob, at);
        if (length == 0 || used + 1 >= kStates) return false;
        const std::string element = glob.substr(at, length);
        for (int byte = 1; byte < kAscii; ++byte) {
            const char name[] = {static_cast<char>(byte), '\0'};
            if (fnmatch(element.c_str(), name, 0) == 0) states.takes[static_cast<std::size_t>(byte)] |= 1ULL << used;
        }
        ++used;
        at += length;
    }
    states.ends |= 1ULL << used++;
    return true;
}

}  // namespace

bool GlobStates::match(const std::string &name) const {
    std::uint64_t now = start;
    for (const char c : name) {
        now = (now & takes[static_cast<unsigned char>(c)]) << 1 | (now & loops);
    }
    return (now & ends) != 0;
}

std::optional<GlobStates> glob_states(const std::vector<std::string> &globs) {
    GlobStates states;
    int used = 0;
    for (const std::string &glob : globs) {
        if (!append(states, used, glob)) return std::nullopt;
    }
    if (states.ends == 0) return std::nullopt;
    return states;
}

}  // namespace rsslag::core
