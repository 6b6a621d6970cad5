// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace rsslag::probe {

/// The most that all buffers take if the user chooses nothing.
inline constexpr std::size_t kMostInAll = std::size_t{64} << 20;

/// The size of the ring of samples: `most`, rounded up to a power of two, but at most an eighth of `memory` if that is
/// not 0. It has space for a sample with the largest stack. Pure.
constexpr std::size_t sample_ring_size(std::size_t most, std::size_t memory) {
    constexpr std::size_t kLeast = std::size_t{64} << 10;
    const std::size_t whole = std::max(std::bit_ceil(most), kLeast);
    return memory != 0 ? std::clamp(std::bit_floor(memory / 8), kLeast, whole) : whole;
}

/// The size of each ring and of each update buffer, in bytes. It is `ring` if that is not 0. Otherwise it is the
/// largest power of two with which `buffers` of them and the `others` bytes of other rings take at most `memory`. If
/// `memory` is 0, too, they take at most kMostInAll, and each at most 2 MiB. At least one page. Pure.
constexpr std::size_t ring_size(std::size_t ring, std::size_t memory, std::size_t buffers, std::size_t others = 0) {
    constexpr std::size_t kPage = 4096, kMiB = std::size_t{1} << 20;
    constexpr std::size_t kUsual = 2 * kMiB, kMost = 1024 * kMiB;
    if (ring != 0) return std::max(ring, kPage);
    const std::size_t all = (memory != 0 ? memory : kMostInAll) - others;
    const std::size_t share = std::bit_floor(all / std::max<std::size_t>(buffers, 1));
    return std::clamp(share, kPage, memory != 0 ? kMost : kUsual);
}

}  // namespace rsslag::probe
