// SPDX-License-Identifier: BSD-2-Clause
#include "core/fifo.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>

namespace rsslag::core {
namespace {

TEST(Fifo, KeepsOrderAndNumbers) {
    Fifo<std::unique_ptr<int>> fifo;
    std::deque<int> same;
    std::mt19937 dice(1);
    std::uint64_t pushed = 0, popped = 0;
    for (int i = 0; i < 20'000; ++i) {
        // The queue grows and shrinks alternately.
        if (same.empty() || dice() % 8 > static_cast<unsigned>(i / 1'000 % 8)) {
            EXPECT_EQ(fifo.next_number(), pushed);
            fifo.push(std::make_unique<int>(i));
            same.push_back(i);
            ++pushed;
        } else {
            EXPECT_EQ(fifo.next_number() - fifo.size(), popped);
            EXPECT_EQ(*fifo.front(), same.front());
            EXPECT_EQ(*fifo.pop(), same.front());
            same.pop_front();
            ++popped;
        }
        ASSERT_EQ(fifo.size(), same.size());
        ASSERT_EQ(fifo.empty(), same.empty());
        if (same.empty()) continue;
        const std::size_t any = dice() % same.size();
        ASSERT_EQ(*fifo[popped + any], same[any]);
        ASSERT_EQ(*fifo[pushed - 1], same.back());
    }
    const auto equal = [](const std::unique_ptr<int> &one, int other) { return *one == other; };
    EXPECT_TRUE(std::equal(fifo.begin(), fifo.end(), same.begin(), same.end(), equal));
    EXPECT_GT(popped, 5'000U);
}

using Line = std::array<std::byte, 64>;

std::size_t allocated_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST(Fifo, TakesAtMostTwiceTheMemoryOfItsElements) {
    constexpr std::size_t kLive = 100'000;
    const std::size_t before = allocated_bytes();
    if (before == 0) GTEST_SKIP() << "this allocator does not count bytes";
    Fifo<Line> fifo;
    std::size_t most = 0;
    for (std::size_t i = 0; i < 10 * kLive; ++i) {
        fifo.push({});
        if (fifo.size() > kLive) fifo.pop();
        if (i % 1'000 == 0) most = std::max(most, allocated_bytes() - before);
    }
    EXPECT_LT(most, 2 * kLive * sizeof(Line));
    while (!fifo.empty())
        fifo.pop();
    EXPECT_LT(allocated_bytes() - before, kLive) << "the memory of a long queue is released";
}

}  // namespace
}  // namespace rsslag::core
