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

}  // namespace
}  // namespace rsslag::trace
