// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

/// All pages of the program and its libraries, whatever a thread will run of them: where the page cache was cold, what
/// fault-around maps with the code of the first rounds is not all of it. Before any thread, as what can be written is.
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
