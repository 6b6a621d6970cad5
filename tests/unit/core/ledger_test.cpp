// SPDX-License-Identifier: BSD-2-Clause
// Verdicts of the ledger for single cases, from records made by hand.
#include "core/ledger.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ledger_of.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

TEST(Ledger, StartsWithWhatTheReadingHeldAsTheBaseline) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}, {3, members(0, -2)}});
    const MmView view = one.later();
    EXPECT_EQ(view.baseline, members(0, 1'005));
    EXPECT_EQ(view.exact(), members(0, 1'005));
    EXPECT_EQ(view.cached, members(0, 5));
    EXPECT_EQ(row(view, 4711).net, Members{});
    EXPECT_EQ(row(view, 4711).comm, "worker");
}

TEST(Ledger, TakesAnAmountFromTheCpusOwnCache) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    EXPECT_EQ(one.update(100, 4712, 0, 1'000, 8, kFault).pages, Pages{1});
    EXPECT_EQ(one.update(900, 4711, 0, 1'000, -12).pages, Pages{-20});
    EXPECT_EQ(one.update(950, 4711, 1, 1'000, 16, kFault).pages, Pages{16});
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(0, 1));
    EXPECT_EQ(row(view, 4711).net, members(0, -4));
    EXPECT_EQ(row(view, 4711).uncertain, Pages{0});
    EXPECT_EQ(view.exact(), members(0, 1'004));
    EXPECT_EQ(view.updates, 3U);
}

TEST(Ledger, GivesAFoldToTheThreadThatMadeIt) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 31)}});
    one.update(100, 4712, 0, 1'032, 0, kFault);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(0, 1));
    EXPECT_EQ(row(view, 4712).uncertain, Pages{0});
    EXPECT_EQ(row(view, 4712).flushes, 1U);
    EXPECT_EQ(row(view, 4711).net, Members{});
    EXPECT_EQ(view.flushed, members(0, 1'032));
    EXPECT_EQ(view.cached, Members{});
    ASSERT_EQ(view.cpus.size(), 1U);
    EXPECT_EQ(view.cpus[0].folds, 1U);
    EXPECT_EQ(view.flushes[static_cast<std::size_t>(FlushReason::Fold)], 1U);
}

TEST(Ledger, SolvesAZapThatFoldsFromTheCount) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 5)}});
    one.update(100, 4711, 0, 593, 0);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, -412));
    EXPECT_EQ(row(view, 4711).uncertain, Pages{0});
}

TEST(Ledger, CountsNoFoldWhereAZapOnlyCancelsTheCache) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 5)}});
    one.update(100, 4711, 0, 1'000, 0);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, -5));
    EXPECT_EQ(row(view, 4711).flushes, 0U);
    EXPECT_EQ(view.flushes[static_cast<std::size_t>(FlushReason::Fold)], 0U);
}

TEST(Ledger, KnowsAnUpdateOfNoPageWhereTheCpuCachesNothing) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 0)}});
    one.update(100, 4711, 0, 1'000, 0, kFault);
    one.update(200, 4711, 0, 1'000, 1, kFault);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, 1));
    EXPECT_EQ(row(view, 4711).uncertain, Pages{0});
    EXPECT_EQ(row(view, 4711).flushes, 0U);
}

TEST(Ledger, IgnoresTheReadingOfACpuThatCannotExist) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 5)}});
    one.ledger.watch(kMm);
    const std::uint64_t now = kStart + kLater;
    one.ledger.advance(now + kLater);
    const Check check = one.ledger.compare(one.reading_of(1'000, {{0, members(0, 5)}, {-1, members(7, 7)}}), now, now);
    EXPECT_TRUE(check.quiet);
    EXPECT_EQ(check.disagreements, 0);
    EXPECT_EQ(one.later().flushed, members(0, 1'000));
}

TEST(Ledger, DoesNotTakeAHugePageForASinglePage) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 31)}, {1, members(0, -3)}});
    one.update(100, 4711, 0, 1'543, 0, kFault);
    one.update(9'000, 4712, 1, 2'052, 0, kFault);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, 512));
    EXPECT_EQ(row(view, 4712).net, members(0, 512));
    EXPECT_EQ(view.exact(), members(0, 2'052));
}

TEST(Ledger, KeepsTheCountOfTheLatestRecord) {
    // The first record's count was read after the other CPU's fold.
    LedgerOf one(Scheme::Cpu, {{0, members(0, 31)}, {1, members(0, 31)}});
    one.update(100, 4711, 0, 1'064, 0, kFault);
    one.update(110, 4712, 1, 1'064, 0, kFault);
    const MmView view = one.later();
    EXPECT_EQ(view.exact(), members(0, 1'064));
    EXPECT_EQ(row(view, 4711).net, members(0, 1));
    EXPECT_EQ(row(view, 4712).net, members(0, 1));
    EXPECT_EQ(row(view, 4711).uncertain, Pages{0});
}

TEST(Ledger, ReportsWhatIsUncertainWhereTwoZapsMeet) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 0)}});
    one.update(100, 4711, 0, 700, 0);
    one.update(110, 4712, 1, 700, 0);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net + row(view, 4712).net, members(0, -300));
    EXPECT_GT(row(view, 4711).uncertain.n, 0);
    EXPECT_GT(row(view, 4712).uncertain.n, 0);
    // Each of the two may be all of it except a batch.
    EXPECT_GE(row(view, 4711).net.anon.n + row(view, 4711).uncertain.n, -32);
    EXPECT_LE(row(view, 4711).net.anon.n - row(view, 4711).uncertain.n, -268);
}

TEST(Ledger, DistinguishesTwoZapsThatShowDifferentCounts) {
    // If the first record's count included the second update, both would show the same.
    LedgerOf one(Scheme::Cpu, {{0, members(0, 0)}});
    one.update(100, 4711, 0, 900, 0);
    one.update(110, 4712, 1, 700, 0);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, -100));
    EXPECT_EQ(row(view, 4712).net, members(0, -200));
    EXPECT_EQ(row(view, 4711).uncertain, Pages{0});
    EXPECT_EQ(row(view, 4712).uncertain, Pages{0});
}

TEST(Ledger, TakesWhatAFaultFoundAsCached) {
    LedgerOf one(Scheme::Thread);
    one.fault(100, 4712, 9);
    one.fault(200, 4712, 10);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(0, 10));
    EXPECT_EQ(row(view, 4712).cached, members(0, 10));
    EXPECT_EQ(view.cached, members(0, 10));
    EXPECT_EQ(view.exact(), members(0, 1'010));
}

/// The pages of fault and flush records add up to what the mm holds.
TEST(Ledger, ReturnsWhatFaultsHaveReportedOfAFlush) {
    LedgerOf one(Scheme::Thread);
    EXPECT_EQ(one.fault(100, 4712, 20), members(0, 20));
    EXPECT_EQ(one.fault(110, 4712, 19), members(0, -1));
    const Applied flush = one.update(200, 4712, 0, 1'022, 22, kFault | RSSLAG_THRESHOLD);
    EXPECT_EQ(flush.pages, Pages{22});
    EXPECT_EQ(flush.from_faults, Pages{19}) << "three pages came without a fault";
    EXPECT_EQ(one.fault(300, 4712, 1), members(0, 1));
    const Applied huge = one.update(400, 4712, 0, 1'534, 1, kFault);
    EXPECT_EQ(huge.from_faults, Pages{0}) << "the huge page bypasses the cache";
    EXPECT_EQ(one.fault(500, 4712, 2), members(0, 1));
}

TEST(Ledger, ReportsNoGrowthOfWhatWasCachedAtTheAttach) {
    LedgerOf one(Scheme::Thread);
    one.fault(0, 4712, 40);  // while it was read
    const Applied flush = one.update(200, 4712, 0, 1'040, 40, kFault | RSSLAG_THRESHOLD);
    EXPECT_EQ(*flush.pages - flush.from_faults, Pages{0});
    EXPECT_EQ(one.later().at_start, members(0, 1'040));
    EXPECT_EQ(one.later().last, members(0, 1'040));
}

TEST(Ledger, NamesWhyAThreadFlushed) {
    const std::pair<std::uint16_t, FlushReason> cases[] = {
        {kFault | RSSLAG_THRESHOLD, FlushReason::Threshold},
        {kOwn, FlushReason::Zap},
        {kOwn | RSSLAG_EXECVE, FlushReason::Exec},
        {kOwn | RSSLAG_EXITING, FlushReason::Exit},
        {kOwn | RSSLAG_EXITING | RSSLAG_THRESHOLD, FlushReason::Threshold},
    };
    for (const auto &[flags, reason] : cases) {
        SCOPED_TRACE(name(reason));
        LedgerOf one(Scheme::Thread);
        one.fault(100, 4712, 20, 65);
        const Applied applied = one.update(200, 4712, 0, 1'020, 20, flags);
        // At the threshold of events, or by an exiting task, it can only be a flush.
        const bool sure = (flags & (RSSLAG_THRESHOLD | RSSLAG_EXITING)) != 0;
        EXPECT_EQ(applied.pages, sure ? std::optional(Pages{20}) : std::nullopt);
        EXPECT_EQ(applied.ticket != 0, !sure);
        one.fault(300, 4712, 0, 0);
        one.fault(3'000, 4711, 0, 0);
        one.ledger.advance(kStart + kLater);
        const std::vector<SettledUpdate> settled = one.ledger.take_settled();
        if (!sure) {
            ASSERT_EQ(settled.size(), 1U);
            EXPECT_EQ(settled[0].pages, Pages{20});
            EXPECT_EQ(settled[0].reason, reason);
            EXPECT_EQ(settled[0].ticket, applied.ticket);
        }
        const MmView view = one.later();
        EXPECT_EQ(view.flushes[static_cast<std::size_t>(reason)], 1U);
        EXPECT_EQ(row(view, 4712).net, members(0, 20));
        EXPECT_EQ(row(view, 4712).cached, Members{});
        EXPECT_EQ(row(view, 4712).flushes, 1U);
        EXPECT_EQ(row(view, 4712).last_flush_ns, kStart + 200);
        EXPECT_EQ(view.exact(), members(0, 1'020));
    }
}

TEST(Ledger, CountsAFlushOnceWhileItsThreadStillSeemsToCache) {
    // The tracepoint fires before the task's own count is zeroed.
    LedgerOf one(Scheme::Thread);
    one.fault(100, 4712, 20);
    one.update(200, 4712, 0, 1'020, 20);
    EXPECT_EQ(one.ledger.view(kMm)->exact(), members(0, 1'020));
    EXPECT_EQ(one.ledger.view(kMm)->cached, Members{});
}

/// 4711 frees 40 pages; 4712 flushes 20 and frees 80.
void zap_by_both(LedgerOf &one) {
    one.fault(100, 4712, 20);
    one.update(200, 4711, 0, 960, 0);
    one.update(300, 4712, 1, 980, 20);
    one.update(320, 4712, 1, 900, 0);
}

TEST(Ledger, GivesADirectUpdateTheDifferenceOfCounts) {
    LedgerOf one(Scheme::Thread);
    zap_by_both(one);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, -40));
    EXPECT_EQ(row(view, 4712).net, members(0, -60));
    EXPECT_EQ(view.flushes[static_cast<std::size_t>(FlushReason::Direct)], 2U);
}

TEST(Ledger, DistinguishesADirectUpdateOfTheOwnMmFromAFlush) {
    // A huge page's fault and exec's acct_arg_size() bypass the cache and leave it as it is.
    LedgerOf one(Scheme::Thread);
    one.fault(100, 4712, 20);
    const Applied applied = one.update(200, 4712, 0, 1'512, 20, kFault);
    EXPECT_NE(applied.pages, Pages{20});
    EXPECT_NE(applied.reason, FlushReason::Zap);
    one.fault(300, 4712, 20);
    const MmView view = one.later();
    EXPECT_EQ(view.exact(), members(0, 1'532));
    EXPECT_EQ(row(view, 4712).net, members(0, 532));
    EXPECT_EQ(row(view, 4712).cached, members(0, 20));
    EXPECT_EQ(row(view, 4712).flushes, 0U);
}

TEST(Ledger, LeavesRecordsUpToTheReadingToTheBaseline) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    EXPECT_FALSE(one.update(0, 4711, 0, 1'000, 7).pages.has_value());
    EXPECT_EQ(one.update(100, 4711, 0, 1'000, 8).pages, Pages{1});
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4711).net, members(0, 1));
    EXPECT_EQ(view.baseline, members(0, 1'007));
}

TEST(Ledger, HasNoViewOfAnUntracedMm) {
    Ledger ledger({Scheme::Cpu, 4, 32});
    rsslag_update record{};
    record.kind = RSSLAG_UPDATE;
    record.mm = kMm;
    record.tid = 4711;
    record.t_ns = kStart;
    record.cached = 3;
    const Applied applied = ledger.apply(record);
    EXPECT_FALSE(applied.known);
    EXPECT_FALSE(applied.pages.has_value());
    EXPECT_FALSE(ledger.view(kMm).has_value());
}

TEST(Ledger, CountsADisagreementAndTakesOverTheReading) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    one.update(100, 4711, 0, 1'000, 8);
    one.ledger.advance(kStart + 2'000'000);
    one.ledger.watch(kMm);
    one.ledger.advance(kStart + 9'000'000);
    const CounterReading reading = one.reading_of(1'000, {{0, members(0, 11)}});
    EXPECT_EQ(one.ledger.compare(reading, kStart + 5'000'000, kStart + 5'100'000).disagreements, 0);
    EXPECT_TRUE(one.ledger.view(kMm)->suspect);
    EXPECT_EQ(one.ledger.compare(reading, kStart + 504'000'000, kStart + 504'100'000).disagreements, 0);
    one.ledger.watch(kMm);
    EXPECT_EQ(one.ledger.compare(reading, kStart + 506'000'000, kStart + 506'100'000).disagreements, 1);
    const MmView view = one.later();
    EXPECT_FALSE(view.suspect);
    EXPECT_EQ(view.exact(), members(0, 1'011));
    EXPECT_EQ(view.baseline, members(0, 1'010));
    EXPECT_EQ(row(view, 4711).net, members(0, 1));
    EXPECT_EQ(view.disagreements, 1U);
    EXPECT_EQ(view.resyncs, 1U);
    // The missing record may be of either task.
    EXPECT_EQ(row(view, 4711).uncertain, Pages{512});
    EXPECT_EQ(row(view, 4712).uncertain, Pages{512});
}

TEST(Ledger, WaitsForTheRecordOfWhatAReadingHasSeen) {
    // The CPU was interrupted between its update and its record's time, and a reading came first.
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}, {1, members(0, 31)}});
    one.ledger.watch(kMm);
    const CounterReading reading = one.reading_of(1'032, {{0, members(0, 8)}});
    const Check check = one.ledger.compare(reading, kStart + 5'000'000, kStart + 5'100'000);
    EXPECT_EQ(check.disagreements, 0);
    EXPECT_FALSE(check.quiet);
    EXPECT_TRUE(one.ledger.view(kMm)->suspect);
    one.update(90'000'000, 4711, 0, 1'000, 8);
    EXPECT_TRUE(one.ledger.view(kMm)->suspect) << "the record of the fold has not come";
    one.update(95'000'000, 4712, 1, 1'032, 0, kFault);
    one.update(96'000'000, 4711, 0, 1'032, 9);
    const MmView view = one.later();
    EXPECT_FALSE(view.suspect);
    EXPECT_EQ(view.disagreements, 0U);
    EXPECT_EQ(view.resyncs, 0U);
    EXPECT_EQ(row(view, 4711).net, members(0, 2));
    EXPECT_EQ(row(view, 4711).uncertain, Pages{0});
}

TEST(Ledger, DisagreesAtTheEndWithWhatNoRecordHasExplained) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    one.ledger.watch(kMm);
    for (const std::uint64_t at : {5'000'000, 6'000'000})
        one.ledger.compare(one.reading_of(1'000, {{0, members(0, 11)}}), kStart + at, kStart + at + 100'000);
    one.ledger.settle_all();
    EXPECT_EQ(one.ledger.view(kMm)->disagreements, 1U);
}

TEST(Ledger, SettlesWhatIsOpenAsMostLikelyWhereAReadingDiffers) {
    LedgerOf one(Scheme::Thread);
    zap_by_both(one);
    one.ledger.watch(kMm);
    EXPECT_EQ(one.ledger.compare(one.reading_of(777), kStart + 5'000'000, kStart + 5'100'000).disagreements, 0);
    EXPECT_EQ(one.ledger.compare(one.reading_of(777), kStart + 605'000'000, kStart + 605'100'000).disagreements, 1);
    const MmView view = one.later();
    EXPECT_EQ(view.exact(), members(0, 777));
    EXPECT_LE(std::abs(row(view, 4711).net.rss().n + 40), row(view, 4711).uncertain.n);
    EXPECT_LE(std::abs(row(view, 4712).net.rss().n + 60), row(view, 4712).uncertain.n);
    EXPECT_GE(row(view, 4711).uncertain, Pages{512});
}

TEST(Ledger, TakesAReadingForEvidenceOfTheOrder) {
    // The CPU was interrupted between its update and its record's time; another CPU's updates came in between.
    LedgerOf one(Scheme::Thread);
    one.fault(100, 4712, 66);
    one.update(200, 4711, 0, 1'036, 0);
    one.update(500, 4712, 1, 1'066, 66, kFault | RSSLAG_THRESHOLD);
    one.ledger.watch(kMm);
    const Check check = one.ledger.compare(one.reading_of(1'036), kStart + 5'000'000, kStart + 5'100'000);
    EXPECT_EQ(check.disagreements, 0);
    const MmView view = one.later();
    EXPECT_EQ(view.exact(), members(0, 1'036));
    EXPECT_EQ(view.baseline, members(0, 1'000));
    EXPECT_EQ(row(view, 4711).net, members(0, -30));
    EXPECT_EQ(row(view, 4712).net, members(0, 66));
    EXPECT_EQ(row(view, 4712).uncertain, Pages{0});
}

TEST(Ledger, FindsNothingWrongWithAValueHeldWithinAMillisecond) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    one.ledger.watch(kMm);
    one.update(4'500'000, 4711, 0, 1'000, 8);
    one.update(5'500'000, 4711, 0, 1'000, 9);
    one.ledger.advance(kStart + 9'000'000);
    const Check check =
        one.ledger.compare(one.reading_of(1'000, {{0, members(0, 7)}}), kStart + 5'000'000, kStart + 5'100'000);
    EXPECT_FALSE(check.quiet);
    EXPECT_EQ(check.disagreements, 0);
    EXPECT_EQ(one.later().exact(), members(0, 1'009));
}

TEST(Ledger, TakesOverWhatThreadsCacheSinceTheirLastRecord) {
    LedgerOf one(Scheme::Thread);
    one.fault(100, 4712, 9);
    one.ledger.advance(kStart + 2'000'000);
    one.ledger.watch(kMm);
    CounterReading reading = one.reading_of(1'000);
    reading.tasks[1].cached = members(4, 10);
    one.ledger.advance(kStart + 9'000'000);
    EXPECT_EQ(one.ledger.compare(reading, kStart + 5'000'000, kStart + 5'100'000).disagreements, 0);
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4712).net, members(4, 10));
    EXPECT_EQ(view.exact(), members(4, 1'010));
    EXPECT_EQ(view.baseline, members(0, 1'000));
    EXPECT_EQ(view.resyncs, 0U);
}

TEST(Ledger, MissesNothingWhereATaskWithoutARecordCaches) {
    LedgerOf one(Scheme::Thread);
    one.update(100, 4711, 0, 1'003, 3);
    one.ledger.advance(kStart + 100'000'000);
    one.ledger.watch(kMm);
    CounterReading reading = one.reading_of(1'003);
    reading.tasks.push_back(task(4999, members(51, 6)));
    const Check check = one.ledger.compare(reading, kStart + 105'000'000, kStart + 105'100'000);
    EXPECT_TRUE(check.quiet);
    EXPECT_EQ(check.disagreements, 0);
    const MmView view = one.later();
    EXPECT_EQ(view.remainder, Members{});
    EXPECT_EQ(view.exact(), members(0, 1'003));
    EXPECT_EQ(row(view, 4711).net, members(0, 3));
}

TEST(Ledger, ReportsWhatAFoldAddsToTheCounter) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 31)}});
    const Applied applied = one.update(1'000, 4711, 0, 1'032, 0, kFault);
    ASSERT_NE(applied.ticket, 0U);
    one.ledger.advance(kStart + kLater);
    const std::vector<SettledUpdate> settled = one.ledger.take_settled();
    ASSERT_EQ(settled.size(), 1U);
    EXPECT_EQ(settled[0].ticket, applied.ticket);
    EXPECT_EQ(settled[0].pages, Pages{1});
    EXPECT_EQ(settled[0].reason, FlushReason::Fold);
    EXPECT_EQ(settled[0].folded, Pages{32});
}

TEST(Ledger, WaitsForTheRecordOfTheTaskThatMakesAnMm) {
    constexpr std::uint64_t kNew = kMm + 0x1000;
    LedgerOf one(Scheme::Cpu);
    EXPECT_FALSE(one.ledger.being_built(kMm));
    EXPECT_FALSE(one.ledger.being_built(kNew));
    EXPECT_FALSE(one.ledger.building());
    one.update(100, 4711, 0, 1, 1, kOwn | RSSLAG_NEWBORN, kNew);
    EXPECT_TRUE(one.ledger.being_built(kNew));
    EXPECT_TRUE(one.ledger.building());
    EXPECT_FALSE(one.ledger.has(kNew));
    one.task_record(200, RSSLAG_EXEC, 0, 4711, 4711, kNew, "other");
    EXPECT_FALSE(one.ledger.being_built(kNew));
    EXPECT_FALSE(one.ledger.building());
    EXPECT_TRUE(one.ledger.has(kNew));

    one.update(300, 4711, 0, 1, 1, kOwn | RSSLAG_NEWBORN, kNew + 0x1000);
    EXPECT_TRUE(one.ledger.being_built(kNew + 0x1000));
    one.ledger.records_lost();
    EXPECT_FALSE(one.ledger.being_built(kNew + 0x1000)) << "its record may be lost";
    EXPECT_FALSE(one.ledger.building());

    one.update(400, 4711, 0, 1, 1, kOwn | RSSLAG_NEWBORN, kNew + 0x2000);
    EXPECT_TRUE(one.ledger.building());
    one.ledger.advance(kStart + 2 * kLater);
    EXPECT_TRUE(one.ledger.being_built(kNew + 0x2000));
    EXPECT_FALSE(one.ledger.building()) << "no fork or exec takes that long";
}

TEST(Ledger, EndsAGroupWhoseExitWasLost) {
    LedgerOf one(Scheme::Cpu);
    one.update(100, 4711, 0, 1'000, 30);
    one.ledger.records_lost();
    one.ledger.vanished(4711);
    one.ledger.vanished(4711);
    EXPECT_TRUE(one.ledger.groups().empty());
    const std::vector<Ended> ended = one.ledger.take_ended(true);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].group.state, State::Exited);
    EXPECT_EQ(ended[0].mm.exited.threads, 2U);
    EXPECT_FALSE(one.ledger.leaving());
}

TEST(Ledger, AnUpdateIsByOthersOnlyIfItsTaskDoesNotLiveInTheMm) {
    for (const Scheme scheme : {Scheme::Cpu, Scheme::Thread}) {
        LedgerOf one(scheme);
        // CLONE_VM without CLONE_THREAD, and -p selects only the first of the two processes.
        one.task_record(50, RSSLAG_NEWTASK, RSSLAG_SHARES_MM, 4800, 4800, kMm, "sharer");
        EXPECT_FALSE(one.update(100, 4800, 0, 990, 0, RSSLAG_OWN | RSSLAG_BY_OTHER).by_other);
        EXPECT_FALSE(one.update(200, 4711, 1, 980, 0).by_other);
        EXPECT_TRUE(one.update(300, 99, 2, 970, 0, RSSLAG_BY_OTHER).by_other);
        one.task_record(400, RSSLAG_NEWTASK, RSSLAG_TRACED, 4900, 4900, kMm + 0x1000, "child");
        EXPECT_TRUE(one.update(500, 4900, 3, 960, 0, 0).by_other) << "of a traced process, but of another mm";
        EXPECT_FALSE(one.update(600, 4711, 1, 1, 0, RSSLAG_NEWBORN, kMm + 0x2000).by_other) << "it makes the mm";
        const MmView view = one.later();
        EXPECT_EQ(view.updates, 2U);
        EXPECT_EQ(view.updates_by_others, 2U);
    }
}

TEST(Ledger, HasTheLeastAndTheMostSinceTheWatch) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    one.update(100, 4711, 0, 1'000, 30);
    one.ledger.watch(kMm);
    one.update(200, 4711, 0, 1'000, -8);
    one.update(300, 4711, 0, 1'000, 12);
    const MmView view = one.later();
    EXPECT_EQ(view.rss_min, Pages{992});
    EXPECT_EQ(view.rss_max, Pages{1'030});
}

}  // namespace
}  // namespace rsslag::core::test
