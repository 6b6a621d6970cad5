// SPDX-License-Identifier: BSD-2-Clause
#include "system/own_cost.h"

#include <gtest/gtest.h>

#include <ctime>

namespace rsslag::system {
namespace {

TEST(OwnCost, OfAnEventIsThatSinceTheLastCall) {
    OwnCostMeter meter;
    EXPECT_DOUBLE_EQ(meter.since_last(1000, 10).bpf_ns_per_event.value(), 100);
    EXPECT_DOUBLE_EQ(meter.since_last(1600, 12).bpf_ns_per_event.value(), 300);
}

TEST(OwnCost, OfAnEventIsUnknownWhereTheKernelCountsNoTimeOrNothingCame) {
    OwnCostMeter meter;
    EXPECT_FALSE(meter.since_last(0, 10).bpf_ns_per_event) << "kernel.bpf_stats_enabled is off";
    EXPECT_FALSE(meter.since_last(500, 10).bpf_ns_per_event) << "there was no event since the last call";
    EXPECT_TRUE(meter.since_last(700, 11).bpf_ns_per_event);
}

TEST(OwnCost, HasWhatThisProcessHolds) {
    OwnCostMeter meter;
    const core::OwnCost cost = meter.since_last(0, 0);
    EXPECT_GT(cost.rss.n, 0);
    EXPECT_GE(cost.cpu_percent, 0);
}

/// The values of both clocks now.
struct Times {
    double cpu_ns = 0;
    double wall_ns = 0;

    static Times now() {
        timespec cpu{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
        return {1e9 * static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec),
                static_cast<double>(monotonic_ns())};
    }
};

void use_cpu(std::uint64_t ns) {
    const double until = Times::now().cpu_ns + static_cast<double>(ns);
    while (Times::now().cpu_ns < until) {
    }
}

TEST(OwnCost, RightAfterTheStartIsNotAWholeCpu) {
    const Times begin = Times::now();
    OwnCostMeter meter(1'000'000'000);
    use_cpu(20'000'000);
    const Times before = Times::now();
    const double first = meter.since_last(0, 0).cpu_percent;
    const Times after = Times::now();
    EXPECT_LE(first, 100 * (after.cpu_ns - begin.cpu_ns) / 1e9) << "the CPU time is divided by at least one second";
    use_cpu(20'000'000);
    const Times later = Times::now();
    const double second = meter.since_last(0, 0).cpu_percent;
    const Times last = Times::now();
    // Holds under any load: the meter reads its clocks between these two readings.
    EXPECT_GE(second, 100 * (later.cpu_ns - after.cpu_ns) / (last.wall_ns - before.wall_ns))
        << "the second value is divided by the actual time";
    EXPECT_LE(second, 100 * (last.cpu_ns - before.cpu_ns) / (later.wall_ns - after.wall_ns));
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
}  // namespace rsslag::system
