// SPDX-License-Identifier: BSD-2-Clause
#include "who_is_who.h"

#include <gtest/gtest.h>

namespace rsslag::sinks {
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

TEST(WhoIsWho, GivesTheSameNumbersToTheSameOnes) {
    WhoIsWho who;
    const auto first = who.of(stamp(1, 10, 11, 5, "a"));
    const auto again = who.of(stamp(7, 10, 11, 5, "a"));
    EXPECT_EQ(first.process, again.process);
    EXPECT_EQ(first.thread, again.thread);
    EXPECT_EQ(again.mm, 5);
    ASSERT_EQ(who.processes().size(), 1U);
    EXPECT_EQ(who.processes()[0].first_t_ns, 1U);
    EXPECT_EQ(who.processes()[0].last_t_ns, 7U);
}

TEST(WhoIsWho, KnowsNobodyByTheNumberZero) {
    WhoIsWho who;
    const auto ids = who.of(stamp(1, 0, 0));
    EXPECT_FALSE(ids.process || ids.thread || ids.mm);
    EXPECT_TRUE(who.processes().empty());
}

TEST(WhoIsWho, TakesAPidThatIsGivenAgainForAnotherProcess) {
    WhoIsWho who;
    const auto before = who.of(stamp(1, 10, 0));
    TickRow last;
    last.at = stamp(2, 10, 0, 0, "first");
    last.state = core::State::Exited;
    who.of_tick(last);
    const auto after = who.of(stamp(3, 10, 0));
    EXPECT_NE(before.process, after.process);
    ASSERT_EQ(who.processes().size(), 2U);
    EXPECT_EQ(who.processes()[0].comm, "first");
    EXPECT_EQ(who.processes()[0].state, core::State::Exited);
}

TEST(WhoIsWho, TakesATidThatBeginsAgainForAnotherThread) {
    WhoIsWho who;
    const auto before = who.of(stamp(1, 10, 11));
    const auto seen = who.of_task(task(TaskRow::Type::Seen, stamp(2, 10, 11)));
    EXPECT_EQ(before.thread, seen.thread);
    const auto after = who.of_task(task(TaskRow::Type::ThreadStart, stamp(3, 10, 11)));
    EXPECT_NE(before.thread, after.thread);
}

TEST(WhoIsWho, LearnsLaterWhoseAThreadIs) {
    WhoIsWho who;
    const auto early = who.of(stamp(1, 0, 11, 0, "worker"));
    ASSERT_TRUE(early.thread);
    EXPECT_FALSE(who.threads()[0].process);
    core::TaskNet net;
    net.tid = 11;
    EXPECT_EQ(who.thread_of(std::optional<std::int64_t>(4), net, 2), *early.thread);
    EXPECT_EQ(who.threads()[0].process, 4);
    EXPECT_EQ(who.threads()[0].comm, "worker") << "a name is not forgotten where none is told";
}

TEST(WhoIsWho, LeavesAnMmToTheFirstProcessThatHadIt) {
    WhoIsWho who;
    who.of(stamp(1, 0, 0, 5));
    const auto owner = who.of(stamp(2, 10, 0, 5));
    who.of(stamp(3, 20, 0, 5));
    EXPECT_EQ(who.mms().at(5).process, owner.process);
    EXPECT_EQ(who.mms().at(5).last_t_ns, 3U);
}

}  // namespace
}  // namespace rsslag::sinks
