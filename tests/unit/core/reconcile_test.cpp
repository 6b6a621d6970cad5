// SPDX-License-Identifier: BSD-2-Clause
#include "core/reconcile.h"

#include <gtest/gtest.h>

#include "readings.h"

namespace rsslag::core {
namespace {

using test::bracket;
using test::kPageSize;
using test::kStillRss;
using test::members;
using test::still;
using test::still_on_cpus;

using Causes = std::vector<ResidualCause>;

Bracket rest(std::int64_t walked_pages) {
    return bracket(still(), still(), walked_pages);
}

/// rest() with the anonymous pages of the page tables.
Bracket rest_with_anonymous(std::int64_t walked_pages, std::int64_t anonymous_pages) {
    Bracket result = rest(walked_pages);
    result.walk->anonymous = kPageSize.kb({anonymous_pages});
    return result;
}

Evidence poisoned(std::int64_t pages) {
    Evidence evidence;
    evidence.poisoned = Pages{pages};
    return evidence;
}

Evidence mapped(std::int64_t pages) {
    Evidence evidence;
    evidence.mapped = Pages{pages};
    return evidence;
}

Evidence in_execve() {
    Evidence evidence;
    evidence.in_execve = true;
    return evidence;
}

TEST(CounterReadings, AddUpWhatTasksAndCpusCache) {
    EXPECT_EQ(still().cached(), members(4, 29, 5));
    EXPECT_EQ(still().exact(), members(204, 729, 55, 12));
    EXPECT_EQ(still_on_cpus().cached(), members(4, 29, 5));
    EXPECT_EQ(still_on_cpus().exact().rss(), Pages{kStillRss});
}

TEST(CounterReadings, TakeTheMmAsItIsAfterTheTasks) {
    CounterReading torn = still_on_cpus();
    torn.last.flushed = members(300, 700, 50, 12);
    torn.last.cpus = {{1, members(0, 2)}};
    EXPECT_EQ(torn.flushed(), members(300, 700, 50, 12));
    EXPECT_EQ(torn.cached(), members(0, 2));
}

TEST(Reconcile, AgreesWhereTheWalkSawWhatIsExact) {
    for (const CounterReading &reading : {still(), still_on_cpus()}) {
        const Reconciliation result = reconcile(bracket(reading, reading, kStillRss), kPageSize);
        EXPECT_EQ(result.verdict, Verdict::Agrees);
        EXPECT_EQ(result.residual, Pages{0});
        EXPECT_TRUE(result.causes.empty());
        EXPECT_EQ(result.flushed, members(200, 700, 50, 12));
        EXPECT_EQ(result.cached, members(4, 29, 5));
        EXPECT_EQ(result.exact, result.flushed + result.cached);
        EXPECT_EQ(result.window.min, Pages{kStillRss});
        EXPECT_EQ(result.window.max, Pages{kStillRss});
    }
}

TEST(Reconcile, GoesByTheMachinesPageSize) {
    Bracket large = rest(0);
    large.walk->rss = {kStillRss * 64};
    EXPECT_EQ(reconcile(large, PageSize{65536}).verdict, Verdict::Agrees);
    EXPECT_EQ(reconcile(large, PageSize{4096}).verdict, Verdict::Unexplained);
}

TEST(Reconcile, CallsEveryPageWithoutACauseUnexplained) {
    const Reconciliation more = reconcile(rest(kStillRss + 3), kPageSize);
    EXPECT_EQ(more.verdict, Verdict::Unexplained);
    EXPECT_EQ(more.residual, Pages{3});
    EXPECT_EQ(more.causes, (Causes{{Cause::Unexplained, {3}}}));
    const Reconciliation less = reconcile(rest(kStillRss - 1), kPageSize);
    EXPECT_EQ(less.verdict, Verdict::Unexplained);
    EXPECT_EQ(less.residual, Pages{-1});
    EXPECT_EQ(less.causes, (Causes{{Cause::Unexplained, {-1}}}));
}

TEST(Reconcile, NeverCountsSwapAsResident) {
    CounterReading swapped = still();
    swapped.first.flushed.swap = {9000};
    swapped.last = swapped.first;
    EXPECT_EQ(reconcile(bracket(swapped, swapped, kStillRss), kPageSize).verdict, Verdict::Agrees);
}

TEST(Reconcile, LeavesTheResidualOpenWithoutAWalk) {
    for (const WalkState state : {WalkState::Skipped, WalkState::Denied, WalkState::Gone, WalkState::Unsupported}) {
        Bracket unwalked = rest(0);
        unwalked.walk_state = state;
        unwalked.walk.reset();
        const Reconciliation result = reconcile(unwalked, kPageSize);
        EXPECT_EQ(result.verdict, Verdict::Unwalked);
        EXPECT_EQ(result.residual, std::nullopt);
        EXPECT_TRUE(result.causes.empty());
        EXPECT_EQ(result.exact.rss(), Pages{kStillRss});
    }
}

TEST(Reconcile, TakesOneReadingWhereNothingWasWalked) {
    Bracket single;
    single.readings = {still()};
    EXPECT_EQ(reconcile(single, kPageSize).exact.rss(), Pages{kStillRss});
}

TEST(ReconcileMoving, NeverAgreesEvenWhereTheNumbersDo) {
    CounterReading faulted = still();
    faulted.tasks[0].faults_before += 50;
    faulted.tasks[0].faults_after += 50;
    const Reconciliation result = reconcile(bracket(still(), faulted, kStillRss), kPageSize);
    EXPECT_EQ(result.verdict, Verdict::Moving);
    EXPECT_EQ(result.residual, Pages{0});
    EXPECT_TRUE(result.causes.empty());
}

TEST(ReconcileMoving, IsTheCauseOfAWalkThatDiffersBetweenEqualCounters) {
    CounterReading faulted = still();
    faulted.tasks[0].faults_before += 50;
    faulted.tasks[0].faults_after += 50;
    const Reconciliation result = reconcile(bracket(still(), faulted, kStillRss + 50), kPageSize);
    EXPECT_EQ(result.verdict, Verdict::Moving);
    EXPECT_EQ(result.residual, Pages{50});
    EXPECT_EQ(result.causes, (Causes{{Cause::Moved, {50}}}));
}

CounterReading grown(std::int64_t pages) {
    CounterReading reading = still();
    reading.first.flushed.anon.n += pages;
    reading.last = reading.first;
    return reading;
}

TEST(ReconcileMoving, MeasuresTheDistanceFromTheWindowOnEitherSide) {
    const auto at = [](std::int64_t walked) { return reconcile(bracket(still(), grown(100), walked), kPageSize); };
    EXPECT_EQ(at(kStillRss - 7).residual, Pages{-7});
    EXPECT_EQ(at(kStillRss - 7).causes, (Causes{{Cause::Moved, {-7}}}));
    for (const std::int64_t inside : {kStillRss, kStillRss + 40, kStillRss + 100}) {
        EXPECT_EQ(at(inside).residual, Pages{0}) << inside;
        EXPECT_TRUE(at(inside).causes.empty()) << inside;
        EXPECT_EQ(at(inside).verdict, Verdict::Moving) << inside;
    }
    EXPECT_EQ(at(kStillRss + 112).residual, Pages{12});
    EXPECT_EQ(at(kStillRss).window.min, Pages{kStillRss});
    EXPECT_EQ(at(kStillRss).window.max, Pages{kStillRss + 100});
}

TEST(ReconcileMoving, HasTheSameWindowForAProcessThatShrinks) {
    const Reconciliation result = reconcile(bracket(grown(100), still(), kStillRss + 50), kPageSize);
    EXPECT_EQ(result.window.min, Pages{kStillRss});
    EXPECT_EQ(result.window.max, Pages{kStillRss + 100});
    EXPECT_EQ(result.exact.rss(), Pages{kStillRss});
}

TEST(ReconcileMoving, SpansTheWindowOverEveryReading) {
    Bracket three = bracket(still(), grown(100), kStillRss + 50);
    three.readings.push_back(still());
    const Reconciliation result = reconcile(three, kPageSize);
    EXPECT_EQ(result.verdict, Verdict::Moving);
    EXPECT_EQ(result.window.max, Pages{kStillRss + 100});
    EXPECT_EQ(result.residual, Pages{0});
}

TEST(ReconcileMoving, TakesBothEndsOfATornPassIntoTheWindow) {
    CounterReading torn = still();
    torn.last.flushed = torn.first.flushed + torn.tasks[1].cached;  // 28 pages were flushed after their task was read
    const Reconciliation result = reconcile(bracket(torn, torn, kStillRss), kPageSize);
    EXPECT_EQ(result.verdict, Verdict::Moving);
    EXPECT_EQ(result.window.min, Pages{kStillRss});
    EXPECT_EQ(result.window.max, Pages{kStillRss + 28});
    EXPECT_EQ(result.residual, Pages{0});
}

TEST(ReconcileMoving, TakesBothEndsOfATornPassOverCpus) {
    CounterReading torn = still_on_cpus();
    torn.last.cpus[1].cached = {};  // 28 pages were folded, and the count was read before that
    const Reconciliation result = reconcile(bracket(torn, torn, kStillRss), kPageSize);
    EXPECT_EQ(result.window.min, Pages{kStillRss - 28});
    EXPECT_EQ(result.window.max, Pages{kStillRss});
}

TEST(ReconcileMoving, IsNotExplainedAwayByEvidence) {
    Evidence all = poisoned(50);
    all.in_execve = true;
    all.mapped = Pages{0};
    CounterReading faulted = still();
    faulted.tasks[0].faults_before += 1;
    faulted.tasks[0].faults_after += 1;
    for (const std::int64_t off : {-50, 50}) {
        const Reconciliation result = reconcile(bracket(still(), faulted, kStillRss + off), kPageSize, all);
        EXPECT_EQ(result.verdict, Verdict::Moving);
        EXPECT_EQ(result.causes, (Causes{{Cause::Moved, {off}}}));
    }
}

TEST(Hwpoison, ExplainsExactlyItsPages) {
    const Reconciliation result = reconcile(rest(kStillRss + 3), kPageSize, poisoned(3));
    EXPECT_EQ(result.verdict, Verdict::Explained);
    EXPECT_EQ(result.causes, (Causes{{Cause::Hwpoison, {3}}}));
}

TEST(Hwpoison, LeavesTheRestUnexplained) {
    const Reconciliation result = reconcile(rest(kStillRss + 5), kPageSize, poisoned(3));
    EXPECT_EQ(result.verdict, Verdict::Unexplained);
    EXPECT_EQ(result.causes, (Causes{{Cause::Hwpoison, {3}}, {Cause::Unexplained, {2}}}));
}

TEST(Hwpoison, IsNotBlamedForLessThanItWouldExplain) {
    const Reconciliation result = reconcile(rest(kStillRss + 2), kPageSize, poisoned(3));
    EXPECT_EQ(result.verdict, Verdict::Unexplained);
    EXPECT_EQ(result.causes, (Causes{{Cause::Unexplained, {2}}}));
}

TEST(Hwpoison, IsNotBlamedWhereTheWalkSawLess) {
    EXPECT_EQ(reconcile(rest(kStillRss - 3), kPageSize, poisoned(3)).verdict, Verdict::Unexplained);
    EXPECT_EQ(reconcile(rest(kStillRss + 3), kPageSize, poisoned(0)).causes, (Causes{{Cause::Unexplained, {3}}}));
}

TEST(Hwpoison, DoesNotTurnAgreementIntoAResidual) {
    EXPECT_EQ(reconcile(rest(kStillRss), kPageSize, poisoned(3)).verdict, Verdict::Agrees);
}

TEST(ExecArguments, ExplainADeficitOfAnonWithinAnExecve) {
    const Reconciliation result = reconcile(rest_with_anonymous(kStillRss - 33, 729 - 33), kPageSize, in_execve());
    EXPECT_EQ(result.verdict, Verdict::Explained);
    EXPECT_EQ(result.causes, (Causes{{Cause::ExecArguments, {-33}}}));
}

TEST(ExecArguments, AreNotBlamedOutsideAnExecve) {
    EXPECT_EQ(reconcile(rest_with_anonymous(kStillRss - 33, 729 - 33), kPageSize).causes,
              (Causes{{Cause::Unexplained, {-33}}}));
}

TEST(ExecArguments, AreNotBlamedForADeficitOutsideAnon) {
    EXPECT_EQ(reconcile(rest_with_anonymous(kStillRss - 33, 729), kPageSize, in_execve()).verdict,
              Verdict::Unexplained);
    EXPECT_EQ(reconcile(rest_with_anonymous(kStillRss - 33, 729 - 32), kPageSize, in_execve()).causes,
              (Causes{{Cause::Unexplained, {-33}}}));
}

TEST(ExecArguments, AreNoCauseWhereTheWalkHasNoAnon) {
    EXPECT_EQ(reconcile(rest(kStillRss - 33), kPageSize, in_execve()).verdict, Verdict::Unexplained);
}

TEST(ExecArguments, AreNotBlamedWhereTheWalkSawMore) {
    EXPECT_EQ(reconcile(rest_with_anonymous(kStillRss + 33, 729 + 33), kPageSize, in_execve()).causes,
              (Causes{{Cause::Unexplained, {33}}}));
}

TEST(ExecArguments, ExplainAtMostSixMiBAndAPage) {
    const auto with_deficit = [](std::int64_t pages) {
        CounterReading large = grown(10'000);
        Bracket result = bracket(large, large, kStillRss + 10'000 - pages);
        result.walk->anonymous = kPageSize.kb({10'729 - pages});
        return reconcile(result, kPageSize, in_execve()).verdict;
    };
    EXPECT_EQ(with_deficit(1536), Verdict::Explained);
    EXPECT_EQ(with_deficit(1537), Verdict::Explained);
    EXPECT_EQ(with_deficit(1538), Verdict::Unexplained);
}

TEST(InFlight, ExplainsADeficitWithinWhatIsStillBeingUnmapped) {
    for (const std::int64_t detached : {33, 34, 4000}) {
        const Reconciliation result = reconcile(rest(kStillRss - 33), kPageSize, mapped(5000 - detached));
        EXPECT_EQ(result.verdict, Verdict::Explained) << detached;
        EXPECT_EQ(result.causes, (Causes{{Cause::InFlight, {-33}}})) << detached;
    }
}

TEST(InFlight, IsNotBlamedForMoreThanIsBeingUnmapped) {
    for (const std::int64_t detached : {-100, 0, 32}) {
        EXPECT_EQ(reconcile(rest(kStillRss - 33), kPageSize, mapped(5000 - detached)).causes,
                  (Causes{{Cause::Unexplained, {-33}}}))
            << detached;
    }
}

TEST(InFlight, IsNotBlamedWhereTheWalkSawMoreOrTheMappingsAreUnknown) {
    EXPECT_EQ(reconcile(rest(kStillRss + 33), kPageSize, mapped(0)).verdict, Verdict::Unexplained);
    EXPECT_EQ(reconcile(rest(kStillRss - 33), kPageSize, Evidence{}).verdict, Verdict::Unexplained);
}

TEST(Causes, GiveEachPageOneCauseOnly) {
    Evidence both = mapped(0);
    both.in_execve = true;
    EXPECT_EQ(reconcile(rest_with_anonymous(kStillRss - 33, 729 - 33), kPageSize, both).causes,
              (Causes{{Cause::ExecArguments, {-33}}}));
}

TEST(Names, OfVerdictsCausesAndWalksAreThoseOfTheJson) {
    EXPECT_EQ(name(Verdict::Agrees), "agrees");
    EXPECT_EQ(name(Verdict::Explained), "explained");
    EXPECT_EQ(name(Verdict::Moving), "moving");
    EXPECT_EQ(name(Verdict::Unexplained), "unexplained");
    EXPECT_EQ(name(Verdict::Unwalked), "unwalked");
    EXPECT_EQ(name(Cause::Moved), "moved");
    EXPECT_EQ(name(Cause::ExecArguments), "exec_arguments");
    EXPECT_EQ(name(Cause::InFlight), "in_flight");
    EXPECT_EQ(name(Cause::Hwpoison), "hwpoison");
    EXPECT_EQ(name(Cause::Unexplained), "unexplained");
    EXPECT_EQ(name(WalkState::Done), "done");
    EXPECT_EQ(name(WalkState::Skipped), "skipped");
    EXPECT_EQ(name(WalkState::Denied), "denied");
    EXPECT_EQ(name(WalkState::Gone), "gone");
    EXPECT_EQ(name(WalkState::Unsupported), "unsupported");
    EXPECT_EQ(name(WalkFile::Smaps), "smaps");
    EXPECT_EQ(name(WalkFile::SmapsRollup), "smaps_rollup");
}

}  // namespace
}  // namespace rsslag::core
