// SPDX-License-Identifier: BSD-2-Clause
// Records that are cheap to make in large numbers. Each test of a cost would run for many minutes if one record visited
// all that the earlier ones have left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "../../long_only.h"
#include "core/ledger.h"
#include "core/order_search.h"
#include "dice.h"
#include "readings.h"

namespace rsslag::core::test {
namespace {

constexpr std::uint64_t kFirstMm = 0xffff888000000000;
constexpr std::uint64_t kNow = 1'000'000'000;

std::uint64_t mm_of(int number) {
    return kFirstMm + static_cast<std::uint64_t>(number) * 4096;
}

rsslag_task task_record(rsslag_u16 kind, rsslag_u16 flags, int tid, int tgid, std::uint64_t mm) {
    rsslag_task record{};
    record.kind = kind;
    record.flags = flags;
    record.tid = record.ns_tid = record.old_tid = tid;
    record.tgid = record.ns_tgid = tgid;
    record.t_ns = kNow;
    record.mm = mm;
    return record;
}

rsslag_update update_record(rsslag_u16 flags, int tid, std::uint64_t mm, std::int64_t count) {
    rsslag_update record{};
    record.kind = RSSLAG_UPDATE;
    record.flags = flags;
    record.tid = tid;
    record.t_ns = kNow;
    record.mm = mm;
    record.count = count;
    record.member = 1;
    return record;
}

/// A ledger of many processes, each with its own mm.
class Processes {
  public:
    void adopt(int tgid, std::uint64_t mm, std::vector<TaskReading> tasks) {
        CounterReading reading;
        reading.mm = mm;
        reading.first = reading.last = test::mm({});
        reading.tasks = std::move(tasks);
        ledger.adopt(reading, {tgid, tgid, "worker", mm}, kNow - 1, kNow - 1);
    }
    void fork(int tgid, std::uint64_t mm) { ledger.apply(task_record(RSSLAG_NEWTASK, RSSLAG_TRACED, tgid, tgid, mm)); }

    Ledger ledger{{.scheme = Scheme::Plain, .ended_tasks = true}};
};

TEST(CostOfAnUpdate, DoesNotDependOnTheTasksOfOtherGroups) {
    RSSLAG_LONG_ONLY("a million records: measures the time that they take");
    constexpr int kTasks = many(200'000), kUpdates = many(1'000'000), kLeader = 7;
    Processes all;
    std::vector<TaskReading> tasks;
    for (int tid = 0; tid < kTasks; ++tid)
        tasks.push_back(task(1'000'000 + tid, {}, 1'000'000));
    all.adopt(1'000'000, mm_of(1), std::move(tasks));
    all.adopt(kLeader, mm_of(2), {});
    for (int i = 1; i <= kUpdates; ++i) {  // each looks for the only thread that is left of the leader's group
        rsslag_update update = update_record(RSSLAG_OF_USER_FAULT | RSSLAG_OWN | RSSLAG_EXECVE, kLeader, mm_of(2), i);
        update.t_ns += static_cast<std::uint64_t>(i) * 1000;
        all.ledger.apply(update);
    }
    EXPECT_EQ(all.ledger.view(mm_of(2))->exited.updates, static_cast<std::uint64_t>(kUpdates));
}

TEST(CostOfALostExit, DoesNotDependOnTheTasksOfOtherGroups) {
    RSSLAG_LONG_ONLY("a million records: measures the time that they take");
    constexpr int kCount = many(500'000);
    Processes all;
    for (int tgid = 1; tgid <= kCount; ++tgid)
        all.fork(tgid, 0);
    for (int tgid = 1; tgid <= kCount; ++tgid)
        all.ledger.vanished(tgid);
    EXPECT_TRUE(all.ledger.tids().empty());
    EXPECT_TRUE(all.ledger.groups().empty());
}

TEST(CostOfANewTask, DoesNotDependOnTheNumberOfMms) {
    RSSLAG_LONG_ONLY("a million records: measures the time that they take");
    constexpr int kMms = many(20'000), kTimes = 5, kForeign = 1'000'000;
    Processes all;
    for (int i = 1; i <= kMms; ++i)
        all.fork(i, mm_of(i));
    for (int time = 1; time <= kTimes; ++time) {
        for (int i = 1; i <= kMms; ++i) {
            all.ledger.apply(update_record(RSSLAG_BY_OTHER, kForeign + i, mm_of(i), time));
            all.fork(kForeign + i, 0);  // a new task has the TID of the one that updated this mm
        }
    }
    const auto last = all.ledger.view(mm_of(kMms));
    EXPECT_TRUE(last->others.empty());
    EXPECT_EQ(last->ended_others.updates, static_cast<std::uint64_t>(kTimes));
}

TEST(CostOfTheOwnerOfAnMm, DoesNotDependOnTheNumberOfGroups) {
    RSSLAG_LONG_ONLY("a million records: measures the time that they take");
    constexpr int kCount = many(500'000);
    Processes all;
    for (int tgid = 1; tgid <= kCount; ++tgid)
        all.ledger.apply(task_record(RSSLAG_EXEC, 0, tgid, tgid, mm_of(tgid)));
    for (int tgid = 1; tgid <= kCount; ++tgid)
        ASSERT_EQ(all.ledger.tgid_of(mm_of(tgid)), tgid);
}

TEST(CostOfAnExec, DoesNotDependOnTheNumberOfGroupsOrOfExecsBeforeIt) {
    RSSLAG_LONG_ONLY("a million records: measures the time that they take");
    constexpr int kCount = many(200'000);
    Processes all;
    for (const int mm : {1, 2})
        all.adopt(1, mm_of(mm), {task(1, {}, 1)});
    for (int tgid = 2; tgid <= kCount; ++tgid)
        all.ledger.apply(task_record(RSSLAG_EXEC, 0, tgid, tgid, mm_of(1 + tgid)));
    for (int i = 0; i < kCount; ++i)  // it leaves the mm that it is in, and no other group lives there
        all.ledger.apply(task_record(RSSLAG_EXEC, 0, 1, 1, mm_of(1 + i % 2)));
    EXPECT_EQ(all.ledger.groups().size(), static_cast<std::size_t>(kCount));
    EXPECT_TRUE(all.ledger.leaving());
}

TEST(CostOfAnExit, DoesNotDependOnTheProcessesThatWaitForTheirTeardown) {
    RSSLAG_LONG_ONLY("a million records: measures the time that they take");
    constexpr int kWaiting = many(300'000), kOthers = many(100'000), kLast = kWaiting + kOthers + 1;
    Processes all;
    for (int tgid = 1; tgid <= kLast; ++tgid)
        all.adopt(tgid, mm_of(tgid <= kWaiting ? 1 : 2), {});
    for (int tgid = 1; tgid < kLast; ++tgid)
        all.ledger.apply(task_record(RSSLAG_EXIT, RSSLAG_GROUP_DEAD, tgid, tgid, 0));
    // The last group still lives in the second mm.
    EXPECT_EQ(all.ledger.take_ended().size(), static_cast<std::size_t>(kOthers));
    EXPECT_TRUE(all.ledger.leaving());
}

TEST(CostOfAWatermark, DoesNotDependOnTheNumberOfPossibleCpus) {
    constexpr int kWatermarks = 1'000;
    Ledger ledger({.scheme = Scheme::Cpu, .cpus = 8'192});
    ledger.apply(task_record(RSSLAG_NEWTASK, RSSLAG_TRACED, 7, 7, mm_of(1)));
    ledger.apply(update_record(RSSLAG_OWN, 7, mm_of(1), 5));
    const std::uint64_t before = ledger.visited();
    for (int i = 0; i < kWatermarks; ++i)
        ledger.advance(kNow + 1);
    EXPECT_GE(ledger.visited() - before, std::uint64_t{kWatermarks}) << "the mm";
    EXPECT_LE(ledger.visited() - before, std::uint64_t{3 * kWatermarks}) << "the mm, its open update and a CPU";
}

TEST(CostOfAWatermark, DoesNotDependOnTheNumberOfMmsAtRest) {
    constexpr int kMms = 1'000, kWatermarks = 100;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    Processes all;
    for (int i = 1; i <= kMms; ++i)
        all.adopt(i, mm_of(i), {task(i, {}, i)});
    all.ledger.advance(kNow + kSecond);
    const std::uint64_t before = all.ledger.visited();
    for (int i = 0; i < kWatermarks; ++i)
        all.ledger.advance(kNow + kSecond);
    EXPECT_EQ(all.ledger.visited(), before);
    for (int i = 0; i < 3; ++i)
        all.ledger.apply(update_record(RSSLAG_OWN, 7, mm_of(7), 5 + i));
    all.ledger.advance(kNow + kSecond);
    EXPECT_GT(all.ledger.visited(), before) << "the mm has open updates";
    EXPECT_LT(all.ledger.visited(), before + kMms);
    EXPECT_EQ(all.ledger.take_settled().size(), 3U);
}

TEST(CostOfAView, GrowsWithTheTasks) {
    constexpr int kTasks = 1'000;
    Processes all;
    std::vector<TaskReading> tasks;
    for (int tid = 1; tid <= kTasks; ++tid)
        tasks.push_back(task(tid, {}, 1));
    all.adopt(1, mm_of(1), std::move(tasks));
    const std::uint64_t before = all.ledger.visited();
    EXPECT_EQ(all.ledger.view(mm_of(1))->tasks.size(), std::size_t{kTasks});
    EXPECT_GE(all.ledger.visited() - before, std::uint64_t{kTasks});
}

TEST(ForeignTasks, OfWhichThereAreVeryManyEndUnlessTheyChangedMuch) {
    constexpr int kCount = 5'000, kKept = 2'048, kEnded = kCount - kKept, kFirst = 1'000'000;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    Processes all;
    all.adopt(1, mm_of(1), {task(1, {}, 1)});
    std::int64_t count = 0;
    const auto update_by = [&](int tid, std::uint64_t t_ns, std::int64_t pages) {
        count += pages;
        rsslag_update update = update_record(RSSLAG_BY_OTHER | RSSLAG_OF_USER_FAULT, tid, mm_of(1), count);
        update.t_ns = t_ns;
        all.ledger.apply(update);
    };
    for (int i = 0; i < kCount; ++i) {
        all.ledger.apply(task_record(RSSLAG_SEEN, 0, kFirst + i, kFirst + i, 0));
        update_by(kFirst + i, kNow + static_cast<std::uint64_t>(i) * 1000, i == 0 ? 512 : 1);
    }
    all.ledger.advance(kNow + kSecond);
    const MmView view = all.ledger.view(mm_of(1)).value();
    ASSERT_EQ(view.others.size(), std::size_t{kKept});
    EXPECT_EQ(view.others[0].host_tid, kFirst);
    EXPECT_EQ(view.ended_others.threads, std::uint64_t{kEnded});
    EXPECT_EQ(view.ended_others.updates, std::uint64_t{kEnded});
    EXPECT_EQ(view.updates_by_others, std::uint64_t{kCount});
    Members sum = view.ended_others.net;
    for (const TaskNet &other : view.others)
        sum = sum + other.net;
    EXPECT_EQ(sum, members(0, count));
    all.ledger.advance(kNow + 2 * kSecond);
    EXPECT_TRUE(all.ledger.take_ended_tasks().empty()) << "they may live";
    update_by(kFirst + 1, kNow + 2 * kSecond, 1);
    EXPECT_EQ(all.ledger.view(mm_of(1))->others.size(), std::size_t{kKept + 1}) << "one of them has not ended";
}

TEST(ForeignTasks, OfWhichThereAreVeryManyEndOnceTheyAreSilent) {
    constexpr int kCount = 20'000, kKept = 2'048, kFirst = 1'000'000;
    constexpr std::uint64_t kMillisecond = 1'000'000;
    Processes all;
    all.adopt(1, mm_of(1), {task(1, {}, 1)});
    for (int i = 0; i < kCount; ++i) {
        rsslag_update update = update_record(RSSLAG_BY_OTHER | RSSLAG_OF_USER_FAULT, kFirst + i, mm_of(1), i + 1);
        update.t_ns = kNow + static_cast<std::uint64_t>(i) * 2 * OrderSearch::kClockSkewNs;  // their order is known
        all.ledger.apply(update);
        if (i % 5'000 == 0) all.ledger.advance(update.t_ns);
    }
    EXPECT_EQ(all.ledger.view(mm_of(1))->others.size(), std::size_t{kCount});
    all.ledger.advance(kNow + 200 * kMillisecond);
    EXPECT_EQ(all.ledger.view(mm_of(1))->others.size(), std::size_t{kKept});
}

TEST(ForeignTasks, AreNotSilentWhileTheirSumsCome) {
    constexpr int kCount = 5'000, kKept = 2'048, kFirst = 1'000'000, kActive = kFirst + kCount - 1;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    Ledger ledger({.scheme = Scheme::Cpu, .cpus = 1});
    ledger.apply(task_record(RSSLAG_NEWTASK, RSSLAG_TRACED, 1, 1, mm_of(1)));
    const auto sum_by = [&](int tid, std::uint64_t t_ns, int number) {
        rsslag_sum sum{};
        sum.flags = RSSLAG_BY_OTHER;
        sum.t_ns = t_ns;
        sum.mm = mm_of(1);
        sum.tid = static_cast<rsslag_u32>(tid);
        sum.number = static_cast<rsslag_u32>(number);
        sum.updates = 1;
        sum.members = 1;
        ledger.apply(sum);
    };
    for (int i = 0; i < kCount; ++i) {
        ledger.apply(task_record(RSSLAG_SEEN, 0, kFirst + i, kFirst + i, 0));
        sum_by(kFirst + i, kNow + 1, i + 1);
    }
    sum_by(kActive, kNow + kSecond, kCount + 1);
    ledger.advance(kNow + kSecond);
    const MmView view = ledger.view(mm_of(1)).value();
    ASSERT_EQ(view.others.size(), std::size_t{kKept + 1});
    EXPECT_EQ(view.others.back().host_tid, kActive);
    EXPECT_EQ(view.others.back().updates, 2U);
}

TEST(ForeignTasks, AreForgottenIfNoMmHasTheirAccount) {
    constexpr int kCount = 40'000, kFirst = 1'000'000;
    Processes all;
    all.adopt(1, mm_of(1), {task(1, {}, 1)});
    for (int i = 0; i < kCount; ++i)
        all.ledger.apply(task_record(RSSLAG_SEEN, 0, kFirst + i, kFirst + i, 0));
    all.ledger.apply(update_record(RSSLAG_BY_OTHER, kFirst, mm_of(1), 1));
    all.ledger.advance(kNow + 1);
    EXPECT_TRUE(all.ledger.task(kFirst));
    EXPECT_FALSE(all.ledger.task(kFirst + 1));
    EXPECT_TRUE(all.ledger.task(kFirst + kCount - 1)) << "the BPF program may still remember that it was reported";
}

/// Compares the owner of each of a few mms with the list of groups.
void expect_owners(const Ledger &ledger) {
    std::map<std::uint64_t, int> owners;
    for (const GroupView &group : ledger.groups())
        owners[group.mm] = group.tgid;  // ascending
    for (int number = 0; number < 6; ++number) {
        const auto owner = owners.find(mm_of(number));
        ASSERT_EQ(ledger.tgid_of(mm_of(number)), owner == owners.end() ? 0 : owner->second);
    }
}

TEST(LedgerOfManyProcesses, FindsTheGroupsOfAnMm) {
    Dice dice(1);
    for (int round = 0; round < runs(50); ++round) {
        Processes all;
        for (int i = 0; i < 200; ++i) {
            const int tgid = static_cast<int>(dice.between(1, 6));
            const std::uint64_t mm = mm_of(static_cast<int>(dice.between(0, 5)));
            switch (dice.between(0, 5)) {
                case 0: all.adopt(tgid, mm, {task(tgid, {}, tgid), task(tgid + 10, {}, tgid)}); break;
                case 1: all.fork(tgid, mm); break;
                case 2:
                    all.ledger.apply(
                        task_record(RSSLAG_NEWTASK, RSSLAG_TRACED | RSSLAG_SHARES_MM, tgid, tgid, mm));  // vfork
                    break;
                case 3: all.ledger.apply(task_record(RSSLAG_EXEC, 0, tgid, tgid, mm)); break;
                case 4: all.ledger.apply(task_record(RSSLAG_EXIT, RSSLAG_GROUP_DEAD, tgid, tgid, mm)); break;
                default: all.ledger.vanished(tgid); break;
            }
            expect_owners(all.ledger);
        }
    }
}

TEST(LedgerOfManyProcesses, EndsAllTasksOfALostGroupAndNoOthers) {
    Processes all;
    all.adopt(7, mm_of(1), {task(7, {}, 7), task(8, {}, 7), task(9, {}, 7)});
    all.adopt(6, mm_of(2), {task(6, {}, 6)});
    all.adopt(10, mm_of(3), {task(10, {}, 10)});
    all.ledger.vanished(7);
    std::vector<int> tids = all.ledger.tids();
    std::sort(tids.begin(), tids.end());
    EXPECT_EQ(tids, (std::vector<int>{6, 10}));
    const auto ended = all.ledger.take_ended(true);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].mm.exited.threads, 3U);
}

}  // namespace
}  // namespace rsslag::core::test
