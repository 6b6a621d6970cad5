// SPDX-License-Identifier: BSD-2-Clause
// The shipped recordings, which every later version must read: Linux 6.1, the `thread` scheme.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "../paths.h"
#include "recording/columns.h"
#include "traces.h"

namespace rsslag::recording {
namespace {

using test::input_of;
using test::read_all;
using test::Reported;

constexpr std::uint64_t kClassicRecords = 28521;

Bytes shipped(const std::string &name) {
    std::ifstream file(source_path("docs/recordings/") + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Shipped, RecordingsAreReadToTheirEnd) {
    for (const auto &[name, records] :
         {std::pair("classic-6.1.rsslag", kClassicRecords), std::pair("quiet-6.1.rsslag", std::uint64_t{0})}) {
        const Bytes bytes = shipped(name);
        const Reported reported = read_all(bytes);
        ASSERT_TRUE(reported.opened) << reported.error.what;
        EXPECT_TRUE(reported.complete) << name;
        EXPECT_TRUE(reported.missing.empty()) << name;
        EXPECT_EQ(count_records(reported.records), records) << name;
        const auto reader = Reader::open(input_of(bytes), name);
        ASSERT_TRUE(reader);
        EXPECT_EQ(reader->header().kernel, "6.1.0-50-amd64");
        EXPECT_EQ(reader->header().host, "classic");
    }
}

TEST(Shipped, RecordingTruncatedAtAnyByteHasItsWholeChunks) {
    const Bytes bytes = shipped("quiet-6.1.rsslag");
    const std::size_t all = read_all(bytes).events;
    std::size_t before = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const Reported reported = read_all(bytes.substr(0, size));
        if (!reported.opened) {
            EXPECT_EQ(reported.error.kind, core::Kind::Corrupt) << size;
            EXPECT_EQ(before, 0U) << size;
            continue;
        }
        EXPECT_FALSE(reported.complete) << size;
        ASSERT_EQ(reported.missing.size(), 1U) << size;
        EXPECT_GE(reported.events, before) << size;
        before = reported.events;
    }
    EXPECT_GT(before, 0U);
    EXPECT_EQ(before, all) << "a file that is truncated within its end has all events";
}

TEST(Shipped, RecordingWithAFlippedBitMissesOneChunkOfTheClassic) {
    constexpr std::size_t kStep = 997;
    const Bytes bytes = shipped("classic-6.1.rsslag");
    for (std::size_t i = 0; i < bytes.size(); i += kStep) {
        Bytes flipped = bytes;
        flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
        const Reported reported = read_all(flipped);
        ASSERT_TRUE(misses_one_damaged_chunk(reported)) << i;
        EXPECT_EQ(count_records(reported.records) + reported.missing.front().records.value_or(0), kClassicRecords) << i;
    }
}

}  // namespace
}  // namespace rsslag::recording
