// SPDX-License-Identifier: BSD-2-Clause
#include "core/scheme.h"

#include <gtest/gtest.h>

#include "readings.h"

namespace rsslag::core {
namespace {

using test::members;

Machine machine(Scheme scheme, int online, int possible = 0) {
    return {scheme, PageSize{4096}, online, possible == 0 ? online : possible};
}

constexpr double kMiB = 1024.0 * 1024.0;

double in_mib(Pages pages) {
    return static_cast<double>(pages.n) * 4096.0 / kMiB;
}

TEST(Batch, IsTwiceTheOnlineCpusAndAtLeast32) {
    const std::vector<std::pair<int, std::int64_t>> by_cpus{{1, 32},  {2, 32},   {16, 32},
                                                            {17, 34}, {64, 128}, {256, 512}};
    for (const auto &[cpus, batch] : by_cpus) {
        EXPECT_EQ(machine(Scheme::Cpu, cpus).batch(), batch) << cpus << " CPUs";
    }
}

TEST(Batch, GoesByOnlineNotByPossibleCpus) {
    EXPECT_EQ(machine(Scheme::Cpu, 20, 128).batch(), 40);
}

TEST(Batch, IsThereOnlyWhereCpusCache) {
    EXPECT_EQ(machine(Scheme::Thread, 64).batch(), std::nullopt);
    EXPECT_EQ(machine(Scheme::Plain, 64).batch(), std::nullopt);
}

TEST(BoundOfTheCpuScheme, HoldsForWhatWasCachedBeforeCpusWentOffline) {
    Machine few = machine(Scheme::Cpu, 2, 64);
    few.cpus_present = 32;
    EXPECT_EQ(few.batch(), 32);
    EXPECT_EQ(bound(few, 1).members.anon, Pages{2 * 63});
}

TEST(BoundOfTheCpuScheme, IsABatchLessOneForEachCpuAndMember) {
    const Bound two = bound(machine(Scheme::Cpu, 2), 100);
    EXPECT_EQ(two.members, members(62, 62, 62, 62));
    EXPECT_EQ(two.rss, Pages{186});
    EXPECT_TRUE(two.hard);
}

TEST(BoundOfTheCpuScheme, IsSome32MiBAMemberAt64CpusAnd511At256) {
    EXPECT_DOUBLE_EQ(in_mib(bound(machine(Scheme::Cpu, 64), 1).members.anon), 31.75);
    EXPECT_DOUBLE_EQ(in_mib(bound(machine(Scheme::Cpu, 256), 1).members.anon), 511.0);
}

TEST(BoundOfTheCpuScheme, DoesNotGrowWithTheTasks) {
    EXPECT_EQ(bound(machine(Scheme::Cpu, 8), 1), bound(machine(Scheme::Cpu, 8), 10'000));
}

TEST(BoundOfTheThreadScheme, Is64FaultsATaskWhateverTheirMemberAndSoft) {
    const Bound classic = bound(machine(Scheme::Thread, 64), 101);
    EXPECT_EQ(classic.members, members(6464, 6464, 6464, 6464));
    EXPECT_EQ(classic.rss, Pages{6464});
    EXPECT_FALSE(classic.hard);
    EXPECT_EQ(bound(machine(Scheme::Thread, 1), 101), classic);
    EXPECT_EQ(bound(machine(Scheme::Thread, 1), 0).rss, Pages{0});
}

TEST(BoundOfThePlainScheme, LetsNothingHide) {
    const Bound none = bound(machine(Scheme::Plain, 64), 101);
    EXPECT_EQ(none.members, Members{});
    EXPECT_EQ(none.rss, Pages{0});
    EXPECT_TRUE(none.hard);
}

TEST(ClassifyReader, DistinguishesFlushedFromExact) {
    const Members flushed = members(200, 700, 50);
    const Members exact = members(204, 729, 55);
    EXPECT_EQ(classify_reader({950}, flushed, exact), Truth::Flushed);
    EXPECT_EQ(classify_reader({988}, flushed, exact), Truth::Exact);
}

TEST(ClassifyReader, IsUnknownForANumberThatIsNeither) {
    EXPECT_EQ(classify_reader({960}, members(200, 700, 50), members(204, 729, 55)), Truth::Unknown);
}

TEST(ClassifyReader, IsUnknownWhereTheTwoAreEqual) {
    EXPECT_EQ(classify_reader({950}, members(200, 700, 50), members(200, 700, 50)), Truth::Unknown);
    EXPECT_EQ(classify_reader({950}, members(200, 700, 50), members(190, 710, 50)), Truth::Unknown);
    EXPECT_EQ(classify_reader({950}, members(200, 700, 50, 1), members(200, 700, 50, 9)), Truth::Unknown);
}

TEST(ClassifyReader, AllowsForProcClampingEachMember) {
    const Members flushed = members(-8, 700);
    const Members exact = members(4, 720);
    EXPECT_EQ(classify_reader({700}, flushed, exact), Truth::Flushed);
    EXPECT_EQ(classify_reader({692}, flushed, exact), Truth::Unknown);
    EXPECT_EQ(classify_reader({724}, flushed, exact), Truth::Exact);
}

TEST(Names, OfSchemesAndTruthsAreThoseOfTheJson) {
    EXPECT_EQ(name(Scheme::Thread), "thread");
    EXPECT_EQ(name(Scheme::Cpu), "cpu");
    EXPECT_EQ(name(Scheme::Plain), "plain");
    EXPECT_EQ(name(Truth::Flushed), "flushed");
    EXPECT_EQ(name(Truth::Exact), "exact");
    EXPECT_EQ(name(Truth::Unknown), "unknown");
}

}  // namespace
}  // namespace rsslag::core
