// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace rsslag::probe {

/// The size of each ring, and of each update buffer. `ring`: as requested, or 0; then `buffers` of them together take
/// at most `memory`. If that is 0, too, they take at most 64 MiB, and 2 MiB each. Pure.
constexpr std::size_t ring_size(std::size_t ring, std::size_t memory, std::size_t buffers) {
    constexpr std::size_t kPage = 4096, kMiB = std::size_t{1} << 20;
    constexpr std::size_t kMostInAll = 64 * kMiB, kUsual = 2 * kMiB, kMost = 1024 * kMiB;
    if (ring != 0) return std::max(ring, kPage);
    const std::size_t share = std::bit_floor((memory != 0 ? memory : kMostInAll) / std::max<std::size_t>(buffers, 1));
    return std::clamp(share, kPage, memory != 0 ? kMost : kUsual);
}

}  // namespace rsslag::probe
