// SPDX-License-Identifier: BSD-2-Clause
#include "core/mm_id.h"

#include <gtest/gtest.h>

#include <string>

namespace rsslag::core {
namespace {

constexpr IdKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

/// The vector of the reference implementation for the 16 bytes 00 to 0f.
TEST(MmId, IsSipHash) {
    EXPECT_EQ(sip_hash(kKey, 0x0706050403020100, 0x0f0e0d0c0b0a0908), 0x3f2acc7f57c29bdbU);
}

TEST(MmId, DependsOnBothHalvesOfTheKey) {
    constexpr std::uint64_t kMm = 0xffff888100000000;
    EXPECT_NE(mm_id(kKey, kMm), mm_id({kKey.first, 0}, kMm));
    EXPECT_NE(mm_id(kKey, kMm), mm_id({0, kKey.second}, kMm));
    EXPECT_NE(mm_id(kKey, kMm), mm_id(kKey, kMm, 1));
    EXPECT_EQ(mm_id(kKey, kMm), mm_id(kKey, kMm, 0));
}

std::uint64_t unshifted(std::uint64_t x, int by) {
    std::uint64_t out = x;
    for (int done = by; done < 64; done += by)
        out = x ^ (out >> by);
    return out;
}

/// The ids were the finalizer of splitmix64 of the address XOR the key, which can be computed backwards.
TEST(MmId, DoesNotGiveTheDifferenceOfTwoAddresses) {
    const auto backwards = [](const std::string &id) {
        std::uint64_t x = unshifted(std::stoull(id, nullptr, 16), 31) * 0x319642b2d24d8ec3;
        x = unshifted(x, 27) * 0x96de1b173f119089;
        return unshifted(x, 30);
    };
    constexpr std::uint64_t kMm = 0xffff888100000000, kOther = 0xffff888100347840;
    EXPECT_NE(backwards(mm_id(kKey, kMm)) ^ backwards(mm_id(kKey, kOther)), kMm ^ kOther);
}

}  // namespace
}  // namespace rsslag::core
