// SPDX-License-Identifier: BSD-2-Clause
#include "session/save_when.h"

#include <gtest/gtest.h>

namespace rsslag::session {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// `rss`, `lag`: in MiB.
core::Tick tick(int second, std::int64_t rss, std::int64_t lag = 0, int pid = 10) {
    constexpr std::int64_t kPages = 256;
    core::Tick tick;
    tick.t_ns = static_cast<std::uint64_t>(second) * kSecond;
    tick.seq = static_cast<std::uint64_t>(second);
    tick.process.pid = pid;
    tick.process.comm = "cache";
    tick.ledger.flushed[core::Member::Anon] = {(rss - lag) * kPages};
    tick.ledger.cached[core::Member::Anon] = {lag * kPages};
    return tick;
}

SaveWhen when(std::string_view text) {
    auto conditions = parse_save_when(text);
    EXPECT_TRUE(conditions);
    return SaveWhen(*conditions);
}

TEST(SaveWhen, TellsWhoseRssIsAbove) {
    SaveWhen save = when("rss>100MiB");
    save.on_tick(tick(1, 100));
    EXPECT_FALSE(save.holds());
    save.on_tick(tick(2, 101, 0, 11));
    EXPECT_TRUE(save.holds());
    EXPECT_EQ(save.pid(), 11);
    EXPECT_EQ(save.reason(), "rss 103,424 kB > 100 MiB, in cache [11]");
    save.on_tick(tick(2, 500));
    EXPECT_EQ(save.reason(), "rss 512,000 kB > 100 MiB, in cache [10]");
    save.on_tick(tick(3, 100, 0, 11));
    EXPECT_TRUE(save.holds()) << "of 10";
    core::Tick ended = tick(3, 500);
    ended.state = core::State::Exited;
    save.on_tick(ended);
    EXPECT_FALSE(save.holds());
}

TEST(SaveWhen, SeesANewPeakBetweenTwoTicks) {
    SaveWhen save = when("rss>100MiB");
    core::Tick peaked = tick(2, 50);
    peaked.extremes.most = {{256 * 120}, {256 * 120}, {}, 3 * kSecond / 2, 0, 0};
    save.on_tick(tick(1, 50));
    save.on_tick(peaked);
    EXPECT_TRUE(save.holds());
    EXPECT_EQ(save.reason(), "rss 122,880 kB > 100 MiB, in cache [10]");
    peaked.t_ns = 3 * kSecond;
    save.on_tick(peaked);
    EXPECT_FALSE(save.holds()) << "it was in the span before";
}

TEST(SaveWhen, ComparesLagAndGrowthAndAllOfSeveral) {
    SaveWhen lag = when("lag>=2MiB");
    lag.on_tick(tick(1, 100, 1));
    EXPECT_FALSE(lag.holds());
    lag.on_tick(tick(2, 100, 2));
    EXPECT_TRUE(lag.holds());

    SaveWhen both = when("growth>10MiB and rss>200MiB");
    both.on_tick(tick(1, 100));
    both.on_tick(tick(2, 150));
    EXPECT_FALSE(both.holds()) << "50 MiB/s, but no 200 MiB";
    both.on_tick(tick(3, 210));
    EXPECT_TRUE(both.holds());
    EXPECT_EQ(both.reason(), "growth 56,320 kB/s > 10 MiB and rss 215,040 kB > 200 MiB, in cache [10]");
    for (int second = 4; second <= 7; ++second)
        both.on_tick(tick(second, 210));
    EXPECT_TRUE(both.holds()) << "60 MiB in the last 5 s";
    both.on_tick(tick(8, 210));
    EXPECT_FALSE(both.holds());
}

TEST(SaveWhen, ComparesTheGrowthOfFiveSeconds) {
    SaveWhen save = when("growth>10MiB");
    for (int second = 1; second <= 6; ++second)
        save.on_tick(tick(second, second == 1 ? 100 : 170));
    EXPECT_TRUE(save.holds());
    save.on_tick(tick(7, 170));
    EXPECT_FALSE(save.holds()) << "it grew more than 5 s ago";
    SaveWhen slow = when("growth>=10MiB");
    slow.on_tick(tick(1, 100));
    slow.on_tick(tick(11, 200));
    EXPECT_TRUE(slow.holds()) << "no process has a tick in these 10 s";
}

/// A process at rest has no ticks while others have some.
TEST(SaveWhen, KnowsThatAProcessAtRestHasNotGrown) {
    SaveWhen save = when("growth>10MiB");
    save.on_tick(tick(1, 100));
    for (int second = 1; second <= 60; ++second)
        save.on_tick(tick(second, 7, 0, 11));
    save.on_tick(tick(60, 160));
    EXPECT_TRUE(save.holds()) << "60 MiB in the last 5 s, though its last tick is 59 s old";
    EXPECT_EQ(save.reason(), "growth 12,288 kB/s > 10 MiB, in cache [10]");
}

TEST(SaveWhen, RefusesWhatIsNoCondition) {
    for (const char *const text : {"", "rss", "rss>", "rss>5", "peak>1MiB", "rss>1MiB or lag>1MiB", "rss>1s"}) {
        const auto refused = parse_save_when(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().kind, core::Kind::BadInput);
        EXPECT_TRUE(refused.error().what.starts_with("cannot parse --save-when")) << refused.error().what;
    }
}

}  // namespace
}  // namespace rsslag::session
