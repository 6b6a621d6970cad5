// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/entity_ids.h"

#include <gtest/gtest.h>

namespace rsslag::exporters {
namespace {

Stamp stamp(std::uint64_t t_ns, int pid, int tid, std::uint64_t mm = 0, std::string_view comm = "") {
    Stamp at;
    at.t_ns = t_ns;
    at.pid = pid;
    at.tid = tid;
    at.mm = mm;
    at.comm = comm;
    return at;
}

TaskRow task(TaskRow::Type type, const Stamp &at) {
    TaskRow row;
    row.at = at;
    row.type = type;
    return row;
}

TEST(EntityIds, GivesTheSameNumbersToTheSameOnes) {
    EntityIds ids;
    const auto first = ids.of(stamp(1, 10, 11, 5, "a"));
    const auto again = ids.of(stamp(7, 10, 11, 5, "a"));
    EXPECT_EQ(first.process, again.process);
    EXPECT_EQ(first.thread, again.thread);
    EXPECT_EQ(again.mm, 5);
    ASSERT_EQ(ids.processes().size(), 1U);
    EXPECT_EQ(ids.processes()[0].first_t_ns, 1U);
    EXPECT_EQ(ids.processes()[0].last_t_ns, 7U);
}

TEST(EntityIds, HaveNoEntityForTheNumberZero) {
    EntityIds ids;
    const auto found = ids.of(stamp(1, 0, 0));
    EXPECT_FALSE(found.process || found.thread || found.mm);
    EXPECT_TRUE(ids.processes().empty());
}

TEST(EntityIds, TakesAPidThatIsGivenAgainForAnotherProcess) {
    EntityIds ids;
    const auto before = ids.of(stamp(1, 10, 0));
    TickRow last;
    last.at = stamp(2, 10, 0, 0, "first");
    last.state = core::State::Exited;
    ids.of_tick(last);
    const auto after = ids.of(stamp(3, 10, 0));
    EXPECT_NE(before.process, after.process);
    ASSERT_EQ(ids.processes().size(), 2U);
    EXPECT_EQ(ids.processes()[0].comm, "first");
    EXPECT_EQ(ids.processes()[0].state, core::State::Exited);
}

TEST(EntityIds, TakesATidThatStartsAgainForAnotherThread) {
    EntityIds ids;
    const auto before = ids.of(stamp(1, 10, 11));
    const auto seen = ids.of_task(task(TaskRow::Type::Seen, stamp(2, 10, 11)));
    EXPECT_EQ(before.thread, seen.thread);
    const auto after = ids.of_task(task(TaskRow::Type::ThreadStart, stamp(3, 10, 11)));
    EXPECT_NE(before.thread, after.thread);
}

TEST(EntityIds, LearnsLaterWhoseAThreadIs) {
    EntityIds ids;
    const auto early = ids.of(stamp(1, 0, 11, 0, "worker"));
    ASSERT_TRUE(early.thread);
    EXPECT_FALSE(ids.threads()[0].process);
    core::TaskNet net;
    net.tid = 11;
    EXPECT_EQ(ids.thread_of(std::optional<std::int64_t>(4), net, 2), *early.thread);
    EXPECT_EQ(ids.threads()[0].process, 4);
    EXPECT_EQ(ids.threads()[0].comm, "worker") << "a stamp without a name must not remove the name";
}

TEST(EntityIds, LeavesAnMmToTheFirstProcessThatHadIt) {
    EntityIds ids;
    ids.of(stamp(1, 0, 0, 5));
    const auto owner = ids.of(stamp(2, 10, 0, 5));
    ids.of(stamp(3, 20, 0, 5));
    EXPECT_EQ(ids.mms().at(5).process, owner.process);
    EXPECT_EQ(ids.mms().at(5).last_t_ns, 3U);
}

}  // namespace
}  // namespace rsslag::exporters
