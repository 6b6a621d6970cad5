// SPDX-License-Identifier: BSD-2-Clause
#include "recording/columns.h"

#include <gtest/gtest.h>

#include <random>

#include "traces.h"

namespace rsslag::recording {
namespace {

std::vector<std::byte> there_and_back(const std::vector<std::byte> &bytes) {
    std::vector<std::byte> back;
    std::span<const std::byte> rest = bytes;
    while (!rest.empty()) {
        Bytes packed;
        const Packed done = pack(rest, 12345, packed);
        EXPECT_GT(done.bytes, 0U);
        rest = rest.subspan(done.bytes);
        ByteReader in(packed);
        const auto unpacked = unpack(in, 12345);
        if (!unpacked) return {};
        back.insert(back.end(), unpacked->begin(), unpacked->end());
    }
    return back;
}

TEST(Columns, GiveEveryByteOfEveryKindBack) {
    const auto bytes = test::one_of_each();
    EXPECT_EQ(there_and_back(bytes), bytes);
}

TEST(Columns, GiveALongStormBackInTheOrderOfItsRing) {
    std::vector<std::byte> bytes = test::storm(0, 30'000, 5);
    const auto more = test::storm(3, 10'000, 9);
    bytes.insert(bytes.end(), more.begin(), more.end());
    EXPECT_EQ(there_and_back(bytes), bytes);
}

TEST(Columns, TakeFewBytesForARecordOfAStorm) {
    const auto bytes = test::storm(0, 10'000, 5);
    Bytes packed;
    EXPECT_EQ(pack(bytes, 0, packed).records, 10'000U);
    EXPECT_LT(packed.size(), 10'000U * 8);
}

TEST(Columns, KeepWhatIsNoRecordAsItIs) {
    std::vector<std::byte> bytes = test::storm(0, 3, 5);
    for (int i = 0; i < 11; ++i)
        bytes.push_back(static_cast<std::byte>(0xee));
    EXPECT_EQ(there_and_back(bytes), bytes);
}

TEST(Columns, GiveRandomRecordsBack) {
    std::mt19937_64 dice(7);
    std::vector<std::byte> bytes;
    for (int i = 0; i < 2'000; ++i) {
        rsslag_sum sum{};
        sum.kind = RSSLAG_SUM;
        sum.tid = static_cast<rsslag_s32>(dice() % 5);
        sum.t_ns = dice();
        sum.mm = dice() % 3;
        for (rsslag_s32 &cached : sum.cached)
            cached = static_cast<rsslag_s32>(dice());
        sum.updates = static_cast<rsslag_u32>(dice());
        sum.number = static_cast<rsslag_u32>(dice());
        sum.of = static_cast<rsslag_u16>(dice() % 4);
        test::append(bytes, sum);
        rsslag_update update{};
        update.kind = RSSLAG_UPDATE;
        update.tid = static_cast<rsslag_s32>(dice() % 5);
        update.t_ns = dice();
        update.address = dice() % 2 == 0 ? 0 : dice();
        update.count = static_cast<rsslag_s64>(dice());
        update.cached = static_cast<rsslag_s32>(dice());
        update.member = static_cast<rsslag_u8>(dice() % 4);
        test::append(bytes, update);
    }
    EXPECT_EQ(there_and_back(bytes), bytes);
}

TEST(Columns, CountWhatAProgramHasSentWithoutSumsThatGoOn) {
    std::vector<std::byte> bytes = test::storm(0, 4, 5);
    rsslag_sum sum{};
    sum.kind = RSSLAG_SUM;
    sum.flags = RSSLAG_PARTIAL;
    test::append(bytes, sum);
    EXPECT_EQ(count_records(bytes), 4U);
    Bytes packed;
    EXPECT_EQ(pack(bytes, 0, packed).records, 4U);
}

TEST(Columns, RefuseWhatIsCutAnywhere) {
    Bytes packed;
    pack(test::one_of_each(), 0, packed);
    for (std::size_t size = 0; size < packed.size(); ++size) {
        ByteReader in(std::string_view(packed).substr(0, size));
        EXPECT_FALSE(unpack(in, 0)) << size;
    }
}

}  // namespace
}  // namespace rsslag::recording
