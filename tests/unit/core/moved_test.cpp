// SPDX-License-Identifier: BSD-2-Clause
// Each single change between two readings is detected by itself.
#include <gtest/gtest.h>

#include "readings.h"

namespace rsslag::core {
namespace {

using test::members;
using test::still;
using test::still_on_cpus;
using test::task;

/// Sets both mm readings of a reading.
void set_both(CounterReading &reading, const MmReading &value) {
    reading.first = value;
    reading.last = value;
}

TEST(Moved, IsFalseForEqualReadings) {
    EXPECT_FALSE(moved(still(), still()));
    EXPECT_FALSE(moved(still_on_cpus(), still_on_cpus()));
}

TEST(Moved, IsFalseForChangesOutsideTheState) {
    CounterReading later = still();
    later.took_us = 99;
    later.mm_users = 5;
    later.tasks[0].comm = "renamed";
    EXPECT_FALSE(moved(still(), later));
}

TEST(Moved, SeesEachFlushedMemberChange) {
    for (const Member member : kAllMembers) {
        CounterReading later = still();
        later.first.flushed[member].n += 1;
        later.last = later.first;
        EXPECT_TRUE(moved(still(), later)) << static_cast<int>(member);
    }
}

TEST(Moved, SeesEachCachedMemberOfATaskChange) {
    for (const Member member : kAllMembers) {
        CounterReading later = still();
        later.tasks[1].cached[member].n -= 1;
        EXPECT_TRUE(moved(still(), later)) << static_cast<int>(member);
    }
}

TEST(Moved, SeesACpuCacheChangeComeAndGo) {
    for (const Member member : kAllMembers) {
        CounterReading later = still_on_cpus();
        later.first.cpus[0].cached[member].n += 1;
        later.last = later.first;
        EXPECT_TRUE(moved(still_on_cpus(), later)) << static_cast<int>(member);
    }
    CounterReading other_cpu = still_on_cpus();
    other_cpu.first.cpus[1].cpu = 2;
    other_cpu.last = other_cpu.first;
    EXPECT_TRUE(moved(still_on_cpus(), other_cpu));
    CounterReading fewer = still_on_cpus();
    fewer.first.cpus.pop_back();
    fewer.last = fewer.first;
    EXPECT_TRUE(moved(still_on_cpus(), fewer));
    EXPECT_TRUE(moved(fewer, still_on_cpus()));
}

TEST(Moved, SeesAPageThatWentFromOneMemberToAnother) {
    CounterReading later = still();
    later.first.flushed = members(199, 701, 50, 12);
    later.last = later.first;
    ASSERT_EQ(later.exact().rss(), still().exact().rss());
    EXPECT_TRUE(moved(still(), later));
}

TEST(Moved, SeesAPageThatWentFromOneTaskToAnother) {
    CounterReading later = still();
    later.tasks[0].cached = members(2, 9);
    later.tasks[1].cached = members(2, 20, 5);
    ASSERT_EQ(later.cached(), still().cached());
    EXPECT_TRUE(moved(still(), later));
}

TEST(Moved, SeesAFlushBetweenTheTasksAndTheMm) {
    CounterReading torn = still();
    torn.last.flushed = torn.first.flushed + torn.tasks[1].cached;
    EXPECT_TRUE(moved(torn, still()));
    EXPECT_TRUE(moved(still(), torn));
    EXPECT_TRUE(moved(torn, torn));
}

TEST(Moved, SeesAPassThatWasTornInEitherReadingAlone) {
    CounterReading torn_at_first = still();
    torn_at_first.first.flushed.anon.n -= 20;  // read before a change, the rest after it
    EXPECT_TRUE(moved(torn_at_first, still()));
    CounterReading torn_at_last = still();
    torn_at_last.last.flushed.anon.n += 20;
    EXPECT_TRUE(moved(still(), torn_at_last));
}

TEST(Moved, SeesAFlushBetweenTheTwoReadings) {
    CounterReading later = still();
    set_both(later, test::mm(still().flushed() + still().tasks[1].cached));
    later.tasks[1].cached = {};
    ASSERT_EQ(later.exact(), still().exact());
    EXPECT_TRUE(moved(still(), later));
}

TEST(Moved, SeesAMappingMadeOrGone) {
    CounterReading larger = still();
    larger.first.total_vm += 1;
    larger.last = larger.first;
    EXPECT_TRUE(moved(still(), larger));
    CounterReading split = still();
    split.first.map_count += 1;
    split.last = split.first;
    EXPECT_TRUE(moved(still(), split));
    CounterReading within = still();
    within.last.total_vm += 1;
    EXPECT_TRUE(moved(within, within));
}

TEST(Moved, SeesMapTouchAndUnmapBetweenTwoReadingsWithEqualCounters) {
    CounterReading later = still();
    later.tasks[0].faults_before += 50;
    later.tasks[0].faults_after += 50;
    ASSERT_EQ(later.first, still().first);
    ASSERT_EQ(later.exact(), still().exact());
    EXPECT_TRUE(moved(still(), later));
}

TEST(Moved, SeesAFaultBetweenTheCountersAndTheirWitness) {
    CounterReading earlier = still();
    earlier.tasks[0].faults_after += 1;  // after its counts were read
    CounterReading after_it = still();
    after_it.tasks[0].faults_before += 1;
    after_it.tasks[0].faults_after += 1;
    EXPECT_TRUE(moved(earlier, after_it));
    CounterReading later = still();
    later.tasks[0].faults_after += 1;
    EXPECT_TRUE(moved(still(), later));
}

TEST(Moved, SeesTheFaultsOfAThreadThatCameAndWent) {
    CounterReading later = still();
    for (TaskReading &task : later.tasks)
        task.group_faults += 3;
    EXPECT_TRUE(moved(still(), later));
}

TEST(Moved, CountsTheFaultsOfAGroupsPastOnceForEachGroup) {
    // If each task counted the group's exited threads, a fault in one group could hide one in another.
    CounterReading earlier = still();
    earlier.tasks.push_back(task(9000, members(0, 1), 9000));
    earlier.tasks[2].group_faults = 10;
    CounterReading later = earlier;
    EXPECT_FALSE(moved(earlier, later));
    later.tasks[2].group_faults = 12;
    EXPECT_TRUE(moved(earlier, later));
    // +2 for the group of two tasks, −2 for a thread's own: equal only if the exited threads of 4711 count once.
    CounterReading ended = earlier;
    ended.tasks[0].group_faults += 2;
    ended.tasks[1].group_faults += 2;
    ended.tasks[0].faults_before -= 2;
    ended.tasks[0].faults_after -= 2;
    EXPECT_FALSE(moved(earlier, ended));
}

TEST(Moved, SeesTasksComeAndGoAndBeReplaced) {
    CounterReading more = still();
    more.tasks.push_back(task(4713, {}));
    more.tasks.back().faults_before = 0;
    more.tasks.back().faults_after = 0;
    EXPECT_TRUE(moved(still(), more));
    EXPECT_TRUE(moved(more, still()));
    CounterReading replaced = still();
    replaced.tasks[1].host_tid = 4999;
    EXPECT_TRUE(moved(still(), replaced));
}

TEST(Moved, SeesAFlushOfATaskWhoseCountsCameBackAlike) {
    CounterReading later = still();
    later.tasks[1].faults_since_flush = 1;
    EXPECT_TRUE(moved(still(), later));
}

TEST(Moved, SeesAnExecByTheNewMm) {
    CounterReading later = still();
    later.mm += 64;
    EXPECT_TRUE(moved(still(), later));
}

}  // namespace
}  // namespace rsslag::core
