// SPDX-License-Identifier: BSD-2-Clause
#include "profile/collector.h"

#include <gtest/gtest.h>

#include <numeric>

#include "rows.h"

namespace rsslag::profile {
namespace {

using core::event::Samples;
using core::event::Stacks;

exporters::UpdateRow update(int tid, std::int64_t pages, std::int64_t sample = -1) {
    exporters::UpdateRow row = exporters::test::update(0, 10, tid, core::Member::Anon, pages);
    row.sample = sample;
    return row;
}

Samples samples(std::vector<std::int32_t> estimated) {
    Samples event;
    for (const std::int32_t pages : estimated)
        event.samples.emplace_back().estimated = pages;
    return event;
}

/// main calls touch and drop.
Stacks stacks(std::vector<std::uint32_t> of) {
    Stacks event;
    event.frames = {{"touch", "/bin/x", {}, 1}, {"drop", "/bin/x", {}, 2}, {"main", "/bin/x", {}, 3}};
    event.stacks = {{{0, 2}, core::StackEnd::Outermost}, {{1, 2}, core::StackEnd::Outermost}};
    event.of = std::move(of);
    return event;
}

TEST(Collector, ScalesTheSamplesOfAThreadToItsRecords) {
    Collector collector;
    collector.begin(64);
    collector.samples(samples({1, -32}));
    for (int i = 0; i < 99; ++i)
        collector.note(update(11, 1));
    collector.note(update(11, 1, 0));
    collector.note(update(11, -32, 1));
    collector.note(update(11, -8));
    collector.stacks(stacks({0, 1}));
    const Profile profile = collector.take();
    const std::vector<StackSum> sums = by_stack(profile);
    ASSERT_EQ(sums.size(), 2U);
    EXPECT_EQ(sums[0].flow.came, 100);  // one sample of 64 pages stands for 100
    EXPECT_EQ(sums[0].flow.went, 0);
    EXPECT_EQ(sums[1].flow.went, 40);
    EXPECT_EQ(sums[0].tids, std::vector{11});
    EXPECT_EQ(profile.unmatched, 0U);
    EXPECT_EQ(unexplained(profile).flow.size(), 0);
}

/// `thread` scheme.
TEST(Collector, CountsThePagesOfFaultRecordsOnce) {
    Collector collector;
    collector.begin(1);
    collector.samples(samples({1, 1, -1, 66}));
    exporters::FaultRow fault;
    fault.at = update(11, 0).at;
    fault.mapping = "[heap]";
    fault.came = exporters::test::members(0, 1, 0, 1);
    fault.samples = {-1, 0, -1, -1};
    collector.note(exporters::Row(fault));
    // A write to a private mapping of a file: its copy replaces the file's page.
    fault.came = exporters::test::members(-1, 1);
    fault.samples = {2, 1, -1, -1};
    collector.note(exporters::Row(fault));
    exporters::UpdateRow flush = update(11, 66, 3);
    flush.from_faults = {66};
    collector.note(flush);
    flush = update(11, 5);
    flush.from_faults = {2};
    collector.note(flush);
    collector.stacks(stacks({0, 0, 1, 1}));
    const Profile profile = collector.take();
    EXPECT_EQ(profile.samples, 3U) << "that of the flush does not count";
    EXPECT_EQ(profile.unmatched, 0U);
    const std::vector<StackSum> sums = by_stack(profile);
    ASSERT_EQ(sums.size(), 2U);
    EXPECT_EQ(sums[0].flow.came, 2);
    EXPECT_EQ(sums[1].flow.went, 1);
    EXPECT_EQ(unexplained(profile).flow.came, 3);
    const MappingStack *const heap = profile.mapping(1, "[heap]");
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(innermost(profile, heap->stack, 1), "touch");
    EXPECT_DOUBLE_EQ(heap->share, 1);
}

TEST(Collector, DropsTheSampleOfAFaultThatChangedNothing) {
    Collector collector;
    collector.begin(64);
    collector.samples(samples({1, 1}));
    exporters::FaultRow fault;
    fault.came = exporters::test::members(0, 0, 0, 1);
    fault.samples = {-1, 0, 1, -1};
    EXPECT_TRUE(collector.note(exporters::Row(fault)));
    EXPECT_FALSE(collector.note(exporters::Row(exporters::TaskRow())));
    const Profile profile = collector.take();
    EXPECT_EQ(profile.samples, 0U);
    EXPECT_TRUE(profile.threads.empty()) << "swap is not resident";
}

TEST(Collector, GivesTheProfileUntilNowAndGoesOn) {
    Collector collector;
    collector.begin(1);
    collector.samples(samples({1, 1}));
    collector.note(update(11, 1, 0));
    collector.stacks(stacks({0}));
    EXPECT_EQ(by_stack(collector.now()).at(0).flow.came, 1);
    EXPECT_EQ(by_stack(collector.now()).at(0).flow.came, 1) << "the first call has taken nothing";
    collector.note(update(11, 1, 1));
    core::event::Stacks second = stacks({0});
    second.first = 1;
    collector.stacks(second);
    EXPECT_EQ(by_stack(collector.now()).at(0).flow.came, 2);
    EXPECT_GT(collector.size(), 0U);
    EXPECT_EQ(by_stack(collector.take()).at(0).flow.came, 2);
    EXPECT_EQ(collector.size(), 0U);
}

TEST(Collector, FindsTheStackByWhichMostPagesOfAMappingCame) {
    Collector collector;
    collector.begin(1);
    collector.samples(samples({4, 1, 1, 8, -16}));
    const auto at = [](std::string_view mapping, std::int64_t pages, std::int64_t sample) {
        exporters::UpdateRow row = update(11, pages, sample);
        row.at.mm = 7;
        row.fault.emplace();
        row.mapping = mapping;
        return row;
    };
    collector.note(at("[heap]", 4, 0));
    collector.note(at("[heap]", 1, 1));
    collector.note(at("/lib/x", 1, 2));
    exporters::UpdateRow elsewhere = at("[heap]", 8, 3);
    elsewhere.at.mm = 8;
    collector.note(elsewhere);
    collector.note(at("[heap]", -16, 4));
    collector.stacks(stacks({0, 1, 0, 0, 0}));
    const Profile profile = collector.take();
    const MappingStack *const heap = profile.mapping(7, "[heap]");
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(innermost(profile, heap->stack, 4), "touch < main");
    EXPECT_DOUBLE_EQ(heap->share, 0.8);
    EXPECT_EQ(heap->pid, 10);
    EXPECT_EQ(most_by(profile, *heap), "80 % by touch < main");
    EXPECT_EQ(innermost(profile, profile.mapping(7, "/lib/x")->stack, 1), "touch");
    EXPECT_EQ(innermost(profile, profile.mapping(8, "[heap]")->stack, 2), "touch < main");
    EXPECT_EQ(profile.mapping(8, "/lib/x"), nullptr);
}

TEST(Collector, PartsSumUpToThePage) {
    Collector collector;
    collector.begin(64);
    collector.samples(samples({1, 1, 1}));
    for (int i = 0; i < 3; ++i)
        collector.note(update(11, 1, i));
    for (int i = 0; i < 97; ++i)
        collector.note(update(11, 1));
    Stacks three = stacks({0, 1, 2});
    three.stacks.push_back({{2}, core::StackEnd::Outermost});
    collector.stacks(three);
    const Profile profile = collector.take();
    std::vector<std::int64_t> came;
    for (const StackFlow &each : profile.flows)
        came.push_back(each.flow.came);
    EXPECT_EQ(came, (std::vector<std::int64_t>{34, 33, 33}));
}

TEST(Collector, OrderOfRowAndStackDoesNotMatter) {
    for (const bool stack_first : {false, true}) {
        Collector collector;
        collector.begin(1);
        collector.samples(samples({1}));
        if (stack_first) collector.stacks(stacks({0}));
        collector.note(update(11, 1, 0));
        if (!stack_first) collector.stacks(stacks({0}));
        EXPECT_EQ(by_stack(collector.take()).at(0).flow.came, 1);
    }
}

TEST(Collector, WhatNoSampleExplainsIsKept) {
    Collector collector;
    collector.begin(64);
    collector.note(update(11, 5));
    collector.note(update(12, -3));
    const Profile profile = collector.take();
    EXPECT_TRUE(by_stack(profile).empty());
    const StackSum rest = unexplained(profile);
    EXPECT_EQ(rest.flow.came, 5);
    EXPECT_EQ(rest.flow.went, 3);
    EXPECT_EQ(rest.tids, (std::vector{11, 12}));
}

TEST(Collector, SamplesDoNotStandForLostOnes) {
    for (const std::uint32_t period : {1U, 64U}) {
        Collector collector;
        collector.begin(period);
        collector.samples(samples({-1}));
        collector.note(update(11, -1, 0));
        for (int i = 0; i < 999; ++i)
            collector.note(update(11, -1));
        collector.stacks(stacks({0}));
        const Profile profile = collector.take();
        EXPECT_EQ(by_stack(profile).at(0).flow.went, period);
        EXPECT_EQ(unexplained(profile).flow.went, 1000 - period);
    }
}

TEST(Collector, WhatIsResidentIsPartOfWhatCame) {
    Collector collector;
    collector.begin(1);
    Samples event = samples({1, 1, 1, 1});
    for (std::size_t i = 0; i < 3; ++i) {  // the fourth came by no fault
        event.samples[i].mm = 0x1000;
        event.samples[i].address = 0x10000 + i * 4096;
    }
    collector.samples(event);
    for (int i = 0; i < 4; ++i)
        collector.note(update(11, 1, i));
    collector.stacks(stacks({0, 0, 1, 1}));
    collector.absent_pages({0, 10, 0x1000, 0, 3, {0x10000}});
    const Profile profile = collector.take();
    const std::vector<StackSum> sums = by_stack(profile);
    ASSERT_EQ(sums.size(), 3U);
    std::int64_t came = 0, resident = 0, unknown = 0;
    for (const StackSum &sum : sums) {
        came += sum.flow.came;
        resident += sum.flow.resident;
        unknown += sum.flow.unknown;
        EXPECT_EQ(sum.flow.unknown, sum.reason == Reason::PageFault ? 0 : 1);
    }
    EXPECT_EQ(came, 4);
    EXPECT_EQ(resident, 2);
    EXPECT_EQ(unknown, 1);
}

TEST(Collector, WithoutAWalkResidenceIsUnknown) {
    Collector collector;
    collector.begin(1);
    collector.samples(samples({1}));
    collector.note(update(11, 1, 0));
    collector.note(update(11, 1));
    collector.stacks(stacks({0}));
    const Profile profile = collector.take();
    EXPECT_FALSE(profile.walked);
    EXPECT_EQ(by_stack(profile).at(0).flow.unknown, 1);
    EXPECT_EQ(unexplained(profile).flow.unknown, 1);
}

TEST(Collector, SamplesOfUnknownAmountsCountAsUnmatched) {
    Collector collector;
    collector.begin(64);
    collector.samples(samples({1, 1, 0}));
    exporters::UpdateRow unknown = update(11, 0, 0);
    unknown.pages.reset();
    collector.note(unknown);
    collector.note(update(11, 1, 2));  // estimated 0: its probability is 0
    collector.stacks(stacks({0, 0, 0}));
    EXPECT_EQ(collector.take().unmatched, 3U);
}

TEST(Collector, SamplesOfUntracedMmsAndOfSwapDoNotCount) {
    Collector collector;
    collector.begin(1);
    collector.samples(samples({1, 1, 1}));
    exporters::UpdateRow untraced = update(11, 1, 0), swap = update(11, 1, 1);
    untraced.known = false;  // a command before its exec
    swap.member = core::Member::Swap;
    collector.note(untraced);
    collector.note(swap);
    collector.note(update(11, 1, 2));
    collector.stacks(stacks({0, 0, 0}));
    const Profile profile = collector.take();
    EXPECT_EQ(profile.samples, 1U);
    EXPECT_EQ(profile.unmatched, 0U);
}

TEST(Apportion, SumsUpToTheWhole) {
    EXPECT_EQ(apportion(10, {1, 1, 1}), (std::vector<std::int64_t>{4, 3, 3}));
    EXPECT_EQ(apportion(7, {0, 2}), (std::vector<std::int64_t>{0, 7}));
    EXPECT_EQ(apportion(0, {5, 5}), (std::vector<std::int64_t>{0, 0}));
    EXPECT_EQ(apportion(9, {0, 0}), (std::vector<std::int64_t>{0, 0}));
    EXPECT_TRUE(apportion(9, {}).empty());
    const std::int64_t large = (std::int64_t{1} << 60) + 1;  // more than a double can represent
    const auto parts = apportion(large, {1, 3, 3, 7e9, 1e-9});
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}), large);
}

TEST(Collector, FollowsPagesThatMremapMoves) {
    Collector collector;
    collector.begin(64);
    Samples event = samples({1, 1});
    event.samples[0].address = 0x1000;
    event.samples[1].address = 0x2000;
    event.samples[0].mm = event.samples[1].mm = 77;
    event.samples[0].member = event.samples[1].member = 1;
    collector.samples(event);
    collector.stacks(stacks({0, 1}));
    collector.note(update(11, 1, 0));
    exporters::MappingRow row;
    row.at.pid = 10;
    row.type = exporters::MappingRow::Type::Moved;
    row.from = 0x9000;
    row.to = 0xf000;
    row.old_from = 0x1000;
    row.old_to = 0x3000;
    EXPECT_FALSE(collector.note(exporters::Row(row)));
    collector.note(update(11, 1, 1));  // after the move
    const auto pages = collector.sampled_pages(10);
    ASSERT_EQ(pages.size(), 2U);
    EXPECT_EQ(pages[0].address, 0x2000U);
    EXPECT_EQ(pages[1].address, 0x9000U);
}

TEST(Collector, ListsTheSampledPagesOfAProcess) {
    Collector collector;
    collector.begin(64);
    Samples event = samples({1, 1});
    event.samples[0].address = 0x1008;
    event.samples[1].address = 0x2000;
    event.samples[0].member = event.samples[1].member = 1;
    collector.samples(event);
    for (const std::int64_t sample : {0, 1}) {
        exporters::UpdateRow row = update(11, 1, sample);
        row.fault.emplace();
        row.mapping = sample == 0 ? "[heap]" : "/lib/x";
        collector.note(row);
    }
    collector.stacks(stacks({0, 1}));
    const auto pages = collector.sampled_pages(10);
    ASSERT_EQ(pages.size(), 2U);
    EXPECT_EQ(pages[0].address, 0x1000U);
    EXPECT_EQ(pages[0].mapping, "[heap]");
    EXPECT_EQ(pages[1].mapping, "/lib/x");
    EXPECT_DOUBLE_EQ(pages[1].pages, 64);
    const Profile profile = collector.take();
    EXPECT_EQ(innermost(profile, pages[1].stack, 1), "drop");
}

}  // namespace
}  // namespace rsslag::profile
