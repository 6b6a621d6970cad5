// SPDX-License-Identifier: BSD-2-Clause
#include "core/proc_reading.h"

#include <gtest/gtest.h>

#include <utility>

namespace rsslag::core::test {
namespace {

const PageSize kPage{4096};

ProcReading reading_of(std::int64_t stat, std::int64_t anon_kb, std::optional<std::int64_t> walked_kb) {
    ProcReading reading;
    reading.readers.stat = Pages{stat};
    reading.readers.status(Member::Anon) = Kilobytes{anon_kb};
    reading.readers.status(Member::File) = Kilobytes{40};
    reading.readers.status(Member::Shmem) = Kilobytes{0};
    if (walked_kb) {
        reading.walk.emplace();
        reading.walk->rss = Kilobytes{*walked_kb};
    }
    return reading;
}

TEST(ProcReading, IsExactByMemberWhereStatusIs) {
    ProcReading reading = reading_of(5, 400, 440);
    reconcile(reading, {Truth::Flushed, Truth::Exact, Truth::Exact}, kPage);
    EXPECT_EQ(source_name(reading), "status");
    ASSERT_TRUE(reading.members);
    EXPECT_EQ(reading.members->anon, Pages{100});
    EXPECT_EQ(reading.exact, Pages{110});
    EXPECT_EQ(reading.lag, Pages{105});
    EXPECT_TRUE(reading.confirmed);
}

TEST(ProcReading, IsNotConfirmedByAnotherWalkNorByOneOfWhatMoved) {
    ProcReading other = reading_of(5, 400, 444);
    ProcReading moved = reading_of(5, 400, 440);
    ProcReading unwalked = reading_of(5, 400, std::nullopt);
    moved.moved = true;
    for (ProcReading *const reading : {&other, &moved, &unwalked}) {
        reconcile(*reading, {Truth::Flushed, Truth::Exact, Truth::Exact}, kPage);
        EXPECT_EQ(reading->exact, Pages{110});
        EXPECT_FALSE(reading->confirmed);
    }
}

TEST(ProcReading, IsTheWalksWhereStatusLags) {
    ProcReading reading = reading_of(5, 20, 440);
    reconcile(reading, {Truth::Flushed, Truth::Flushed, Truth::Flushed}, kPage);
    EXPECT_EQ(source_name(reading), "smaps_rollup");
    EXPECT_FALSE(reading.members);
    EXPECT_EQ(reading.exact, Pages{110});
    EXPECT_EQ(reading.lag, Pages{105});
    EXPECT_FALSE(reading.confirmed);
}

TEST(ProcReading, IsUnknownWhereNothingIsExact) {
    ProcReading reading = reading_of(5, 20, std::nullopt);
    reconcile(reading, {Truth::Flushed, Truth::Flushed, Truth::Flushed}, kPage);
    EXPECT_EQ(source_name(reading), "nothing");
    EXPECT_FALSE(reading.exact);
    EXPECT_FALSE(reading.lag);
}

TEST(ProcReading, HasNoLagWhereItIsUnknownWhetherStatLagsOrTheLeaderHasEnded) {
    ProcReading unknown = reading_of(5, 20, 440);
    reconcile(unknown, {}, kPage);
    EXPECT_EQ(unknown.exact, Pages{110});
    EXPECT_FALSE(unknown.lag);

    ProcReading ended;
    ended.leader_gone = true;
    ended.readers.stat = Pages{0};
    ended.walk.emplace();
    ended.walk->rss = Kilobytes{440};
    reconcile(ended, {Truth::Flushed, Truth::Exact, Truth::Exact}, kPage);
    EXPECT_EQ(ended.exact, Pages{110});
    EXPECT_FALSE(ended.lag);
}

TEST(ProcReading, IsThatOfAThreadThatGoesOnWhereTheLeaderHasEnded) {
    ProcReading ended = reading_of(5, 400, 440);
    ended.leader_gone = true;
    ended.living = std::exchange(ended.readers, {});
    ended.readers.stat = Pages{0};
    reconcile(ended, {Truth::Flushed, Truth::Exact, Truth::Exact}, kPage);
    EXPECT_EQ(source_name(ended), "status");
    EXPECT_EQ(ended.exact, Pages{110});
    EXPECT_EQ(ended.lag, Pages{105}) << "the lag is computed from stat of a living thread";
    EXPECT_TRUE(ended.confirmed);
}

TEST(ProcReading, LagsByNothingWhereStatIsExact) {
    ProcReading reading = reading_of(110, 400, 440);
    reconcile(reading, {Truth::Exact, Truth::Exact, Truth::Exact}, kPage);
    EXPECT_EQ(reading.lag, Pages{0});
}

}  // namespace
}  // namespace rsslag::core::test
