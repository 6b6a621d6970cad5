// SPDX-License-Identifier: BSD-2-Clause
#include "probe/ring_size.h"

#include <gtest/gtest.h>

namespace rsslag::probe {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(RingSize, IsTwoMiBOnAFewCpus) {
    EXPECT_EQ(ring_size(0, 0, 4), 2 * kMiB);
    EXPECT_EQ(ring_size(0, 0, 32), 2 * kMiB);
}

TEST(RingSize, LetsNoNumberOfCpusTakeMoreThanTheSum) {
    for (std::size_t buffers = 1; buffers <= 64; ++buffers) {
        EXPECT_LE(ring_size(0, 0, buffers) * buffers, 64 * kMiB) << buffers;
        EXPECT_LE(ring_size(0, 16 * kMiB, buffers) * buffers, 16 * kMiB) << buffers;
    }
    EXPECT_EQ(ring_size(0, 0, 64), kMiB) << "32 rings, each with an update buffer";
}

TEST(RingSize, TheRingOfSamplesIsPartOfTheSum) {
    EXPECT_EQ(sample_ring_size(8 * kMiB, 0), 8 * kMiB);
    EXPECT_EQ(sample_ring_size(100 * kMiB, 0), 128 * kMiB);
    EXPECT_EQ(sample_ring_size(8 * kMiB, 1024 * kMiB), 8 * kMiB);
    EXPECT_EQ(sample_ring_size(8 * kMiB, kMiB), kMiB / 8);
    for (const std::size_t memory : {std::size_t{0}, kMiB, 3 * kMiB, 16 * kMiB}) {
        for (std::size_t buffers = 1; buffers <= 64; ++buffers) {
            const std::size_t samples = sample_ring_size(8 * kMiB, memory);
            const std::size_t all = ring_size(0, memory, buffers, samples) * buffers + samples;
            EXPECT_LE(all, memory != 0 ? memory : 64 * kMiB) << buffers;
        }
    }
}

TEST(RingSize, IsAsRequested) {
    EXPECT_EQ(ring_size(8 * kMiB, 0, 64), 8 * kMiB);
    EXPECT_EQ(ring_size(1, 0, 2), 4096U);
    EXPECT_EQ(ring_size(0, 256 * kMiB, 4), 64 * kMiB);
}

}  // namespace
}  // namespace rsslag::probe
