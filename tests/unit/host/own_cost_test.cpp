// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/host/own_cost.h"

#include <gtest/gtest.h>

namespace rsslag::host {
namespace {

TEST(OwnCost, OfAnEventIsThatSinceTheLastCall) {
    OwnCostMeter meter;
    EXPECT_DOUBLE_EQ(meter.since_last(1000, 10).bpf_ns_per_event.value(), 100);
    EXPECT_DOUBLE_EQ(meter.since_last(1600, 12).bpf_ns_per_event.value(), 300);
}

TEST(OwnCost, OfAnEventIsUnknownWhereTheKernelCountsNoTimeOrNothingCame) {
    OwnCostMeter meter;
    EXPECT_FALSE(meter.since_last(0, 10).bpf_ns_per_event) << "kernel.bpf_stats_enabled is off";
    EXPECT_FALSE(meter.since_last(500, 10).bpf_ns_per_event) << "no event since";
    EXPECT_TRUE(meter.since_last(700, 11).bpf_ns_per_event);
}

TEST(OwnCost, HasWhatThisProcessHolds) {
    OwnCostMeter meter;
    const core::OwnCost cost = meter.since_last(0, 0);
    EXPECT_GT(cost.rss.n, 0);
    EXPECT_GE(cost.cpu_percent, 0);
}

TEST(OwnCost, RightAfterTheBeginningIsNotAWholeCpu) {
    OwnCostMeter meter(1'000'000'000);
    const std::uint64_t begin = monotonic_ns();
    while (monotonic_ns() - begin < 20'000'000) {
    }
    const double first = meter.since_last(0, 0).cpu_percent;
    EXPECT_LT(first, 50) << "20 ms are not a second";
    while (monotonic_ns() - begin < 40'000'000) {
    }
    EXPECT_GT(meter.since_last(0, 0).cpu_percent, first) << "but then it is what it is";
}

TEST(MonotonicClock, NeverGoesBack) {
    std::uint64_t before = monotonic_ns();
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t now = monotonic_ns();
        ASSERT_GE(now, before);
        before = now;
    }
}

}  // namespace
}  // namespace rsslag::host
