// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

/// Touches all pages of the program and its libraries. A fault maps only those neighbouring pages that are in the page
/// cache, so code that was run once may still cause faults later. Also writes to the writable pages, so call it before
/// any thread is started.
inline bool touch_program() {
    constexpr std::uintptr_t kPage = 4096;
    std::FILE *const maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr) return false;
    std::array<char, 4096 + 256> line{};
    while (std::fgets(line.data(), line.size(), maps) != nullptr) {
        std::uintptr_t begin = 0, end = 0;
        std::array<char, 5> may{};
        const int fields = std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, may.data());
        const bool of_a_file = std::strchr(line.data(), '/') != nullptr;
        if (fields != 3 || may[0] != 'r' || !of_a_file) continue;
        for (std::uintptr_t at = begin; at < end; at += kPage) {
            auto *const byte = reinterpret_cast<volatile unsigned char *>(at);  // NOLINT(performance-no-int-to-ptr)
            const unsigned char value = *byte;
            if (may[1] == 'w') *byte = value;
        }
    }
    std::fclose(maps);
    return true;
}
