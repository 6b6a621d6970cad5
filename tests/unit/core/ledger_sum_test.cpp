// SPDX-License-Identifier: BSD-2-Clause
// --mode counts: sums from the kernel that arrive once, repeatedly, late, or out of order.
#include <gtest/gtest.h>

#include <cstdint>

#include "ledger_of.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

constexpr std::uint8_t kAnonOnly = 1U << static_cast<unsigned>(Member::Anon);

rsslag_sum sum(std::uint64_t t, int tid, int cpu, std::uint32_t number, std::uint32_t updates, int anon,
               std::uint16_t flags = kOwn) {
    rsslag_sum record{};
    record.kind = RSSLAG_SUM;
    record.flags = flags;
    record.tid = tid;
    record.t_ns = kStart + t;
    record.mm = kMm;
    record.cached[static_cast<std::size_t>(Member::Anon)] = anon;
    record.updates = updates;
    record.number = number;
    record.cpu = record.of = static_cast<rsslag_u16>(cpu);
    record.members = kAnonOnly;
    return record;
}

TEST(LedgerSum, GivesTheDifferenceToWhatTheCpuCachedBefore) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    one.ledger.apply(sum(100, 4712, 0, 1, 5, 12));
    one.ledger.apply(sum(200, 4711, 0, 2, 3, 9));
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(0, 5));
    EXPECT_EQ(row(view, 4712).updates, 5U);
    EXPECT_EQ(row(view, 4711).net, members(0, -3));
    EXPECT_EQ(view.updates, 8U);
    EXPECT_EQ(view.exact(), members(0, 1'009));
}

TEST(LedgerSum, CountsOneThatComesAgainForItsNewUpdates) {
    LedgerOf one(Scheme::Cpu);
    one.ledger.apply(sum(100, 4712, 0, 1, 5, 5, kOwn | RSSLAG_PARTIAL));
    one.ledger.apply(sum(200, 4712, 0, 1, 9, 8, kOwn | RSSLAG_PARTIAL));
    one.ledger.apply(sum(300, 4712, 0, 1, 9, 8));
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(0, 8));
    EXPECT_EQ(row(view, 4712).updates, 9U);
}

TEST(LedgerSum, IgnoresOneThatComesAfterWhatFollowedIt) {
    LedgerOf one(Scheme::Cpu);
    one.ledger.apply(sum(100, 4712, 0, 7, 5, 5));
    one.ledger.apply(sum(200, 4711, 0, 8, 1, 6));
    one.ledger.apply(sum(150, 4712, 0, 7, 4, 4, kOwn | RSSLAG_PARTIAL));
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(0, 5));
    EXPECT_EQ(row(view, 4711).net, members(0, 1));
    EXPECT_EQ(view.updates, 6U);
}

TEST(LedgerSum, ComesBeforeTheFoldThatEndsIt) {
    LedgerOf one(Scheme::Cpu);
    one.ledger.apply(sum(100, 4712, 0, 1, 31, 31));
    one.update(100, 4712, 0, 1'032, 0, kFault);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(0, 32));
    EXPECT_EQ(row(view, 4712).uncertain, Pages{0});
    EXPECT_EQ(row(view, 4712).updates, 32U);
    EXPECT_EQ(view.flushed, members(0, 1'032));
}

TEST(LedgerSum, OfATaskThatHasEndedMeanwhileIsOfThoseThatHaveEnded) {
    LedgerOf one(Scheme::Cpu);
    one.task_record(100, RSSLAG_EXIT, 0, 4712, 4711, 0);
    one.ledger.apply(sum(200, 4712, 1, 1, 4, 4));
    const MmView view = one.later();
    EXPECT_EQ(view.exited.net, members(0, 4));
    EXPECT_EQ(view.exited.updates, 4U);
    EXPECT_TRUE(view.others.empty());
}

TEST(LedgerSum, OfAnotherProcessesTaskIsTheOthers) {
    LedgerOf one(Scheme::Cpu);
    one.ledger.apply(sum(100, 99, 1, 1, 2, -2, RSSLAG_BY_OTHER));
    const MmView view = one.later();
    ASSERT_EQ(view.others.size(), 1U);
    EXPECT_EQ(view.others[0].net, members(0, -2));
    EXPECT_EQ(view.updates_by_others, 2U);
    EXPECT_EQ(view.updates, 0U);
}

TEST(LedgerSum, SentByAnotherCpuIsOfItsOwn) {
    LedgerOf one(Scheme::Cpu, {{2, members(0, 3)}});
    rsslag_sum reported = sum(100, 4711, 2, 1, 1, 4);
    reported.cpu = 0;
    one.ledger.apply(reported);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, 1));
    ASSERT_EQ(view.cpus.size(), 1U);
    EXPECT_EQ(view.cpus[0].cpu, 2);
}

TEST(LedgerSum, WhatItChangedWhileWatchedIsNotComparedAndTheRestIs) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 2)}, {1, members(0, 3)}});
    one.ledger.watch(kMm);
    one.ledger.apply(sum(5'000'000, 4711, 0, 1, 6, 8));
    const Check right = one.ledger.compare(one.reading_of(1'000, {{0, members(0, 5)}, {1, members(0, 3)}}),
                                           kStart + 4'000'000, kStart + 4'100'000);
    EXPECT_FALSE(right.quiet);
    EXPECT_EQ(right.disagreements, 0);
    one.ledger.watch(kMm);
    one.ledger.apply(sum(15'000'000, 4711, 0, 1, 7, 9));
    const CounterReading differs = one.reading_of(1'000, {{0, members(0, 9)}, {1, members(0, 4)}});
    EXPECT_EQ(one.ledger.compare(differs, kStart + 14'000'000, kStart + 14'100'000).disagreements, 0);
    EXPECT_EQ(one.ledger.compare(differs, kStart + 614'000'000, kStart + 614'100'000).disagreements, 1);
    EXPECT_EQ(one.later().exact(), members(0, 1'013));
}

}  // namespace
}  // namespace rsslag::core::test
