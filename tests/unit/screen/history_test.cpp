// SPDX-License-Identifier: BSD-2-Clause
#include "screen/history.h"

#include <gtest/gtest.h>

#include "screens.h"

namespace rsslag::screen {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

Tick tick(std::uint64_t seq, int pid = 10, std::size_t threads = 0) {
    Tick tick;
    tick.seq = seq;
    tick.t_ns = seq * kSecond;
    tick.process.pid = pid;
    tick.ledger.tasks.resize(threads);
    return tick;
}

TEST(History, KeepsTheLastMinutes) {
    History history(10 * kSecond, std::size_t{1} << 30);
    for (std::uint64_t seq = 0; seq < 100; ++seq) {
        history.add(tick(seq, 10), "root", "");
        if (seq % 2 == 0) history.add(tick(seq, 11), "nobody", "/a");
    }
    const std::vector<Moment> all = history.moments(std::nullopt);
    EXPECT_EQ(all.front().seq, 89U);
    EXPECT_EQ(all.back().seq, 99U);
    EXPECT_EQ(all.size(), 11U);
    EXPECT_EQ(history.moments(11).size(), 5U);
    EXPECT_FALSE(history.dropped_by_size());
    std::size_t ticks = 0;
    history.each_until(91, [&](const Tick &each, const std::string &user, const std::string &cgroup) {
        const bool first = each.process.pid == 10;
        EXPECT_LE(each.seq, 91U);
        EXPECT_EQ(user, first ? "root" : "nobody");
        EXPECT_EQ(cgroup, first ? "" : "/a");
        ++ticks;
    });
    EXPECT_EQ(ticks, 4U);
}

TEST(History, IsBoundedInBytes) {
    History history(1'000 * kSecond, 100 * 1'000 * sizeof(core::TaskNet));
    for (std::uint64_t seq = 0; seq < 200; ++seq)
        history.add(tick(seq, 10, 1'000), "", "");
    EXPECT_LE(history.moments(std::nullopt).size(), 100U);
    EXPECT_GE(history.moments(std::nullopt).size(), 90U);
    EXPECT_TRUE(history.dropped_by_size());
    history.add(tick(200, 10, 1'000'000), "", "");
    EXPECT_EQ(history.moments(std::nullopt).size(), 1U) << "the last one is always kept";
    history.clear();
    EXPECT_TRUE(history.moments(std::nullopt).empty());
}

TEST(History, KeepsNothingIfTheTimeIs0) {
    History history(0, 1'000);
    history.add(tick(0), "", "");
    EXPECT_TRUE(history.moments(std::nullopt).empty());
}

}  // namespace
}  // namespace rsslag::screen
