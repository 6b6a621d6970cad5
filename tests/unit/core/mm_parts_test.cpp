// SPDX-License-Identifier: BSD-2-Clause
// The parts of an mm's account, each by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/mm_check.h"
#include "core/mm_counters.h"
#include "core/mm_flushes.h"
#include "core/mm_histories.h"
#include "core/mm_peaks.h"
#include "core/mm_tasks.h"
#include "dice.h"
#include "readings.h"

namespace rsslag::core::test::mm_parts {
namespace {

constexpr std::size_t kAnon = 1;
constexpr std::uint64_t kMs = 1'000'000;

/// An update of anon by task 7 on this CPU.
rsslag_update update_at(std::uint64_t t_ns, int cpu, std::int64_t count, int cached = 0, std::uint16_t flags = 0) {
    rsslag_update update{};
    update.kind = RSSLAG_UPDATE;
    update.flags = flags;
    update.tid = 7;
    update.t_ns = t_ns;
    update.count = count;
    update.cached = cached;
    update.cpu = static_cast<rsslag_u16>(cpu);
    update.member = kAnon;
    return update;
}

/// Adds an open update of a CPU that cached nothing of its one page.
void add_open(MmHistories &histories, std::uint64_t t_ns, int cpu, std::uint64_t ticket, Account &account) {
    CounterEvent event = histories.event_of(update_at(t_ns, cpu, 1), account);
    event.update = true;
    event.moved = {{0, 1}};
    event.ticket = ticket;
    CounterHistory::Settled out;
    histories[kAnon].add(event, out);
    ASSERT_TRUE(out.updates.empty());
}

TEST(MmCounters, KeepsTheSumOfWhatCpusCache) {
    MmCounters counters(2);
    counters.set(counters.cell_of(0, kAnon), 5);
    counters.set(counters.cell_of(1, kAnon), -2);
    counters.set(counters.cell_of(0, kAnon), 6);
    EXPECT_EQ(counters.cached()[kAnon], 4);
    EXPECT_EQ(counters.cached_by(1)[kAnon], -2);
    EXPECT_EQ(counters.flushed()[kAnon], 0);
}

TEST(MmCounters, HasACellForEachValue) {
    MmCounters counters(2);
    for (const std::size_t cpu : {1, 0}) {
        const std::uint32_t first = counters.cell_of(cpu, 0);
        EXPECT_EQ(first, counters.cells() - kMembers);
    }
    for (std::uint32_t cell = 0; cell < counters.cells(); ++cell)
        counters.set(cell, 10 + cell);
    for (std::uint32_t cell = 0; cell < counters.cells(); ++cell)
        EXPECT_EQ(counters.value(cell), 10 + cell);
    EXPECT_EQ(counters.cells(), kMembers * 3);
}

TEST(MmCounters, HasCellsOfThoseCpusThatHadAValue) {
    MmCounters counters(8'192);
    EXPECT_EQ(counters.cells(), kMembers);
    counters.set(counters.cell_of(8'191, kAnon), 5);
    counters.set(counters.cell_of(7, kAnon), 3);
    counters.set(counters.cell_of(8'191, kAnon), 4);
    EXPECT_EQ(counters.cells(), kMembers * 3);
    EXPECT_EQ(counters.cached()[kAnon], 7);
    EXPECT_EQ(counters.cached_by(8'191)[kAnon], 4);
    EXPECT_EQ(counters.cached_by(100)[kAnon], 0);
    std::vector<int> cpus;
    for (const auto &[cpu, number] : counters.cpus_with_cells())
        cpus.push_back(cpu);
    EXPECT_EQ(cpus, (std::vector<int>{7, 8'191}));
}

TEST(MmCheck, AcceptsEachValueThatACellHeldDuringTheReading) {
    MmCheck check;
    check.watch({10, 20});
    check.held(0, 50 * kMs, 11, false);
    check.held(0, 51 * kMs, 12, false);
    for (const std::int64_t read : {10, 11, 12}) {
        const MmCheck::Comparison found = check.compare({read, 20}, 50 * kMs, 51 * kMs);
        EXPECT_EQ(found.off, (std::vector<std::int64_t>{0, 0}));
        EXPECT_EQ(found.changed, (std::vector<bool>{true, false}));
        EXPECT_FALSE(found.quiet);
    }
    EXPECT_EQ(check.compare({15, 18}, 50 * kMs, 51 * kMs).off, (std::vector<std::int64_t>{3, 2}));
}

TEST(MmCheck, IgnoresValuesFromLongBeforeTheReading) {
    MmCheck check;
    check.watch({10});
    check.held(0, 50 * kMs, 11, false);
    const MmCheck::Comparison found = check.compare({10}, 60 * kMs, 61 * kMs);
    EXPECT_EQ(found.off, std::vector<std::int64_t>{1});
    EXPECT_TRUE(found.quiet);
}

TEST(MmCheck, TakesACellThatIsAddedWhileWatchedForZeroBefore) {
    MmCheck check;
    check.watch({10});
    EXPECT_EQ(check.compare({10, 3}, 50 * kMs, 51 * kMs).off, (std::vector<std::int64_t>{0, 3}));
    check.held(1, 50 * kMs, 2, false);
    for (const std::int64_t read : {0, 2})
        EXPECT_EQ(check.compare({10, read}, 50 * kMs, 51 * kMs).off, (std::vector<std::int64_t>{0, 0}));
}

TEST(MmCheck, ConfirmsASuspicionThatNoRecordExplainsInTime) {
    MmCheck check;
    check.suspect(0, 100 * kMs, 11);
    EXPECT_FALSE(check.confirms(0, 500 * kMs));
    EXPECT_TRUE(check.confirms(0, 600 * kMs));
    check.explain(0, 12);
    EXPECT_TRUE(check.suspects());
    check.explain(0, 11);
    EXPECT_FALSE(check.suspects());
}

TEST(MmCheck, CountsEachCellOnceWhenItGivesUp) {
    MmCheck check;
    check.suspect(0, 100 * kMs, 11);
    check.suspect(0, 200 * kMs, 12);
    check.suspect(3, 200 * kMs, 1);
    EXPECT_EQ(check.give_up(), 2U);
    EXPECT_FALSE(check.suspects());
}

/// The same suspicions in a list.
struct ListedSuspicions {
    struct Each {
        std::uint32_t cell;
        std::uint64_t read_ns;
        std::int64_t value;
    };
    std::vector<Each> all;

    void explain(std::uint32_t cell, std::int64_t value) {
        std::erase_if(all, [=](const Each &each) { return each.cell == cell && each.value == value; });
    }
    void agrees(std::uint32_t cell) {
        std::erase_if(all, [=](const Each &each) { return each.cell == cell; });
    }
    bool confirms(std::uint32_t cell, std::uint64_t read_ns) const {
        return std::any_of(all.begin(), all.end(),
                           [=](const Each &each) { return each.cell == cell && each.read_ns + 500 * kMs <= read_ns; });
    }
    std::uint64_t give_up() {
        std::set<std::uint32_t> cells;
        for (const Each &each : std::exchange(all, {}))
            cells.insert(each.cell);
        return cells.size();
    }
};

TEST(MmCheck, FindsTheSuspicionsOfACell) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Dice dice(seed);
        MmCheck check;
        ListedSuspicions model;
        for (int i = 0; i < 500; ++i) {
            const auto cell = static_cast<std::uint32_t>(dice.between(0, 3));
            const std::uint64_t now = dice.ns(1, 20) * 100 * kMs;
            const std::int64_t value = dice.between(-2, 2);
            switch (dice.between(0, 9)) {
                case 0:
                    check.agrees(cell);
                    model.agrees(cell);
                    break;
                case 1: ASSERT_EQ(check.give_up(), model.give_up()); break;
                case 2:
                case 3:
                    check.explain(cell, value);
                    model.explain(cell, value);
                    break;
                default:
                    check.suspect(cell, now, value);
                    model.all.push_back({cell, now, value});
                    break;
            }
            ASSERT_EQ(check.confirms(cell, now), model.confirms(cell, now));
            ASSERT_EQ(check.suspects(), !model.all.empty());
        }
    }
}

/// Each of 8,192 CPUs has four cells. Visiting all suspicions for each cell would take many minutes.
TEST(MmCheck, VisitsTheSuspicionsOfOneCellOnly) {
    constexpr std::uint32_t kCells = 4 * 8'193;
    constexpr std::uint64_t kReadings = many(60);
    MmCheck check;
    for (std::uint64_t reading = 1; reading <= kReadings; ++reading) {
        for (std::uint32_t cell = 0; cell < kCells; ++cell) {
            ASSERT_FALSE(check.confirms(cell, reading * kMs));
            check.suspect(cell, reading * kMs, 1);
        }
    }
    EXPECT_EQ(check.give_up(), kCells);
}

TEST(MmTasks, KeepsTheSumWhenATaskEnds) {
    MmTasks tasks;
    tasks.set_cached(tasks.own(7), kAnon, 3);
    tasks.set_cached(tasks.own(8), kAnon, 4);
    tasks.add_flushed(tasks.own(7), kAnon, 10);
    EXPECT_EQ(tasks.cached()[kAnon], 7);
    EXPECT_EQ(tasks.net(), members(0, 17));
    tasks.set_cached(tasks.own(7), kAnon, 0);
    tasks.add_flushed(tasks.own(7), kAnon, 3);
    const int tag = tasks.end_own(7, 0, {}, 100);
    EXPECT_LE(tag, kFirstFormerTask);
    EXPECT_EQ(tasks.find_own(7), nullptr);
    EXPECT_EQ(tasks.of(tag).net(), members(0, 13));
    EXPECT_EQ(tasks.net(), members(0, 17));
    tasks.release(UINT64_MAX / 2, {tag}, 1, nullptr);
    EXPECT_TRUE(tasks.leaving(UINT64_MAX / 2));
    tasks.release(UINT64_MAX / 2, {}, 1, nullptr);
    EXPECT_FALSE(tasks.leaving(UINT64_MAX / 2));
    EXPECT_EQ(tasks.net(), members(0, 17));
}

/// Visiting all ended tasks at each watermark would take many minutes.
TEST(MmTasks, ReleasesThoseThatEndedLongEnoughAgo) {
    constexpr int kTasks = 20'000;
    constexpr std::uint64_t kEnd = 1'000 * kMs, kLast = kEnd + CounterHistory::kSilentNs;
    MmTasks tasks;
    std::vector<int> tags;
    for (int tid = 0; tid < kTasks; ++tid) {
        tasks.own(tid);
        tags.push_back(tasks.end_own(tid, 0, {}, kEnd + static_cast<std::uint64_t>(tid)));
    }
    std::vector<EndedTask> ended;
    for (int watermark = 0; watermark < many(1'000'000); ++watermark)
        tasks.release(kLast, {}, 1, &ended);
    EXPECT_TRUE(ended.empty());
    EXPECT_FALSE(tasks.leaving(kLast));
    tasks.release(kLast + 4, {tags[2]}, 1, &ended);
    std::vector<int> tids;
    for (const EndedTask &each : ended)
        tids.push_back(each.task.host_tid);
    EXPECT_EQ(tids, (std::vector<int>{3, 1, 0})) << "an update of task 2 is open, and task 4 ended a moment later";
    EXPECT_TRUE(tasks.leaving(kLast + 4));
}

TEST(MmTasks, FindsAMemberByItsPresentTid) {
    MmTasks tasks;
    tasks.own(8).updates = 5;
    EXPECT_FALSE(tasks.rename_own(9, 7));
    EXPECT_TRUE(tasks.rename_own(8, 7));
    EXPECT_EQ(tasks.own(7).updates, 5U);
    EXPECT_EQ(tasks.tid_now(8), 7);
    EXPECT_EQ(tasks.tid_now(6), 6);
}

TEST(MmHistories, StartsAnUpdateAfterTheLastRecordsOfItsCpuAndTask) {
    MmHistories histories(Scheme::Thread, 2);
    Account account;
    EXPECT_EQ(histories.event_of(update_at(100, 0, 1), account).begin_ns, 0U);
    EXPECT_EQ(histories.event_of(update_at(200, 1, 2), account).begin_ns, 100U);
    Account other;
    const CounterEvent event = histories.event_of(update_at(300, 0, 3), other);
    EXPECT_EQ(event.begin_ns, 100U);
    EXPECT_EQ(event.end_ns, 300U);
    EXPECT_EQ(event.tid, 7);
}

TEST(MmHistories, IsCompleteUpToTheOldestCpuThatIsNotSilent) {
    MmHistories histories(Scheme::Cpu, 2);
    Account account;
    const std::uint64_t now = 1'000 * kMs;
    EXPECT_EQ(histories.complete_ns(now), now - kLongestDelayNs);
    histories.event_of(update_at(now - 10 * kMs, 0, 1), account);
    EXPECT_EQ(histories.complete_ns(now), now - 10 * kMs);
    EXPECT_EQ(histories.complete_ns(now + 100 * kMs), now + 100 * kMs - kLongestDelayNs);
}

/// complete_ns() is called for each mm at each watermark.
TEST(MmHistories, VisitsThoseCpusThatHadARecord) {
    MmHistories histories(Scheme::Cpu, 8'192);
    Account account;
    EXPECT_EQ(histories.cpus_seen(), 0U);
    const std::uint64_t now = 1'000 * kMs;
    for (const int cpu : {8'191, 3, 8'191})
        histories.event_of(update_at(now, cpu, 1), account);
    EXPECT_EQ(histories.cpus_seen(), 2U);
    EXPECT_EQ(histories.complete_ns(now), now - kLongestDelayNs) << "the other CPUs are silent";
    EXPECT_FALSE(histories.has_cpu(8'192));
}

TEST(MmHistories, ListsWhatIsOpen) {
    MmHistories histories(Scheme::Cpu, 2);
    Account account;
    EXPECT_TRUE(histories.settled());
    add_open(histories, 100, 0, 1, account);
    add_open(histories, 200, 1, 2, account);
    EXPECT_FALSE(histories.settled());
    EXPECT_EQ(histories.open_tickets(), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_TRUE(histories.open_former_tasks().empty());
    histories.retag(7, kFirstFormerTask);
    EXPECT_EQ(histories.open_former_tasks(), std::unordered_set<int>{kFirstFormerTask});
    histories.reset({});
    EXPECT_TRUE(histories.settled());
}

TEST(MmFlushes, CountsAFlushOfSeveralMembersOnce) {
    MmFlushes flushes(1);
    Account account;
    for (const rsslag_u8 member : std::to_array<rsslag_u8>({0, 1, 3})) {
        rsslag_update update = update_at(100, 0, 20, 5, RSSLAG_OWN | RSSLAG_THRESHOLD);
        update.member = member;
        CounterEvent event;
        const MmFlushes::Started started = flushes.start(update, member + 1U, 15, false, account, event);
        EXPECT_EQ(started.sure, FlushReason::Threshold);
        EXPECT_TRUE(started.empties);
        EXPECT_TRUE(event.moved.has(5));
    }
    EXPECT_EQ(flushes.counts()[static_cast<std::size_t>(FlushReason::Threshold)], 1U);
    EXPECT_EQ(account.flushes, 1U);
}

TEST(MmFlushes, TakesBackAFlushThatWasADirectUpdate) {
    MmFlushes flushes(1);
    Account account;
    account.cached[kAnon] = 5;
    CounterEvent event;
    const MmFlushes::Started started =
        flushes.start(update_at(100, 0, 20, 5, RSSLAG_OWN), 1, 15, false, account, event);
    EXPECT_EQ(started.sure, std::nullopt);
    EXPECT_TRUE(started.empties);
    EXPECT_EQ(account.flushes, 1U);
    account.cached[kAnon] = 0;
    const auto settled = flushes.settle({.ticket = 1, .pages = {1, 1, 1}}, kAnon, false, account);
    ASSERT_TRUE(settled);
    EXPECT_EQ(settled->reason, FlushReason::Direct);
    EXPECT_EQ(settled->cached, 5);
    EXPECT_EQ(account.flushes, 0U);
    EXPECT_FALSE(flushes.settle({.ticket = 1, .pages = {1, 1, 1}}, kAnon, false, account));
}

TEST(MmPeaks, PassesEachStepToTheSumOfAllMms) {
    AllPeaks all;
    MmPeaks one(all);
    MmPeaks two(all);
    one.start({{}, {}, 0, 100}, false);
    two.start({{}, {}, 0, 100}, false);
    one.record_cached(update_at(200, 0, 0, 10), 10);
    two.record_cached(update_at(300, 1, 0, 5), 5);
    one.record_cached(update_at(400, 0, 0, 2), -8);
    EXPECT_EQ(one.extremes().most.to, Pages{10});
    EXPECT_EQ(two.extremes().most.to, Pages{5});
    EXPECT_EQ(all.extremes().most.to, Pages{15});
    one.close(members(0, 2), 500, false);
    EXPECT_EQ(all.members(), members(0, 5));
}

TEST(MmPeaks, AddsUpWhatAllMmsCache) {
    AllPeaks all;
    MmPeaks one(all);
    MmPeaks two(all);
    one.start({members(5, 20), members(5, 20), 25, 100}, false);
    two.start({members(0, 30), members(0, 30), 30, 200}, false);
    two.start({members(0, 9), members(0, 9), 9, 300}, false);  // a later reading of the same mm
    const Extremes read = all.extremes();
    EXPECT_EQ(read.cached_most[Member::Anon], Pages{29}) << "not 50, and not only that of one of them";
    EXPECT_EQ(read.cached_most[Member::File], Pages{5});
    one.cached(Member::Anon, -90, {400, 11});
    one.cached(Member::Anon, 1, {500, 11});
    one.close({}, 600, false);
    two.cached(Member::Anon, 80, {700, 22});
    const Extremes extremes = all.extremes();
    EXPECT_EQ(extremes.cached_most[Member::Anon], Pages{81}) << "9 - 90";
    EXPECT_EQ(extremes.cached_most_at[kAnon].t_ns, 400U);
    EXPECT_EQ(extremes.cached_most_at[kAnon].tid, 11);
    EXPECT_EQ(extremes.cached_most[Member::File], Pages{5});
}

TEST(MmPeaks, HaveTheLowestSumSinceTheLastMmJoined) {
    AllPeaks all;
    MmPeaks one(all);
    MmPeaks two(all);
    MmPeaks born(all);
    const auto join = [](MmPeaks &peaks, const Members &exact, std::uint64_t t_ns) {
        peaks.settle_all(exact, t_ns);
        peaks.start({exact, {}, 0, t_ns}, false);
    };
    join(one, members(0, 100), 100);
    join(two, members(0, 50), 200);
    EXPECT_EQ(all.extremes().least.from, Pages{150}) << "not 100";
    EXPECT_EQ(all.extremes().least.to, Pages{150});
    EXPECT_EQ(all.extremes().each_least[Member::Anon], Pages{150});
    one.record_cached(update_at(300, 0, 0, -40), -40);
    one.record_cached(update_at(400, 0, 0, 20), 60);
    born.start({{}, {}, 0, 500}, false);
    EXPECT_EQ(all.extremes().least.from, Pages{110}) << "a fork does not join";
    EXPECT_EQ(all.extremes().least.t_ns, 300U);
    EXPECT_EQ(all.extremes().most.to, Pages{170});
}

TEST(MmPeaks, PausesTheSumWhileAnMmNeedsAResync) {
    AllPeaks all;
    MmPeaks one(all);
    one.start({{}, {}, 0, 100}, false);
    EXPECT_TRUE(all.running());
    one.lost(true);
    EXPECT_FALSE(all.running());
    EXPECT_EQ(all.need_resync, 1U);
    one.resynced();
    EXPECT_EQ(all.need_resync, 0U);
    one.start({members(0, 9), {}, 0, 200}, false);
    EXPECT_TRUE(all.running());
}

}  // namespace
}  // namespace rsslag::core::test::mm_parts
