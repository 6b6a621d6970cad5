// SPDX-License-Identifier: BSD-2-Clause
// Which processes are kept if very many have ended.
#include "analysis/gone.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace rsslag::analysis {
namespace {

using Process = core::Summary::Process;

constexpr int kEnded = 10'000;

/// Many processes, all with a larger lag than the one that ends first. `make` gives that one the highest value of
/// something else.
core::Summary summary_of(const std::function<void(Process &)> &make) {
    Gone gone;
    for (int pid = 1; pid <= kEnded; ++pid) {
        Process process;
        process.pid = pid;
        process.extremes.lag = core::Pages{pid == 1 ? 0 : 10};
        process.extremes.lag_rss = core::Pages{10'000};
        process.extremes.most.from = process.extremes.most.to = core::Pages{10'000};
        if (pid == 1) make(process);
        gone.add(std::move(process));
    }
    core::Summary summary;
    gone.put(summary);
    return summary;
}

bool kept(const core::Summary &summary) {
    return std::any_of(summary.processes.begin(), summary.processes.end(),
                       [](const Process &process) { return process.pid == 1; });
}

TEST(Gone, LeavesOutProcessesWithoutAnyExtreme) {
    const core::Summary summary = summary_of([](Process &) {});
    EXPECT_FALSE(kept(summary));
    EXPECT_EQ(summary.processes.size(), 2000U);
    EXPECT_EQ(summary.left_out.processes, kEnded - 2000U);
    EXPECT_EQ(summary.left_out.programs, kEnded - 2000U);
    EXPECT_EQ(summary.left_out.peak, core::Pages{10'000});
    EXPECT_EQ(summary.left_out.peaks, core::Pages{10'000LL * (kEnded - 2000)});
}

TEST(Gone, KeepsTheTenHighestPeaks) {
    Gone gone;
    for (int pid = 1; pid <= kEnded; ++pid) {
        Process process;
        process.pid = pid;
        process.extremes.lag = core::Pages{pid};
        process.extremes.most.from = process.extremes.most.to = core::Pages{kEnded - pid};
        gone.add(std::move(process));
    }
    core::Summary summary;
    gone.put(summary);
    for (int pid = 1; pid <= 10; ++pid)
        EXPECT_EQ(std::count_if(summary.processes.begin(), summary.processes.end(),
                                [pid](const Process &process) { return process.pid == pid; }),
                  1)
            << pid;
    EXPECT_EQ(summary.processes.size(), 2000U);
}

TEST(Gone, MarksThePeakLagOfThoseLeftOut) {
    const auto summed = [](bool each) {
        Gone gone;
        for (int i = 0; i < kEnded; ++i) {
            Process process;
            process.extremes.summed = each;
            gone.add(std::move(process));
        }
        core::Summary summary;
        gone.put(summary);
        return summary.left_out.approximate;
    };
    EXPECT_TRUE(summed(true));
    EXPECT_FALSE(summed(false));
}

TEST(Gone, KeepsEachProcessThatAnAssertionMayDependOn) {
    const std::function<void(Process &)> makes[] = {
        [](Process &one) { one.extremes.most.to = core::Pages{10'001}; },
        [](Process &one) { one.extremes.most.from = core::Pages{10'001}; },
        [](Process &one) { one.extremes.grown.anon = one.extremes.grown_rss = core::Pages{5}; },
        [](Process &one) { one.extremes.grown.file = core::Pages{5}, one.extremes.grown_rss = core::Pages{-4}; },
        [](Process &one) { one.extremes.grown.swap = core::Pages{5}; },
        [](Process &one) { one.extremes.cached_most.shmem = core::Pages{5}; },
        [](Process &one) { one.extremes.lag = core::Pages{9}, one.extremes.lag_rss = core::Pages{256}; },
        [](Process &one) { one.extremes.lossy = true; },
    };
    int number = 0;
    for (const auto &make : makes)
        EXPECT_TRUE(kept(summary_of(make))) << number++;
}

TEST(Gone, TakesNoPeakOfAForkForAProgramsOwn) {
    EXPECT_FALSE(kept(summary_of([](Process &one) {
        one.extremes.image = 0;
        one.extremes.most.from = one.extremes.most.to = core::Pages{1 << 20};
    })));
}

}  // namespace
}  // namespace rsslag::analysis
