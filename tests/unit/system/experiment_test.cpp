// SPDX-License-Identifier: BSD-2-Clause
#include "system/experiment.h"

#include <gtest/gtest.h>

#include <vector>

namespace rsslag::system {
namespace {

using core::Truth;

/// 25 values, each `step` more than the previous one, except at `at`: there the difference is `jump`.
std::vector<std::int64_t> steps(std::int64_t step, std::size_t at = 0, std::int64_t jump = 0) {
    std::vector<std::int64_t> shown{1000};
    while (shown.size() < 25)
        shown.push_back(shown.back() + (shown.size() == at ? jump : step));
    return shown;
}

TEST(Experiment, AReaderThatFollowsEachPageIsExact) {
    EXPECT_EQ(classify_steps(steps(1)), Truth::Exact);
}

TEST(Experiment, AReaderThatStandsStillIsFlushed) {
    EXPECT_EQ(classify_steps(steps(0)), Truth::Flushed);
}

TEST(Experiment, AFlushInBetweenLeavesItFlushed) {
    EXPECT_EQ(classify_steps(steps(0, 20, 40)), Truth::Flushed);
}

TEST(Experiment, OtherThreadsMayDisturbAStep) {
    EXPECT_EQ(classify_steps(steps(1, 5, 300)), Truth::Exact);
    EXPECT_EQ(classify_steps(steps(1, 24, -7)), Truth::Exact);
}

TEST(Experiment, GivesUnknownForAFileThatIsNeither) {
    EXPECT_EQ(classify_steps(steps(2)), Truth::Unknown);
    auto half = steps(0);
    for (std::size_t i = 12; i < half.size(); ++i)
        half[i] = half[i - 1] + 1;
    EXPECT_EQ(classify_steps(half), Truth::Unknown);
    EXPECT_EQ(classify_steps({}), Truth::Unknown);
    EXPECT_EQ(classify_steps(std::vector<std::int64_t>{5}), Truth::Unknown);
}

}  // namespace
}  // namespace rsslag::system
