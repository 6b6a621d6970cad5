// SPDX-License-Identifier: BSD-2-Clause
#include "recording/memory_segments.h"

#include <gtest/gtest.h>

#include "traces.h"

namespace rsslag::recording {
namespace {

constexpr std::size_t kMost = std::size_t{64} << 10;
constexpr std::size_t kEach = 200;

Header numbered(std::uint64_t number) {
    Header header = test::header();
    header.segment = number;
    return header;
}

/// A part of a fault storm, different in each call.
event::Records storm(std::uint64_t i) {
    return {0, test::storm(static_cast<int>(i % 3), kEach, 1'000'000'000 + i * i * 7919)};
}

std::size_t records_in(Input input, std::uint64_t *segment = nullptr) {
    auto reader = Reader::open(std::move(input), "it");
    EXPECT_TRUE(reader);
    if (segment != nullptr) *segment = reader->header().segment;
    std::size_t bytes = 0;
    while (auto next = reader->next()) {
        if (const auto *const records = std::get_if<event::Records>(&std::get<event::Event>(*next)))
            bytes += records->bytes.size();
    }
    EXPECT_TRUE(reader->complete());
    return bytes / sizeof(rsslag_update);
}

TEST(MemorySegments, KeepTheNewestWithinTheirBytes) {
    MemorySegments memory(kMost);
    std::uint64_t segments = 0;
    constexpr std::uint64_t kRounds = 2'000;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
        if (memory.full()) memory.begin(numbered(segments++));
        ASSERT_TRUE(memory.add(storm(i)));
        ASSERT_LE(memory.bytes(), kMost);
    }
    const auto kept = memory.segments();
    ASSERT_GT(kept.size(), 4U);
    EXPECT_LT(kept.size(), segments);
    std::size_t records = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        std::uint64_t number = 0;
        records += records_in(kept[i], &number);
        EXPECT_EQ(number, segments - kept.size() + i);
    }
    EXPECT_LT(records, kRounds * kEach);
    EXPECT_GT(records * sizeof(rsslag_update), kMost) << "the unpacked records are larger than the limit";
}

TEST(MemorySegments, AcceptNothingBeforeTheFirstStartOrBeyondTheLimit) {
    MemorySegments memory(kMost);
    EXPECT_TRUE(memory.full());
    EXPECT_FALSE(memory.add(storm(0)));
    EXPECT_TRUE(memory.segments().empty());
    memory.begin(numbered(0));
    std::uint64_t taken = 0;
    while (memory.add(storm(taken)))
        ++taken;
    EXPECT_TRUE(memory.full());
    EXPECT_LE(memory.bytes(), kMost);
    EXPECT_EQ(records_in(memory.segments().at(0)), taken * kEach);
}

TEST(MemorySegments, CanBeReadWhileTheyGoOn) {
    MemorySegments memory(kMost);
    memory.begin(numbered(0));
    ASSERT_TRUE(memory.add(storm(0)));
    const auto early = memory.segments();
    ASSERT_TRUE(memory.add(storm(1)));
    memory.begin(numbered(1));
    EXPECT_EQ(records_in(early.at(0)), kEach);
    const auto late = memory.segments();
    ASSERT_EQ(late.size(), 2U);
    EXPECT_EQ(records_in(late[0]), 2 * kEach);
    EXPECT_EQ(records_in(late[1]), 0U);
}

}  // namespace
}  // namespace rsslag::recording
