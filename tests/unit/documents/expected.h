// SPDX-License-Identifier: BSD-2-Clause
// Helpers of tests of texts and documents.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "documents/snapshot.h"

namespace rsslag::documents::test {

inline TextStyle ascii_style() {
    TextStyle style;
    style.utf8 = false;
    return style;
}

inline bool contains(const std::string &text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

inline std::size_t count(const std::string &text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++found;
    return found;
}

inline bool is_ascii(const std::string &text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); });
}

/// Names of an object's keys, in their order.
using Keys = std::vector<std::string>;

inline Keys keys(const nlohmann::ordered_json &object) {
    Keys keys;
    for (const auto &item : object.items())
        keys.push_back(item.key());
    return keys;
}

inline const Keys kMemberKeys{"file", "anon", "shmem", "swap", "rss"};

}  // namespace rsslag::documents::test
