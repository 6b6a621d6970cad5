// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/groups.h"

#include <gtest/gtest.h>

#include "metrics/group_names.h"

namespace rsslag::metrics {
namespace {

core::ProcessTotal process(const char *comm, std::uint64_t mm, std::int64_t anon, std::int64_t cached = 0) {
    core::ProcessTotal total;
    total.comm = comm;
    total.mm = mm;
    total.tasks = total.threads = 2;
    total.flushed.anon = {anon};
    total.cached.anon = {cached};
    return total;
}

core::Machine machine() {
    core::Machine machine;
    machine.scheme = core::Scheme::Cpu;
    machine.cpus_online = machine.cpus_possible = 4;
    return machine;
}

TEST(Groups, SumUpAndPutTheLargestFirst) {
    Grouping grouping(machine());
    grouping.add("a", process("a", 1, 10));
    grouping.add("b", process("b", 2, 100, 5));
    grouping.add("a", process("a", 3, 20, -1));
    const std::vector<Group> groups = grouping.take(10);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].name, "b");
    EXPECT_EQ(groups[0].lag.n, 5);
    EXPECT_EQ(groups[1].exact().rss().n, 29);
    EXPECT_EQ(groups[1].lag.n, -1);
    EXPECT_EQ(groups[1].processes, 2);
    EXPECT_EQ(groups[1].threads, 4);
    EXPECT_EQ(groups[1].bound.n, 2 * core::bound(machine(), 2).rss.n);
}

TEST(Groups, CountASharedMmOnce) {
    Grouping grouping(machine());
    grouping.add("a", process("a", 1, 10));
    grouping.add("b", process("b", 1, 10));
    const std::vector<Group> groups = grouping.take(10);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].exact().rss().n + groups[1].exact().rss().n, 10);
    EXPECT_EQ(groups[0].processes + groups[1].processes, 2);
}

TEST(Groups, AnMmIsOfWhoBeganFirst) {
    std::vector<core::ProcessTotal> processes{process("child", 1, 10), process("parent", 1, 10)};
    processes[0].started_ns = 7;
    processes[1].started_ns = 5;
    oldest_first(processes);
    Grouping grouping(machine());
    for (const core::ProcessTotal &each : processes)
        grouping.add(each.comm, each);
    EXPECT_EQ(grouping.take(1)[0].name, "parent");
}

TEST(Groups, CountThreadsAsStatusDoesAndBoundsByThoseThatCache) {
    core::ProcessTotal ended = process("a", 1, 10);
    ended.threads = 3;
    Grouping grouping(machine());
    grouping.add("a", ended);
    const std::vector<Group> groups = grouping.take(1);
    EXPECT_EQ(groups[0].threads, 3);
    EXPECT_EQ(groups[0].bound.n, core::bound(machine(), 2).rss.n);
}

TEST(Groups, ContainWhatProcAloneShows) {
    core::ProcReading by_status, walked, unread;
    by_status.members = core::Members{};
    by_status.members->file = {3};
    by_status.members->anon = {4};
    by_status.exact = core::Pages{7};
    by_status.lag = core::Pages{2};
    walked.exact = core::Pages{20};
    walked.lag = core::Pages{1};
    by_status.threads_count = walked.threads_count = unread.threads_count = 2;
    Grouping grouping(machine());
    grouping.add("a", by_status);
    grouping.add("b", walked);
    grouping.add("b", unread);
    const std::vector<Group> groups = grouping.take(10);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].name, "b");
    EXPECT_EQ(groups[0].rss().n, 20);
    EXPECT_EQ(groups[0].walked.n, 20);
    EXPECT_EQ(groups[0].with_members, 0);
    EXPECT_EQ(groups[0].unread, 1);
    EXPECT_EQ(groups[0].without_lag, 1) << "the lag of the group is not known";
    EXPECT_EQ(groups[0].threads, 4);
    EXPECT_EQ(groups[1].undivided.anon.n, 4);
    EXPECT_EQ(groups[1].rss().n, 7);
    EXPECT_EQ(groups[1].lag.n, 2);
    grouping.add("a", by_status);
    grouping.add("b", walked);
    grouping.add("c", unread);
    const std::vector<Group> limited = grouping.take(0);
    ASSERT_EQ(limited.size(), 1U);
    EXPECT_EQ(limited[0].rss().n, 27);
    EXPECT_EQ(limited[0].with_members, 1);
    EXPECT_EQ(limited[0].unread, 1);
    EXPECT_EQ(limited[0].without_lag, 1);
}

TEST(Groups, WhatDoesNotFitIsOther) {
    Grouping grouping(machine());
    for (int i = 0; i < 5; ++i)
        grouping.add(std::string(1, static_cast<char>('a' + i)),
                     process("", static_cast<std::uint64_t>(i + 1), 10 * i));
    std::vector<Group> groups = grouping.take(2);
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].name, "e");
    EXPECT_EQ(groups[1].name, "d");
    EXPECT_EQ(groups[2].name, kOther);
    EXPECT_EQ(groups[2].exact().rss().n, 0 + 10 + 20);
    EXPECT_EQ(groups[2].processes, 3);
    grouping.add("x", process("", 1, 1));
    groups = grouping.take(2);
    ASSERT_EQ(groups.size(), 1U);  // nothing from the previous reading
    EXPECT_EQ(groups[0].exact().rss().n, 1);
}

TEST(Groups, AGroupThatIsCalledOtherTakesTheRest) {
    Grouping grouping(machine());
    grouping.add(kOther, process("", 1, 100));
    grouping.add("a", process("", 2, 1));
    const std::vector<Group> groups = grouping.take(1);
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].exact().rss().n, 101);
}

TEST(GroupNames, FindTheUnitOfACgroup) {
    EXPECT_EQ(unit_of("/system.slice/ssh.service"), "ssh.service");
    EXPECT_EQ(unit_of("/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope"), "app-x.scope");
    EXPECT_EQ(unit_of("/system.slice/docker.service/inner/leaf"), "docker.service");
    EXPECT_EQ(unit_of("/system.slice/var-lib-data.mount"), "var-lib-data.mount");
    EXPECT_EQ(unit_of("/system.slice/dev-vda2.swap"), "dev-vda2.swap");
    EXPECT_EQ(unit_of("/system.slice/app.socket"), "app.socket");
    EXPECT_EQ(unit_of("/user.slice/user-1000.slice"), "user-1000.slice");
    EXPECT_EQ(unit_of("/"), "none");
    EXPECT_EQ(unit_of(""), "none");
}

TEST(GroupNames, KnowTheirWords) {
    for (const By by : {By::Comm, By::Exe, By::User, By::Cgroup, By::Unit})
        EXPECT_EQ(by_named(name(by)), by);
    EXPECT_FALSE(by_named("tid").has_value());
}

}  // namespace
}  // namespace rsslag::metrics
