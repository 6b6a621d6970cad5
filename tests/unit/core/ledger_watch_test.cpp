// SPDX-License-Identifier: BSD-2-Clause
// Late records, and comparisons with readings: several in one watch, and errors that are visible only in sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "../../long_only.h"
#include "core/ledger.h"
#include "ledger_of.h"
#include "ledger_oracle.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kChild = 0xffff888000002000;

/// How long it takes to apply a record made while a process of this many tasks was first read.
double record_while_adopted(int tasks) {
    constexpr int kRecords = 2'000;
    CounterReading reading;
    reading.scheme = Scheme::Thread;
    reading.mm = kMm;
    reading.first = reading.last = mm(members(0, 1'000));
    for (int i = 0; i < tasks; ++i)
        reading.tasks.push_back(task(4711 + i, members(0, 1)));
    Ledger ledger({Scheme::Thread, 4, 32});
    ledger.adopt(reading, {4711, 4711, "worker", kMm, State::Running}, kStart, kStart + kMs);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRecords; ++i) {
        rsslag_update record{};
        record.kind = RSSLAG_UPDATE;
        record.flags = kOwn;
        record.tid = 4711 + i % tasks;
        record.t_ns = kStart + static_cast<std::uint64_t>(i);
        record.mm = kMm;
        record.count = 1'000 + i;
        record.cached = 1;
        record.member = 1;
        ledger.apply(record);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(sum_of(*ledger.view(kMm)), ledger.view(kMm)->exact());
    return took.count();
}

TEST(Ledger, TakesNoLongerForARecordOfAProcessOfManyTasksWhileItIsAdopted) {
    RSSLAG_LONG_ONLY("it measures time");
    double few = 1;
    double many = 1;
    for (int i = 0; i < 5; ++i) {
        few = std::min(few, record_while_adopted(20));
        many = std::min(many, record_while_adopted(20'000));
    }
    EXPECT_LT(many, 30 * few) << "with 1,000 times as many tasks";
}

TEST(Ledger, DoesNotLetALateRecordTurnACountBack) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 4)}, {1, members(0, 31)}});
    one.update(500, 4712, 1, 1'032, 0, kFault);
    // CPU 0 was interrupted between reading its values and sending the record.
    EXPECT_EQ(one.update(300, 4711, 0, 1'000, 5, kFault).pages, Pages{1});
    EXPECT_EQ(one.ledger.view(kMm)->flushed, members(0, 1'032));
    const MmView view = one.later();
    EXPECT_EQ(view.exact(), members(0, 1'037));
    EXPECT_EQ(row(view, 4711).net, members(0, 1));
    EXPECT_EQ(row(view, 4712).net, members(0, 1));
    EXPECT_EQ(row(view, 4712).uncertain, Pages{0});
}

TEST(Ledger, TakesALateFoldForPossiblyAnothers) {
    LedgerOf one(Scheme::Cpu, {{1, members(0, 31)}});
    one.update(500, 4712, 1, 732, 0);  // includes the zap of 300 pages, whose record comes next
    one.update(300, 4711, 0, 700, 0);
    const MmView view = one.later();
    EXPECT_EQ(view.exact(), members(0, 732));
    EXPECT_EQ(sum_of(view), view.exact());
    EXPECT_LE(row(view, 4711).net.anon.n - row(view, 4711).uncertain.n, -300);
    EXPECT_GE(row(view, 4711).net.anon.n + row(view, 4711).uncertain.n, -300);
    EXPECT_LE(row(view, 4712).net.anon.n - row(view, 4712).uncertain.n, 1);
    EXPECT_GE(row(view, 4712).net.anon.n + row(view, 4712).uncertain.n, 1);
}

TEST(Ledger, TakesNothingForCertainWhileACpuWithoutARecordMayBeAtAnUpdate) {
    LedgerOf one(Scheme::Thread);
    one.update(100, 4711, 1, 700, 0);  // freed one page; the rest is 4712's, whose record comes last
    one.update(400, 4711, 1, 699, 0);
    one.update(800, 4711, 1, 698, 0);
    one.update(20'000, 4712, 0, 701, 0);
    const MmView view = one.later();
    EXPECT_EQ(sum_of(view), view.exact());
    const auto covers = [&view](int tid, std::int64_t truth) {
        const TaskNet &net = row(view, tid);
        return std::abs(net.net.anon.n - truth) <= net.uncertain.n;
    };
    EXPECT_TRUE(covers(4711, -3));
    EXPECT_TRUE(covers(4712, -299));
}

TEST(Ledger, DoesNotLetALateFlushTurnACountBack) {
    LedgerOf one(Scheme::Thread);
    one.fault(100, 4711, 7);
    one.fault(110, 4712, 9);
    one.update(90'500, 4712, 1, 1'016, 9);  // includes 4711's seven
    one.ledger.advance(kStart + 5 * kMs);
    one.update(90'400, 4711, 0, 1'007, 7);
    EXPECT_EQ(one.ledger.view(kMm)->flushed, members(0, 1'016));
    one.fault(6 * kMs, 4712, 0);
    const MmView view = one.later();
    EXPECT_EQ(view.flushed, members(0, 1'016));
    EXPECT_EQ(view.exact(), members(0, 1'016));
    EXPECT_EQ(sum_of(view), view.exact());
}

TEST(Ledger, CountsADisagreementOfTheSumWhereTheCountersAgree) {
    // CPU 1 folded without a record: its next update seems to have freed 28 pages.
    LedgerOf one(Scheme::Cpu, {{1, members(0, 31)}});
    one.update(100, 4711, 1, 1'032, 3, kFault);
    one.ledger.advance(kStart + 3 * kMs);
    one.ledger.watch(kMm);
    one.ledger.advance(kStart + 109 * kMs);
    const CounterReading reading = one.reading_of(1'032, {{1, members(0, 3)}});
    const Check check = one.ledger.compare(reading, kStart + 105 * kMs, kStart + 106 * kMs);
    EXPECT_TRUE(check.quiet);
    EXPECT_EQ(check.disagreements, 0) << "the counters equal those of the reading";
    const MmView view = one.later();
    EXPECT_EQ(view.disagreements, 1U);
    EXPECT_EQ(view.resyncs, 0U);
    EXPECT_EQ(view.exact(), members(0, 1'035));
    EXPECT_EQ(view.remainder, members(0, 32)) << "the remainder is in no task's net";
    EXPECT_EQ(view.baseline, members(0, 1'031));
    EXPECT_EQ(sum_of(view), view.exact());
    one.ledger.watch(kMm);
    EXPECT_EQ(one.ledger.compare(reading, kStart + 115 * kMs, kStart + 116 * kMs).disagreements, 0);
}

TEST(Ledger, ComparesAnMmWithBothGroupsThatShareIt) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    one.task_record(50, RSSLAG_NEWTASK, RSSLAG_SHARES_MM | RSSLAG_TRACED, 4800, 4800, kMm, "child");
    one.ledger.advance(kStart + 2 * kMs);
    one.ledger.begin_watch();
    one.ledger.watch(kMm);
    one.update(5'050'000, 4800, 0, 1'000, 8, kFault);
    one.update(7'050'000, 4711, 0, 1'000, 9, kFault);
    one.ledger.advance(kStart + 20 * kMs);
    const auto with_child = [&](std::int64_t cached) {
        CounterReading reading = one.reading_of(1'000, {{0, members(0, cached)}});
        reading.tasks.push_back(task(4800, {}, 4800));
        return reading;
    };
    EXPECT_EQ(one.ledger.compare(with_child(7), kStart + 5 * kMs, kStart + 5 * kMs + 100'000).disagreements, 0);
    EXPECT_EQ(one.ledger.compare(with_child(9), kStart + 7 * kMs, kStart + 7 * kMs + 100'000).disagreements, 0);
    one.ledger.end_watch();
    const MmView view = one.later();
    EXPECT_EQ(view.tasks.size(), 3U);
    EXPECT_EQ(row(view, 4800).net, members(0, 1));
    EXPECT_EQ(view.resyncs, 0U);
}

// An untraced process that shares the mm has no RENAME record, and after an exec no EXIT record.
TEST(Ledger, FollowsUntracedProcessesThatShareAnMm) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    for (const int tid : {4800, 4801, 4802})
        one.task_record(50, RSSLAG_NEWTASK, RSSLAG_SHARES_MM, tid, tid, kMm, "parent");
    one.update(1'000, 4800, 0, 1'000, 8, kFault | RSSLAG_BY_OTHER);
    one.update(2'000, 4801, 0, 1'000, 9, kFault | RSSLAG_BY_OTHER);
    one.task_record(3'000, RSSLAG_EXIT, RSSLAG_GROUP_DEAD, 4801, 4801, kMm, "ended");
    one.ledger.advance(kStart + 2 * kMs);
    one.ledger.begin_watch();
    one.ledger.watch(kMm);
    one.update(5'050'000, 4711, 0, 1'000, 10, kFault);
    one.task_record(5'060'000, RSSLAG_NEWTASK, RSSLAG_SHARES_MM, 4803, 4803, kMm, "parent");
    one.ledger.advance(kStart + 20 * kMs);
    CounterReading reading = one.reading_of(1'000, {{0, members(0, 10)}});
    reading.tasks.push_back(task(4800, {}, 4800));
    reading.tasks.back().comm = "renamed";
    EXPECT_FALSE(one.ledger.compare(reading, kStart + 5 * kMs, kStart + 5 * kMs + 100'000).quiet);
    one.ledger.end_watch();
    const MmView view = one.later();
    EXPECT_EQ(row(view, 4800).comm, "renamed");
    EXPECT_EQ(row(view, 4803).comm, "parent") << "it may be younger than the reading";
    EXPECT_EQ(view.tasks.size(), 4U);
    EXPECT_EQ(view.exited.threads, 2U) << "4802 has run an exec";
    const std::vector<EndedTask> ended = one.ledger.take_ended_tasks();
    ASSERT_EQ(ended.size(), 2U);
    const bool first = ended[0].task.host_tid == 4801;
    EXPECT_EQ(ended[first ? 0 : 1].task.comm, "ended");
    EXPECT_EQ(ended[first ? 1 : 0].task.comm, "parent");
}

TEST(Ledger, DisagreesOnceWhereTwoGroupsReadTheSameMm) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 7)}});
    one.ledger.advance(kStart + 2 * kMs);
    one.ledger.begin_watch();
    one.ledger.watch(kMm);
    one.ledger.advance(kStart + 20 * kMs);
    const CounterReading reading = one.reading_of(1'000, {{0, members(0, 11)}});
    EXPECT_EQ(one.ledger.compare(reading, kStart + 5 * kMs, kStart + 6 * kMs).disagreements, 0);
    EXPECT_EQ(one.ledger.compare(reading, kStart + 605 * kMs, kStart + 606 * kMs).disagreements, 1);
    EXPECT_EQ(one.ledger.compare(reading, kStart + 607 * kMs, kStart + 608 * kMs).disagreements, 0);
    one.ledger.end_watch();
    EXPECT_EQ(one.later().resyncs, 1U);
}

/// Forks a child with 40 pages at 3 ms.
void fork_child(LedgerOf &one) {
    one.update(3 * kMs - 2'000, 4711, 0, 40, 0, RSSLAG_NEWBORN, kChild);
    one.task_record(3 * kMs, RSSLAG_NEWTASK, RSSLAG_TRACED, 4800, 4800, kChild, "child");
}

CounterReading reading_of_child(std::int64_t anon, std::int64_t cached) {
    CounterReading reading;
    reading.scheme = Scheme::Cpu;
    reading.mm = kChild;
    reading.mm_users = 1;
    reading.first = mm(members(0, anon), {{1, members(0, cached)}});
    reading.last = reading.first;
    reading.tasks = {task(4800, {}, 4800)};
    return reading;
}

TEST(Ledger, ComparesAnMmThatWasBornInTheWatch) {
    LedgerOf one(Scheme::Cpu);
    one.ledger.begin_watch();
    one.ledger.watch(kMm);
    fork_child(one);
    one.update(5'050'000, 4800, 1, 40, 1, kFault, kChild);
    one.ledger.advance(kStart + 20 * kMs);
    // A reading of the state before that update …
    EXPECT_EQ(one.ledger.compare(reading_of_child(40, 0), kStart + 5 * kMs, kStart + 6 * kMs).disagreements, 0);
    // … and a reading of a state that never existed.
    EXPECT_TRUE(one.ledger.compare(reading_of_child(41, 1), kStart + 5 * kMs, kStart + 6 * kMs).known);
    EXPECT_TRUE(one.ledger.view(kChild)->suspect);
    one.ledger.begin_watch();
    one.ledger.watch(kChild);
    EXPECT_EQ(one.ledger.compare(reading_of_child(41, 1), kStart + 605 * kMs, kStart + 606 * kMs).disagreements, 1);
    one.ledger.end_watch();
}

TEST(Ledger, DoesNotCompareAnMmWithWhatWasReadBeforeItsBirth) {
    LedgerOf one(Scheme::Cpu);
    one.ledger.begin_watch();
    one.ledger.watch(kMm);
    fork_child(one);
    one.ledger.advance(kStart + 20 * kMs);
    EXPECT_FALSE(one.ledger.compare(reading_of_child(500, 9), kStart + 2 * kMs, kStart + 4 * kMs).known);
    EXPECT_EQ(one.ledger.view(kChild)->exact(), members(0, 40));
    one.ledger.end_watch();
}

TEST(Ledger, StartsANewMmWhereAnEmptyOneEndedWithoutARecord) {
    LedgerOf one(Scheme::Cpu);
    fork_child(one);
    one.update(4 * kMs, 4800, 1, 40, -7, kOwn, kChild);
    one.task_record(5 * kMs, RSSLAG_EXIT, RSSLAG_GROUP_DEAD, 4800, 4800, 0, "child");
    one.update(6 * kMs, 4711, 0, 33, 0, RSSLAG_NEWBORN, kChild);
    one.task_record(7 * kMs, RSSLAG_NEWTASK, RSSLAG_TRACED, 4801, 4801, kChild, "next");
    one.ledger.advance(kStart + kLater);
    const MmView view = one.ledger.view(kChild).value();
    EXPECT_EQ(view.exact(), members(0, 33));
    ASSERT_EQ(view.tasks.size(), 1U);
    EXPECT_EQ(view.tasks[0].host_tid, 4801);
}

// Another traced task's update of an mm with one user looks like one of a newborn mm: unmap_mapping_range().
TEST(Ledger, KeepsAnMmWhosePagesAnotherTakesAway) {
    LedgerOf one(Scheme::Cpu);
    fork_child(one);
    one.update(4 * kMs, 4800, 1, 40, -7, kOwn, kChild);
    one.update(6 * kMs, 4711, 1, 40, -9, RSSLAG_NEWBORN, kChild);
    one.ledger.advance(kStart + kLater);
    const MmView view = one.ledger.view(kChild).value();
    EXPECT_EQ(view.exact(), members(0, 31));
    ASSERT_EQ(view.tasks.size(), 1U);
    EXPECT_EQ(view.tasks[0].host_tid, 4800);
    ASSERT_EQ(view.others.size(), 1U);
    EXPECT_EQ(view.others[0].net, members(0, 40 - 2));  // the same task made the copy at fork
}

TEST(Ledger, IgnoresTheRenameOfAnExec) {
    LedgerOf one(Scheme::Cpu);
    one.task_record(100, RSSLAG_RENAME, RSSLAG_IN_EXECVE, 4711, 4711, kMm, "next");
    EXPECT_EQ(one.ledger.comm_of(4711), "worker");
    EXPECT_EQ(one.ledger.groups().at(0).comm, "worker");
    one.task_record(200, RSSLAG_RENAME, 0, 4711, 4711, kMm, "renamed");
    EXPECT_EQ(one.ledger.comm_of(4711), "renamed");
    EXPECT_EQ(one.ledger.groups().at(0).comm, "renamed");
}

}  // namespace
}  // namespace rsslag::core::test
