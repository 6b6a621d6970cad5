// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/missing.h"

#include <gtest/gtest.h>

#include "analysis/replay.h"

namespace rsslag::analysis {
namespace {

TEST(MissingText, SaysFromWhenToWhenAndHowMuch) {
    EXPECT_EQ(missing_text("a chunk cannot be read", 1'500'000'000, 2'000'000'000, 12),
              "the recording is incomplete: a chunk cannot be read; missing from 1.500 s to 2.000 s, 12 records");
}

TEST(MissingText, StatesWhatIsNotKnown) {
    EXPECT_EQ(missing_text("it was never ended", 0, std::nullopt, std::nullopt),
              "the recording is incomplete: it was never ended; missing from 0.000 s to its end, an unknown number of "
              "records");
}

core::Summary::Process process(int pid, std::int64_t lag, std::uint64_t t_ns) {
    core::Summary::Process process;
    process.pid = pid;
    process.extremes.lag = {lag};
    process.extremes.lag_t_ns = t_ns;
    return process;
}

TEST(PeakOf, IsTheGreatestOfAnyProcessAndTheFirstOfEqualOnes) {
    core::Summary summary;
    summary.processes = {process(1, 5, 10), process(2, 9, 20), process(3, 9, 30)};
    const recording::PeakLag peak = peak_of(summary);
    EXPECT_EQ(peak.pid, 2);
    EXPECT_EQ(peak.lag, core::Pages{9});
    EXPECT_EQ(peak.t_ns, 20U);
}

TEST(PeakOf, HasNoProcessIfNothingLagged) {
    core::Summary summary;
    summary.processes = {process(1, 0, 10), process(2, -3, 20)};
    EXPECT_EQ(peak_of(summary).pid, 0);
    EXPECT_EQ(peak_of(summary).lag, core::Pages{});
}

}  // namespace
}  // namespace rsslag::analysis
