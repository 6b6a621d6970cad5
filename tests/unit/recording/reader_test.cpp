// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/recording/reader.h"

#include <gtest/gtest.h>

#include "assembler.h"
#include "traces.h"

namespace rsslag::recording {
namespace {

using test::read_all;
using test::small_trace;
using test::Told;

constexpr int kChunks = 4;
constexpr std::size_t kChunkRecords = 5 * sizeof(rsslag_update);

/// Records that were read are whole chunks of what was written, in their order.
bool is_part(const std::vector<std::byte> &read, const std::vector<std::byte> &written) {
    if (read.size() % kChunkRecords != 0) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < read.size(); i += kChunkRecords) {
        const auto begin = read.begin() + static_cast<std::ptrdiff_t>(i);
        while (at < written.size() &&
               !std::equal(begin, begin + kChunkRecords, written.begin() + static_cast<std::ptrdiff_t>(at)))
            at += kChunkRecords;
        if (at == written.size()) return false;
        at += kChunkRecords;
    }
    return true;
}

TEST(Reader, TellsAllThatWasWritten) {
    const Told told = read_all(small_trace(kChunks));
    ASSERT_TRUE(told.opened);
    EXPECT_TRUE(told.complete);
    EXPECT_TRUE(told.missing.empty());
    EXPECT_EQ(told.records.size(), kChunks * kChunkRecords);
    EXPECT_EQ(told.items, kChunks * 4U);
}

TEST(Reader, OfAFileCutAtAnyByteTellsAllWholeChunksAndWhatIsMissing) {
    const Bytes bytes = small_trace(kChunks);
    const Told all = read_all(bytes);
    std::size_t before = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const Told told = read_all(bytes.substr(0, size));
        if (!told.opened) {
            EXPECT_EQ(told.error.kind, core::Kind::Corrupt) << size;
            EXPECT_EQ(before, 0U) << size;
            continue;
        }
        EXPECT_FALSE(told.complete) << size;
        ASSERT_EQ(told.missing.size(), 1U) << size;
        EXPECT_FALSE(told.missing.front().to_ns) << size;
        EXPECT_GE(told.records.size(), before) << size;
        EXPECT_TRUE(is_part(told.records, all.records)) << size;
        before = told.records.size();
    }
    EXPECT_EQ(before, all.records.size());
}

TEST(Reader, NoticesAnyFlippedBitAndReadsAllOtherChunks) {
    const Bytes bytes = small_trace(kChunks);
    const Told all = read_all(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (int bit = 0; bit < 8; ++bit) {
            Bytes flipped = bytes;
            flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
            const Told told = read_all(flipped);
            ASSERT_TRUE(told.opened) << i << ' ' << told.error.what;
            EXPECT_FALSE(told.complete) << i;
            ASSERT_EQ(told.missing.size(), 1U) << i;
            EXPECT_NE(told.missing.front().reason.find("damaged"), std::string::npos) << told.missing.front().reason;
            EXPECT_GE(told.records.size(), (kChunks - 1) * kChunkRecords) << i;
            EXPECT_TRUE(is_part(told.records, all.records)) << i;
            const std::size_t missing = (all.records.size() - told.records.size()) / sizeof(rsslag_update);
            if (missing > 0) {
                EXPECT_EQ(told.missing.front().records, missing) << i;
            }
        }
    }
}

TEST(Reader, SkipsChunksOfAKindThatIsNotKnown) {
    Bytes bytes;
    Assembler assembler([&bytes](const Bytes &more) { bytes += more; });
    assembler.begin(test::header());
    ChunkInfo later;
    later.kind = 77;
    later.number = 2;
    bytes += make_chunk(later, "what a later version tells");
    ChunkInfo end;
    end.kind = static_cast<std::uint32_t>(ChunkKind::End);
    end.number = 3;
    bytes += make_chunk(end, "");
    const Told told = read_all(bytes);
    EXPECT_TRUE(told.complete);
    EXPECT_TRUE(told.missing.empty());
}

TEST(Reader, RefusesALaterVersionByItsNumber) {
    const Bytes bytes = make_prologue(kVersion + 1) + small_trace(1).substr(kPrologue);
    const Told told = read_all(bytes);
    ASSERT_FALSE(told.opened);
    EXPECT_EQ(told.error.kind, core::Kind::BadInput);
    EXPECT_NE(told.error.what.find("version 2"), std::string::npos);
}

TEST(Reader, RefusesWhatIsNoRecording) {
    EXPECT_EQ(read_all("").error.what, "it is empty");
    EXPECT_EQ(read_all("{\"schema\":\"rsslag.tick/1\"}\n and more").error.what, "it is no recording");
    EXPECT_EQ(read_all(Bytes(kMagic)).error.what, "it ends within its head");
}

TEST(Reader, NamesChunksThatAreNotThere) {
    const Bytes bytes = small_trace(1);
    Bytes without;
    Assembler assembler([&without](const Bytes &more) {
        if (!more.starts_with(kChunkMagic) || read_chunk_header(more)->number != 3) without += more;
    });
    assembler.begin(test::header());
    for (int i = 0; i < 3; ++i) {
        assembler.add(Records{0, test::storm(0, 5, 1)});
        assembler.close();
    }
    assembler.end();
    const Told told = read_all(without);
    ASSERT_EQ(told.missing.size(), 1U);
    EXPECT_EQ(told.missing.front().records, 5U);
    EXPECT_EQ(told.records.size(), 2 * kChunkRecords);
}

}  // namespace
}  // namespace rsslag::recording
