// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/mapping_table.h"

#include <gtest/gtest.h>

#include "dice.h"

namespace rsslag::analysis {
namespace {

using core::MappingChange;
using Kind = MappingChange::Kind;

constexpr int kPid = 7;
constexpr std::uint8_t kData = core::MappingRead | core::MappingWrite;
constexpr std::uint64_t kArena = std::uint64_t{64} << 20;

MappingChange mapped(std::uint64_t start, std::uint64_t end, std::string name = "", std::uint8_t flags = kData) {
    MappingChange change;
    change.pid = change.tid = kPid;
    change.range = {start, end, flags, std::move(name)};
    return change;
}

class Table : public ::testing::Test {
  protected:
    std::string at(std::uint64_t address, int pid = kPid) { return std::string(table.name_at(pid, address)); }
    MappingTable table;
};

TEST_F(Table, HasNoMappingThatWasNotReported) {
    table.change(mapped(0x1000, 0x3000));
    EXPECT_EQ(at(0xfff), "(unknown)");
    EXPECT_EQ(at(0x1000), "(anonymous)");
    EXPECT_EQ(at(0x2fff), "(anonymous)");
    EXPECT_EQ(at(0x3000), "(unknown)");
    EXPECT_EQ(at(0x1000, 8), "(unknown)");
}

TEST_F(Table, NeverReportsAReusedAddressUnderItsOldName) {
    table.change(mapped(0x1000, 0x9000, "/lib/old.so"));
    EXPECT_EQ(at(0x5000), "/lib/old.so");
    table.change(mapped(0x4000, 0x6000));
    EXPECT_EQ(at(0x3fff), "/lib/old.so");
    EXPECT_EQ(at(0x4000), "(anonymous)");
    EXPECT_EQ(at(0x5fff), "(anonymous)");
    EXPECT_EQ(at(0x6000), "/lib/old.so");
    table.change(mapped(0, 0x10000, "/lib/new.so"));
    for (const std::uint64_t address : {0x0, 0x1000, 0x4000, 0x8fff, 0xffff})
        EXPECT_EQ(at(address), "/lib/new.so");
}

TEST_F(Table, AListingIsAllThereIs) {
    table.change(mapped(0x1000, 0x9000, "/lib/old.so"));
    table.list({0, kPid, {{{0x4000, 0x6000, kData, "[heap]"}, std::nullopt}}, {}});
    EXPECT_EQ(at(0x1000), "(unknown)");
    EXPECT_EQ(at(0x5000), "[heap]");
}

TEST_F(Table, KnowsAgainOnlyWhatHasThatVeryNameNow) {
    table.change(mapped(0x1000, 0x9000, "/lib/a.so"));
    EXPECT_TRUE(table.contains(kPid, mapped(0x1000, 0x9000, "/lib/a.so", 5).range));
    EXPECT_TRUE(table.contains(kPid, mapped(0x4000, 0x6000, "/lib/a.so").range));
    EXPECT_FALSE(table.contains(kPid, mapped(0x4000, 0xa000, "/lib/a.so").range))
        << "the range is longer than the mapping";
    EXPECT_FALSE(table.contains(kPid, mapped(0x0, 0x2000, "/lib/a.so").range));
    EXPECT_FALSE(table.contains(kPid, mapped(0x4000, 0x6000, "/lib/b.so").range));
    EXPECT_FALSE(table.contains(8, mapped(0x4000, 0x6000, "/lib/a.so").range));
    table.change(mapped(0x4000, 0x5000));
    EXPECT_FALSE(table.contains(kPid, mapped(0x3000, 0x6000, "/lib/a.so").range))
        << "another mapping is in the middle of the range";
    EXPECT_FALSE(table.contains(kPid, mapped(0x4000, 0x5000).range))
        << "the name of a mapping without a file depends on its shape";
}

/// Single pages that are not adjacent, so that none are merged.
core::MappingListing pages_apart(std::uint64_t count) {
    core::MappingListing listing;
    listing.pid = kPid;
    for (std::uint64_t i = 0; i < count; ++i)
        listing.entries.push_back({{i * 0x2000, i * 0x2000 + 0x1000, kData, ""}, std::nullopt});
    return listing;
}

TEST_F(Table, DoesNotGoThroughAllMappingsForEachOfManyWords) {
    constexpr std::uint64_t kCount = 65'000;
    table.list(pages_apart(kCount));
    MappingChange name = mapped(0, kCount * 0x2000, "[anon:first]");
    name.kind = Kind::Named;
    table.change(name);
    EXPECT_EQ(at((kCount - 1) * 0x2000), "[anon:first]");
    for (int i = 0; i < 200; ++i) {
        name.range.name = "[anon:number " + std::to_string(i) + "]";
        table.change(name);
    }
    EXPECT_NE(at((kCount - 1) * 0x2000), name.range.name) << "it visited 13 million entries for 201 changes";
    for (int i = 0; i < 100'000; ++i)  // many cheap changes allow a costly one
        table.change(mapped(kCount * 0x2000, kCount * 0x2000 + 0x1000));
    name.range = {(kCount - 1) * 0x2000, kCount * 0x2000, kData, "[anon:last]"};
    table.change(name);
    EXPECT_EQ(at((kCount - 1) * 0x2000), "[anon:last]");
}

TEST_F(Table, LimitsTheSizeOfAllNames) {
    constexpr std::uint64_t kCount = 40'000;  // 160 MB of names
    for (std::uint64_t i = 0; i < kCount; ++i)
        table.change(mapped(i * 0x2000, i * 0x2000 + 0x1000, "/" + std::string(4'000, 'x') + std::to_string(i)));
    EXPECT_EQ(at(0), "/" + std::string(4'000, 'x') + "0");
    EXPECT_EQ(at((kCount - 1) * 0x2000), "(unknown)");
    table.list(pages_apart(1));
    table.change(mapped(0x10000, 0x11000, "/lib/new.so"));
    EXPECT_EQ(at(0x10000), "/lib/new.so");
}

TEST_F(Table, DoesNotCopyAllMappingsForEachOfManyForks) {
    table.list(pages_apart(65'000));
    for (int child = 100; child < 200; ++child) {
        table.fork(kPid, child, false);
        table.exit(child);
    }
    table.fork(kPid, 200, false);
    EXPECT_EQ(at(0, 200), "(unknown)");
    table.fork(kPid, 201, true);
    EXPECT_EQ(at(0, 201), "(anonymous)");
}

/// Visiting all stack pointers for each name would take many minutes.
TEST_F(Table, DoesNotGoThroughAllStacksOfAHeapForEachOfItsNames) {
    constexpr std::uint64_t kCount = 65'000, kHeap = 0x100000, kLast = kHeap + kCount * 0x1000, kEnd = kLast + 0x1000;
    core::MappingListing listing;
    listing.pid = kPid;
    for (std::uint64_t i = 1; i <= kCount; ++i)
        listing.stacks.push_back({static_cast<int>(i), kHeap + i * 0x1000});
    table.list(listing);
    for (int i = 0; i < core::test::many(200'000); ++i) {
        table.change(mapped(kHeap, kEnd));
        ASSERT_EQ(at(kHeap), "(anonymous)");
    }
    table.change(mapped(kLast - 0x800, kEnd));
    EXPECT_EQ(at(kLast), "stack of thread " + std::to_string(kCount) + " ~");
}

TEST_F(Table, DoesNotCompareAllPiecesForEachOfManyMergedRanges) {
    constexpr std::uint64_t kStart = 0x10000, kPieces = 4'000;
    core::MappingListing listing;
    listing.pid = kPid;
    for (std::uint64_t i = 0; i < kPieces; ++i)
        listing.entries.push_back({{kStart + i * 0x1000, kStart + (i + 1) * 0x1000, kData, ""}, std::nullopt});
    table.list(listing);
    table.thread_begins(kPid, 12, kStart + 0xff0);
    const MappingChange whole = mapped(kStart - 0x1000, kStart + kPieces * 0x1000);
    for (int i = 0; i < 2'000; ++i)
        table.change(whole);
    EXPECT_EQ(at(kStart), "stack of thread 12");
    for (int i = 0; i < 10'000; ++i)
        table.change(whole);
    EXPECT_NE(at(kStart), "stack of thread 12") << "it visited 48 million pieces for 12,000 changes";
}

TEST_F(Table, KeepsProgramsApart) {
    table.change(mapped(0x1000, 0x2000, "/bin/first"));
    MappingChange exec = mapped(0, 0);
    exec.kind = Kind::Exec;
    table.change(exec);
    table.change(mapped(0x5000, 0x6000, "/bin/second"));
    EXPECT_EQ(at(0x1000), "/bin/first") << "the exec is not complete yet";
    table.exec(kPid);
    EXPECT_EQ(at(0x1000), "(unknown)");
    EXPECT_EQ(at(0x5000), "/bin/second");
}

TEST_F(Table, AForkHasWhatItsParentHadAndItsOwnFromThenOn) {
    table.change(mapped(0x1000, 0x2000, "/bin/first"));
    table.fork(kPid, 8, false);
    table.change(mapped(0x1000, 0x2000, "/lib/of-the-parent"));
    EXPECT_EQ(at(0x1000, 8), "/bin/first");
    table.fork(kPid, 9, true);
    table.change(mapped(0x3000, 0x4000, "/lib/of-both"));
    EXPECT_EQ(at(0x3000, 9), "/lib/of-both") << "the two processes share the address space";
    table.exit(kPid);
    EXPECT_EQ(at(0x3000), "(unknown)");
    EXPECT_EQ(at(0x3000, 9), "/lib/of-both");
}

TEST_F(Table, FollowsWhatMoves) {
    table.change(mapped(0x1000, 0x3000, "/dev/zero (deleted)", kData | core::MappingShared));
    MappingChange move = mapped(0x8000, 0xc000);
    move.kind = Kind::Moved;
    move.old_start = 0x1000;
    move.old_end = 0x3000;
    table.change(move);
    EXPECT_EQ(at(0x1000), "(unknown)");
    EXPECT_EQ(at(0xbfff), "shmem");
    EXPECT_EQ(table.flags_at(kPid, 0x1000), std::nullopt);
    EXPECT_EQ(table.flags_at(kPid, 0xbfff), kData | core::MappingShared);
}

TEST_F(Table, FollowsSeveralMappingsThatMoveTogether) {
    table.change(mapped(0x1000, 0x3000, "/dev/zero (deleted)", kData | core::MappingShared));
    table.change(mapped(0x3000, 0x5000, "/lib/a.so"));
    table.change(mapped(0x5000, 0x7000, "/lib/b.so"));
    MappingChange move = mapped(0x10000, 0x13000);
    move.kind = Kind::Moved;
    move.old_start = 0x2000;
    move.old_end = 0x5000;
    table.change(move);
    EXPECT_EQ(at(0x1fff), "shmem");
    EXPECT_EQ(at(0x2000), "(unknown)");
    EXPECT_EQ(at(0x10fff), "shmem");
    EXPECT_EQ(at(0x11000), "/lib/a.so");
    EXPECT_EQ(at(0x12fff), "/lib/a.so");
    EXPECT_EQ(at(0x13000), "(unknown)");
    EXPECT_EQ(at(0x5000), "/lib/b.so");
}

/// MREMAP_DONTUNMAP, or an old length of 0.
TEST_F(Table, KeepsWhatIsMappedTwice) {
    table.change(mapped(0x1000, 0x5000, "/dev/zero (deleted)", kData | core::MappingShared));
    MappingChange move = mapped(0x8000, 0xa000);
    move.kind = Kind::Moved;
    for (const std::uint64_t from : {0x1000, 0x2000}) {
        move.old_start = move.old_end = from;
        table.change(move);
        for (const std::uint64_t address : {0x1000, 0x2000, 0x4fff, 0x8000, 0x9fff})
            EXPECT_EQ(at(address), "shmem") << address;
        EXPECT_EQ(at(0xa000), "(unknown)");
    }
}

TEST_F(Table, NamesAnonymousMemoryOnly) {
    table.change(mapped(0x1000, 0x5000));
    table.change(mapped(0x5000, 0x6000, "/lib/a.so"));
    MappingChange name = mapped(0x2000, 0x6000, "[anon:pool]");
    name.kind = Kind::Named;
    table.change(name);
    EXPECT_EQ(at(0x1fff), "(anonymous)");
    EXPECT_EQ(at(0x2000), "[anon:pool]");
    EXPECT_EQ(at(0x5000), "/lib/a.so");
}

TEST_F(Table, AStackIsThatOfTheThreadThatBeganOnIt) {
    table.change(mapped(0x100000, 0x900000));
    table.thread_begins(kPid, 12, 0x8ff000);
    EXPECT_EQ(at(0x100000), "stack of thread 12");
    table.thread_ends(kPid, 12);
    EXPECT_EQ(at(0x100000), "(anonymous)");
    table.thread_begins(kPid, 13, 0x8ff000);
    EXPECT_EQ(at(0x100000), "stack of thread 13");
    table.change(mapped(0x8000000, 0x8000000 + kArena));
    table.thread_begins(kPid, 14, 0x8004000);
    EXPECT_NE(at(0x8004000), "stack of thread 14") << "the mapping is a heap from which a stack was allocated";
}

TEST_F(Table, AStackIsNotWhatItWasMergedWith) {
    table.change(mapped(0x900000, 0xa00000));
    table.change(mapped(0x100000, 0x900000, "", 0));
    table.change(mapped(0x101000, 0xa00000));
    table.thread_begins(kPid, 12, 0x8ff000);
    EXPECT_EQ(at(0x101000), "stack of thread 12");
    EXPECT_EQ(at(0x8fffff), "stack of thread 12");
    EXPECT_EQ(at(0x900000), "(anonymous)");
    table.list({0, kPid, {{{0x101000, 0xa00000, kData, ""}, std::nullopt}}, {}});
    EXPECT_EQ(at(0x8fffff), "stack of thread 12 ~") << "the listing does not show where the stack ends";
}

TEST_F(Table, AnArenaThatGrowsIsOne) {
    table.change(mapped(3 * kArena, 4 * kArena, "", 0));
    table.change(mapped(3 * kArena, 3 * kArena + 0x21000));
    table.change(mapped(3 * kArena, 3 * kArena + 0x42000));
    EXPECT_EQ(at(3 * kArena + 0x41000), "glibc arena ~");
}

TEST_F(Table, AStackWhoseStartWasNotTracedIsRecognisedByItsShape) {
    const core::MappingListing::Entry stack{{0x100000, 0x900000, kData, ""}, std::nullopt};
    const core::MappingListing::Entry heap{{0x1000000, 0x2000000, kData, ""}, std::nullopt};
    const core::MappingListing::Entry library{{0x3000000, 0x4000000, kData, "/lib/a.so"}, std::nullopt};
    table.thread_begins(kPid, 15, 0x8fe000);
    table.list({0, kPid, {stack, heap, library}, {{12, 0x1100000}, {13, 0x1900000}, {14, 0x3001000}, {15, 0x8f0000}}});
    EXPECT_EQ(at(0x100000), "stack of thread 15") << "the initial stack pointer of the thread is known";
    EXPECT_EQ(at(0x1000000), "(anonymous)") << "the mapping is a heap from which stacks were allocated";
    EXPECT_EQ(at(0x3000000), "/lib/a.so");
    table.list({0, kPid, {stack, heap}, {{12, 0x1100000}}});
    EXPECT_EQ(at(0x1000000), "(anonymous)") << "thread 13 is running";
    table.thread_ends(kPid, 13);
    EXPECT_EQ(at(0x1000000), "stack of thread 12 ~");
    table.list({0, kPid, {stack, heap}, {}});
    EXPECT_EQ(at(0x1000000), "stack of thread 12 ~") << "it is running";
    table.thread_ends(kPid, 12);
    EXPECT_EQ(at(0x1000000), "(anonymous)");
}

TEST_F(Table, WhatIsRecognisedByItsShapeSaysSo) {
    table.change(mapped(3 * kArena, 4 * kArena, "", 0));
    table.change(mapped(3 * kArena, 3 * kArena + 0x21000));
    EXPECT_EQ(at(3 * kArena), "glibc arena ~");
    table.change(mapped(0x1000, 0x2000, "", kData | core::MappingExecute));
    EXPECT_EQ(at(0x1000), "JIT ~");
}

TEST_F(Table, TheFirstPieceOfBrkIsTheHeapThoughTheKernelHasNoNameForItYet) {
    MappingChange exec = mapped(0, 0);
    exec.kind = Kind::Exec;
    table.change(exec);
    table.change(mapped(0x400000, 0x500000, "/bin/x"));
    table.change(mapped(0x500000, 0x510000));
    table.exec(kPid);
    EXPECT_EQ(at(0x500000), "(anonymous)") << "the exec maps .bss there";
    table.change(mapped(0x700000, 0x721000));
    EXPECT_EQ(at(0x700000), "[heap]");
    table.change(mapped(0x7f0000000000, 0x7f0000001000));
    EXPECT_EQ(at(0x7f0000000000), "(anonymous)");
    table.change(mapped(0x800000, 0x900000));
    EXPECT_EQ(at(0x800000), "(anonymous)") << "the process already has a heap";
}

TEST_F(Table, TakesWhateverAFileSays) {
    table.change(mapped(5, 5));
    table.change(mapped(9, 3));
    table.change(mapped(0, UINT64_MAX));
    MappingChange move = mapped(UINT64_MAX - 1, UINT64_MAX);
    move.kind = Kind::Moved;
    move.old_start = UINT64_MAX;
    table.change(move);
    EXPECT_EQ(at(5), "(anonymous)");
    table.fork(99, 100, false);
    table.exit(101);
    table.thread_ends(102, 1);
}

}  // namespace
}  // namespace rsslag::analysis
