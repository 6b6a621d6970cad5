// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/traced.h"

#include <gtest/gtest.h>

#include "metrics/groups.h"

namespace rsslag::metrics {
namespace {

/// A tick of a process on the `cpu` scheme with this many updates, half as many faults, and a fold for each update.
core::Tick tick(int pid, const std::string &mm, std::uint64_t updates, std::int64_t peak = 0,
                core::State state = core::State::Running) {
    core::Tick tick;
    tick.process.pid = tick.process.host_pid.emplace(pid);
    tick.process.mm_id = mm;
    tick.state = state;
    tick.faults = updates / 2;
    tick.ledger.updates = updates;
    tick.ledger.flushes[static_cast<std::size_t>(core::FlushReason::Fold)] = updates;
    tick.ledger.extremes.most.from = {peak};
    tick.ledger.extremes.most.to = {peak + 1};
    return tick;
}

void take(TracedGroups &groups, const core::Tick &tick, const std::string &name = "job") {
    groups.take(tick, [&name] { return name; });
}

TEST(TracedGroups, SumUpWhatLivesAndWhatHasEnded) {
    TracedGroups groups(10);
    take(groups, tick(1, "a", 10, 100));
    take(groups, tick(1, "a", 20, 300));
    take(groups, tick(2, "b", 5, 200, core::State::Exited));
    const auto result = groups.groups();
    ASSERT_EQ(result.size(), 1U);
    EXPECT_EQ(result[0].name, "job");
    EXPECT_EQ(result[0].processes, 1);
    EXPECT_EQ(result[0].counts.updates, 25U);
    EXPECT_EQ(result[0].counts.faults, 12U);
    EXPECT_EQ(result[0].counts.flushes[static_cast<std::size_t>(core::FlushReason::Fold)], 25U);
    EXPECT_EQ(result[0].peak_from.n, 300);
    EXPECT_EQ(result[0].peak_to.n, 301);
}

TEST(TracedGroups, EndAfterTheirEndWasReported) {
    TracedGroups groups(10);
    take(groups, tick(1, "a", 10, 100, core::State::Exited));
    ASSERT_EQ(groups.groups().size(), 1U) << "the process lived between two calls";
    EXPECT_TRUE(groups.groups().empty());
    take(groups, tick(2, "b", 3, 50));
    const auto result = groups.groups();
    ASSERT_EQ(result.size(), 1U);
    EXPECT_EQ(result[0].counts.updates, 13U) << "the counter must continue from its last value";
}

TEST(TracedGroups, CountAnMmOfSeveralProcessesOnce) {
    TracedGroups groups(10);
    take(groups, tick(1, "a", 10), "first");
    take(groups, tick(2, "a", 11), "second");
    take(groups, tick(1, "a", 12, 0, core::State::Exited), "first");
    take(groups, tick(2, "a", 14), "second");
    for (int i = 0; i < 2; ++i) {
        const auto result = groups.groups();
        ASSERT_EQ(result.size(), 2U);
        EXPECT_EQ(result[0].counts.updates, 14U);
        EXPECT_EQ(result[0].processes, 0);
        EXPECT_EQ(result[1].counts.updates, 0U);
        EXPECT_EQ(result[1].processes, 1);
    }
    take(groups, tick(2, "a", 15, 0, core::State::Exited), "second");
    EXPECT_EQ(groups.groups()[0].counts.updates, 15U);
    EXPECT_TRUE(groups.groups().empty());
}

TEST(TracedGroups, AnExecIsAnotherProgram) {
    TracedGroups groups(10);
    take(groups, tick(1, "a", 10, 500), "sh");
    take(groups, tick(1, "a", 11, 500, core::State::Exec), "sh");
    take(groups, tick(1, "b", 2, 30), "job");
    take(groups, tick(1, "c", 7, 30), "not asked for");  // whose exec was lost
    const auto result = groups.groups();
    ASSERT_EQ(result.size(), 2U);
    EXPECT_EQ(result[0].name, "job");
    EXPECT_EQ(result[0].counts.updates, 9U);
    EXPECT_EQ(result[0].peak_from.n, 30);
    EXPECT_EQ(result[1].counts.updates, 11U);
}

TEST(TracedGroups, HaveNotThePeakOfAForkBeforeItsExec) {
    TracedGroups groups(10);
    core::Tick fork = tick(1, "a", 10, 40'000, core::State::Exec);
    fork.ledger.extremes.image = 0;
    take(groups, fork);
    take(groups, tick(1, "b", 2, 3'000));
    EXPECT_EQ(groups.groups()[0].peak_from.n, 3'000);
}

TEST(TracedGroups, HaveNoPeakOfUpdatesThatAreNotSettled) {
    TracedGroups groups(10);
    core::Tick open = tick(1, "a", 10, 100);
    open.ledger.extremes.open = true;
    open.ledger.extremes.most.to = {50'000};
    open.ledger.extremes.most.members[core::Member::Anon] = {104};
    take(groups, open);
    EXPECT_EQ(groups.groups()[0].peak_to.n, 104);
    take(groups, tick(1, "a", 10, 110));
    EXPECT_EQ(groups.groups()[0].peak_to.n, 111);
}

TEST(TracedGroups, AreNoMoreThanAskedForAndNoCountGoesBack) {
    TracedGroups groups(2);
    take(groups, tick(1, "a", 10), "one");
    take(groups, tick(2, "b", 10), "two");
    take(groups, tick(3, "c", 10), "three");
    take(groups, tick(4, "d", 10), "four");
    auto result = groups.groups();
    ASSERT_EQ(result.size(), 3U);
    EXPECT_EQ(result[1].name, kOther);
    EXPECT_EQ(result[1].counts.updates, 20U);
    take(groups, tick(1, "a", 10, 0, core::State::Exited), "one");
    static_cast<void>(groups.groups());
    take(groups, tick(5, "e", 1), "five");
    take(groups, tick(3, "c", 11), "three");
    result = groups.groups();
    ASSERT_EQ(result.size(), 3U);
    EXPECT_EQ(result[0].name, "five") << "the new group takes the place of an ended one";
    EXPECT_EQ(result[1].counts.updates, 21U) << "a process counted in `other` must stay there";
}

TEST(TracedGroups, MarkWhatIsUncertain) {
    TracedGroups groups(10);
    core::Tick uncertain = tick(1, "a", 10, 100);
    uncertain.needs_resync = uncertain.ledger.extremes.lossy = true;
    take(groups, uncertain);
    EXPECT_EQ(groups.groups()[0].needs_resync, 1);
    take(groups, tick(1, "a", 10, 100));
    EXPECT_EQ(groups.groups()[0].needs_resync, 0);
    EXPECT_TRUE(groups.groups()[0].peak_lossy) << "a later reading cannot restore a lost peak";
}

}  // namespace
}  // namespace rsslag::metrics
