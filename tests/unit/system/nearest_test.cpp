// SPDX-License-Identifier: BSD-2-Clause
#include "system/nearest.h"

#include <gtest/gtest.h>

namespace rsslag::system {
namespace {

const std::vector<std::string> kCommands{"snapshot", "maps", "mem", "live", "top", "record", "replay", "report"};

TEST(Nearest, IsOneSlipAway) {
    EXPECT_EQ(nearest("lvie", kCommands), "live");
    EXPECT_EQ(nearest("snapsot", kCommands), "snapshot");
    EXPECT_EQ(nearest("snapshoot", kCommands), "snapshot");
    EXPECT_EQ(nearest("repord", kCommands), "record");  // at the same distance as report, and earlier in the list
    EXPECT_EQ(nearest("tpo", kCommands), "top");
}

TEST(Nearest, StartsWithTheWord) {
    EXPECT_EQ(nearest("snap", kCommands), "snapshot");
    EXPECT_EQ(nearest("rep", kCommands), std::nullopt);  // two names match
    EXPECT_EQ(nearest("sn", kCommands), std::nullopt);
}

TEST(Nearest, IsNothingWhereNothingIsNear) {
    EXPECT_EQ(nearest("frobnicate", kCommands), std::nullopt);
    EXPECT_EQ(nearest("", kCommands), std::nullopt);
    EXPECT_EQ(nearest("x", kCommands), std::nullopt);
    EXPECT_EQ(nearest(std::string(100'000, 'x'), {std::string(100'000, 'y')}), std::nullopt);
}

}  // namespace
}  // namespace rsslag::system
