// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/growth.h"

#include <gtest/gtest.h>

#include <utility>

namespace rsslag::exporters {
namespace {

using core::Member;
using core::Pages;

constexpr int kPid = 7;
constexpr std::uint64_t kMm = 3;

UpdateRow update(std::int64_t pages, std::string_view mapping, Member member = Member::Anon) {
    UpdateRow row;
    row.at.pid = row.at.tid = kPid;
    row.at.mm = kMm;
    row.member = member;
    row.pages = Pages{pages};
    if (!mapping.empty()) row.fault = FaultCause{false, 0x1000};
    row.mapping = mapping;
    return row;
}

FaultRow fault(std::string_view mapping, std::int64_t came, bool after) {
    FaultRow row;
    row.at = update(0, "").at;
    row.fault.kernel = false;
    row.mapping = mapping;
    row.after = after;
    row.came.anon = {came};
    return row;
}

TickRow tick(std::int64_t begin, std::int64_t last) {
    TickRow row;
    row.at.pid = kPid;
    row.at.mm = kMm;
    row.at.comm = "worker";
    row.at_start.anon = {begin};
    row.last.anon = {last};
    return row;
}

MappingRow listed(std::uint64_t t_ns, std::string_view mapping, std::int64_t kb) {
    MappingRow row;
    row.type = MappingRow::Type::Listed;
    row.at.t_ns = t_ns;
    row.at.pid = kPid;
    row.at.mm = kMm;
    row.mapping = mapping;
    row.held = core::Kilobytes{kb};
    return row;
}

Pages sum(const ImageGrowth &image) {
    Pages all;
    for (const auto &mapping : image.mappings)
        all += mapping.came;
    for (const Pages &pages : image.no_fault)
        all += pages;
    return all;
}

Pages by_none(const ImageGrowth &image, NoFault why) {
    return image.no_fault[static_cast<std::size_t>(why)];
}

MappingRow mapped_with(std::string_view mapping, std::uint8_t id) {
    MappingRow row;
    row.mapping = mapping;
    row.build_id.size = 1;
    row.build_id.bytes[0] = id;
    return row;
}

TEST(Growth, HasTheBuildIdOfAFileUnlessThereWereSeveral) {
    GrowthByName growth;
    growth.note(mapped_with("/lib/a.so", 1));
    growth.note(mapped_with("/lib/a.so", 1));
    growth.note(mapped_with("/lib/b.so", 2));
    growth.note(mapped_with("/lib/b.so", 3));
    growth.note(mapped_with("/lib/b.so", 2));
    growth.note(update(3, "/lib/a.so", Member::File));
    growth.note(update(2, "/lib/b.so", Member::File));
    growth.note(update(1, "[heap]"));
    growth.note(tick(0, 6));
    const auto image = growth.take(kPid, kMm);
    ASSERT_TRUE(image);
    ASSERT_EQ(image->mappings.size(), 3U);
    EXPECT_EQ(core::hex(image->mappings[0].build_id), "01");
    EXPECT_FALSE(image->mappings[1].build_id.known()) << "two files had this name";
    EXPECT_FALSE(image->mappings[2].build_id.known());
}

TEST(Growth, SumsToTheExactGrowthWhateverBroughtIt) {
    GrowthByName growth;
    growth.note(update(10, "[heap]"));
    growth.note(update(4, "/lib/a.so", Member::File));
    growth.note(update(-1, "/lib/a.so", Member::File));
    growth.note(update(20, ""));
    growth.note(update(-7, ""));
    UpdateRow reclaimed = update(-2, "");
    reclaimed.by_other = true;
    growth.note(reclaimed);
    growth.note(update(5, "[heap]", Member::Swap));
    growth.note(tick(100, 130));
    const auto image = growth.take(kPid, kMm);
    ASSERT_TRUE(image);
    EXPECT_EQ(image->grew(), Pages{30});
    EXPECT_EQ(sum(*image), image->grew());
    ASSERT_EQ(image->mappings.size(), 2U);
    EXPECT_EQ(image->mappings[0].name, "[heap]");
    EXPECT_EQ(image->mappings[0].came, Pages{10});
    EXPECT_EQ(image->mappings[1].came, Pages{3});
    EXPECT_EQ(by_none(*image, NoFault::Populated), Pages{20});
    EXPECT_EQ(by_none(*image, NoFault::GivenUp), Pages{-7});
    EXPECT_EQ(by_none(*image, NoFault::ByOthers), Pages{-2});
    EXPECT_EQ(by_none(*image, NoFault::NotRecorded), Pages{6}) << "growth that no record reports";
    ASSERT_EQ(image->threads.size(), 1U);
    EXPECT_EQ(image->threads[0].came, Pages{13});
    EXPECT_FALSE(growth.take(kPid, kMm)) << "the first call has removed it";
}

TEST(Growth, WhatAnExecBringsIsWhatItBeganWith) {
    GrowthByName growth;
    growth.note(update(10, "[stack]"));
    TaskRow exec;
    exec.at.pid = exec.at.tid = kPid;
    exec.at.mm = kMm;
    exec.type = TaskRow::Type::Exec;
    growth.note(exec);
    growth.note(update(2, "[heap]"));
    growth.note(listed(90, "[heap]", 8));
    growth.note(tick(10, 12));
    const auto image = growth.take(kPid, kMm);
    ASSERT_EQ(image->mappings.size(), 1U);
    EXPECT_EQ(sum(*image), Pages{2});
    EXPECT_EQ(image->mappings[0].held_start, core::Kilobytes{0}) << "an exec starts with an empty mm";
    EXPECT_EQ(image->mappings[0].held_end, core::Kilobytes{8});
}

TEST(Growth, MarksThePartsIfRecordsWereLostBetweenTwoKnownValues) {
    GrowthByName growth;
    growth.note(update(10, "[heap]"));
    TickRow resynced = tick(100, 400);
    resynced.extremes.lossy = true;
    growth.note(resynced);
    const auto image = growth.take(kPid, kMm);
    ASSERT_TRUE(image);
    EXPECT_FALSE(image->approximate) << "both ends are known";
    EXPECT_TRUE(image->parts_approximate);
}

TEST(Growth, OfASharedMmGoesOnForTheNextProcess) {
    GrowthByName growth;
    growth.note(update(10, "[heap]"));
    growth.note(tick(0, 10));
    ASSERT_TRUE(growth.take(kPid, kMm));
    UpdateRow later = update(5, "[heap]");
    later.at.pid = kPid + 1;
    TickRow sibling = tick(0, 15);
    sibling.at.pid = kPid + 1;
    growth.note(sibling);
    growth.note(later);
    const auto image = growth.take(kPid + 1, kMm);
    ASSERT_TRUE(image);
    EXPECT_EQ(image->grew(), Pages{5}) << "the rest was counted for the first process";
    EXPECT_EQ(by_none(*image, NoFault::NotRecorded), Pages{0});
    EXPECT_EQ(sum(*image), image->grew());
}

TEST(Growth, AHeapThatChurnsHasNotGrown) {
    GrowthByName growth;
    growth.note(listed(1, "[heap]", 40));
    growth.note(listed(1, "[heap]", 4));
    for (int i = 0; i < 100; ++i) {
        growth.note(update(10, "[heap]"));
        growth.note(update(-10, ""));
    }
    growth.note(listed(50, "/lib/gone.so", 4));
    growth.note(listed(90, "[heap]", 44));
    growth.note(tick(11, 11));
    const auto image = growth.take(kPid, kMm);
    ASSERT_EQ(image->mappings.size(), 1U);
    EXPECT_EQ(image->mappings[0].came, Pages{1000});
    EXPECT_EQ(image->mappings[0].held_start, core::Kilobytes{44});
    EXPECT_EQ(image->mappings[0].held_end, core::Kilobytes{44});
    EXPECT_EQ(sum(*image), Pages{0});
}

TEST(Growth, WhatWasListedOnceIsNotKnownAtTheEnd) {
    GrowthByName growth;
    growth.note(listed(1, "[heap]", 40));
    growth.note(update(10, "[heap]"));
    growth.note(tick(10, 20));
    const auto image = growth.take(kPid, kMm);
    EXPECT_EQ(image->mappings.at(0).held_start, core::Kilobytes{40});
    EXPECT_EQ(image->mappings.at(0).held_end, std::nullopt);
}

/// `thread` scheme: a flush contains many faults, each of which was already reported by its change of the cache.
TEST(Growth, AFlushIsOfAllTheFaultsThatFilledTheCache) {
    for (const bool after : {true, false}) {
        GrowthByName growth;
        const std::string_view names[] = {"[heap]", "[heap]", "(anonymous)"};
        bool first = true;
        for (const std::string_view name : names)
            growth.note(fault(name, after || !std::exchange(first, false) ? 1 : 0, after));
        UpdateRow flush = update(10, "[stack]");
        flush.type = UpdateRow::Type::Flush;
        flush.from_faults = Pages{after ? 10 : 9};
        growth.note(flush);
        growth.note(tick(0, 3));
        const auto image = growth.take(kPid, kMm);
        ASSERT_EQ(image->mappings.size(), 2U);
        EXPECT_EQ(image->mappings[0].name, "[heap]");
        EXPECT_EQ(image->mappings[0].came, Pages{2});
        EXPECT_EQ(image->mappings[1].came, Pages{1});
        EXPECT_EQ(sum(*image), Pages{3});
        EXPECT_EQ(by_none(*image, NoFault::NotRecorded), Pages{0});
    }
}

TEST(Growth, WhatTheKernelAskedForItselfIsPopulatedThoughItIsHandledAsAFaultIs) {
    GrowthByName growth;
    FaultRow populated = fault("(anonymous)", 1, true);
    populated.fault.kernel.reset();
    growth.note(populated);
    growth.note(fault("(anonymous)", 2, true));
    growth.note(tick(0, 3));
    const auto image = growth.take(kPid, kMm);
    ASSERT_EQ(image->mappings.size(), 1U);
    EXPECT_EQ(image->mappings[0].came, Pages{2});
    EXPECT_EQ(by_none(*image, NoFault::Populated), Pages{1});
    EXPECT_EQ(sum(*image), Pages{3});
}

TEST(Growth, WhatATaskCachedWithoutAFaultIsOfNoMapping) {
    GrowthByName growth;
    growth.note(fault("[heap]", 2, true));
    UpdateRow flush = update(7, "[stack]");
    flush.type = UpdateRow::Type::Flush;
    flush.from_faults = Pages{2};
    growth.note(flush);
    growth.note(tick(0, 7));
    const auto image = growth.take(kPid, kMm);
    ASSERT_EQ(image->mappings.size(), 1U);
    EXPECT_EQ(image->mappings[0].came, Pages{2});
    EXPECT_EQ(by_none(*image, NoFault::Populated), Pages{5});
}

TEST(Growth, AStackIsCalledByItsThreadsLastName) {
    GrowthByName growth;
    growth.note(update(2, "stack of thread 12"));
    growth.note(update(1, "stack of thread 12 ~"));
    TaskRow rename;
    rename.at.tid = 12;
    rename.at.comm = "worker-07";
    rename.type = TaskRow::Type::Rename;
    growth.note(rename);
    growth.note(tick(0, 3));
    const auto image = growth.take(kPid, kMm);
    EXPECT_EQ(image->mappings.at(0).name, "stack of thread 12 worker-07");
    EXPECT_EQ(image->mappings.at(1).name, "stack of thread 12 worker-07 ~");
}

TEST(Growth, SaysThatNamesMayBeOldOnesOnceChangesOfMappingsWereLost) {
    GrowthByName growth;
    LossRow loss;
    loss.cause = kMappingsLost;
    loss.records = 5;
    growth.note(loss);
    growth.note(update(1, "[heap]"));
    growth.note(tick(0, 1));
    EXPECT_EQ(growth.take(kPid, kMm)->names_lost, 0U) << "the loss was before this program";
    growth.note(update(1, "[heap]"));
    growth.note(loss);
    loss.cause = "ring";
    growth.note(loss);
    growth.note(tick(0, 1));
    EXPECT_EQ(growth.take(kPid, kMm)->names_lost, 5U);
}

TEST(Growth, IsOfTheProcessWhoseMmItIs) {
    GrowthByName growth;
    growth.note(update(1, "[heap]"));
    TickRow borrowed = tick(0, 1);
    borrowed.at.pid = 8;
    growth.note(borrowed);
    EXPECT_FALSE(growth.take(8, kMm)) << "a child of vfork only borrows the mm";
    EXPECT_TRUE(growth.take(kPid, kMm));
}

}  // namespace
}  // namespace rsslag::exporters
