// SPDX-License-Identifier: BSD-2-Clause
// Who lives in an mm, who has left it, and what of it may be missing: from events made by hand.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

#include "events.h"
#include "rsslag/trace/judge.h"
#include "rsslag/view/judgement.h"

namespace rsslag::trace {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the hand that writes the events
using core::State;

constexpr int kChild = 4720;
constexpr std::uint64_t kChildsMm = kMm + 0x1000;

constexpr std::uint64_t ms(std::uint64_t n) {
    return n * 1'000'000;
}

std::vector<view::Tick> tell_all(Judge &judge, std::vector<Event> events) {
    std::vector<view::Tick> all;
    for (Event &event : events) {
        auto ticks = judge.apply(std::move(event));
        std::move(ticks.begin(), ticks.end(), std::back_inserter(all));
    }
    return all;
}

/// A group of its own; `flags`: how it stands to its parent.
Records child(std::uint64_t t_ns, rsslag_u16 kind, rsslag_u16 flags, std::uint64_t mm) {
    rsslag_task record{};
    record.kind = kind;
    record.flags = flags;
    record.tid = record.ns_tid = record.tgid = record.ns_tgid = kChild;
    record.parent = kPid;
    record.t_ns = kStart + t_ns;
    record.mm = mm;
    Records records;
    append(records, record);
    return records;
}

TEST(JudgeOfEnds, TellsHowManyTasksShareTheMmWhileItRuns) {
    Judge judge(facts(), {});
    const auto ticks = tell_all(judge, {attach(ms(1)), until(ms(40)), reading(ms(50), 1000), tick_end(ms(60))});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(view::judge(ticks[0]).mm_tasks, 2U);
}

TEST(JudgeOfEnds, CountsAnMmOnceItsLastTracedProcessHasLeftItWhoeverElseLivesThere) {
    Judge judge(facts(), {});
    const auto ticks =
        tell_all(judge, {attach(ms(1)), child(ms(5), RSSLAG_NEWTASK, RSSLAG_SHARES_MM, kMm), update(ms(10), 1010),
                         task(ms(20), RSSLAG_EXIT, 0, kPid + 1), task(ms(21), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid),
                         until(ms(100)), until(ms(3000)), Stop{at(ms(3001))}, End{at(ms(3002)), {}}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].state, State::Exited);
    ASSERT_TRUE(judge.summary());
    EXPECT_EQ(judge.summary()->updates, 1U);
}

TEST(JudgeOfEnds, CountsAnMmOnceThoughTwoProcessesLeaveItAtOnce) {
    Judge judge(facts(), {});
    constexpr rsslag_u16 kTraced = RSSLAG_SHARES_MM | RSSLAG_WANTED;
    Records teardown = update(ms(22), 0);
    rsslag_update last{};
    std::memcpy(&last, teardown.bytes.data(), sizeof(last));
    last.flags = RSSLAG_TEARDOWN | RSSLAG_EXITING;
    std::memcpy(teardown.bytes.data(), &last, sizeof(last));
    tell_all(judge, {attach(ms(1)), child(ms(5), RSSLAG_NEWTASK, kTraced, kMm), update(ms(10), 1010),
                     task(ms(19), RSSLAG_EXIT, 0, kPid + 1), child(ms(20), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kMm),
                     task(ms(21), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid), teardown, until(ms(100)), Stop{at(ms(101))},
                     End{at(ms(102)), {}}});
    ASSERT_TRUE(judge.summary());
    EXPECT_EQ(judge.summary()->updates, 2U);
}

TEST(JudgeOfEnds, DoubtsAnMmWhoseBirthWasStillToComeAsALossWasTold) {
    Judge judge(facts(), {});
    const auto ticks =
        tell_all(judge, {attach(ms(1)), child(ms(30), RSSLAG_NEWTASK, RSSLAG_WANTED, kChildsMm), losses(ms(50), 9, 3),
                         child(ms(60), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), Stop{at(ms(101))}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_TRUE(ticks[0].doubtful);
}

TEST(JudgeOfEnds, DoubtsAnMmThatWasBornWhereSomethingIsMissing) {
    Judge judge(facts(), {});
    const auto ticks = tell_all(
        judge, {attach(ms(1)), until(ms(20)), Gap{3, 1}, child(ms(30), RSSLAG_NEWTASK, RSSLAG_WANTED, kChildsMm),
                child(ms(60), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), Stop{at(ms(101))}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_TRUE(ticks[0].doubtful);
}

TEST(JudgeOfEnds, DoubtsNoMmThatWasBornAfterALossWasTold) {
    Judge judge(facts(), {});
    const auto ticks =
        tell_all(judge, {attach(ms(1)), losses(ms(50), 9, 3), child(ms(60), RSSLAG_NEWTASK, RSSLAG_WANTED, kChildsMm),
                         child(ms(70), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kChildsMm), until(ms(100)), Stop{at(ms(101))}});
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_FALSE(ticks[0].doubtful);
}

}  // namespace
}  // namespace rsslag::trace
