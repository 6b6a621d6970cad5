// SPDX-License-Identifier: BSD-2-Clause
#include "core/rss_track.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ledger_oracle.h"
#include "model_mix.h"

namespace rsslag::core::test::rss_track {
namespace {

/// Steps of lanes, one after another.
struct Recorded {
    RssTrack track;
    std::int64_t value = 0;
    std::uint64_t t_ns = 0;

    explicit Recorded(std::int64_t begin) : value(begin) { track.start(RssTrack::point(begin)); }
    void step(int lane, std::int64_t by) {
        track.widen_lane({lane, lane}, {std::max<std::int64_t>(by, 0), std::min<std::int64_t>(by, 0)});
        value += by;
        track.record({lane, lane}, t_ns += 10, RssTrack::point(value));
    }
    /// A step that a reading of the counter at `since_ns` did not show.
    void step_after(int lane, std::uint64_t since_ns, std::int64_t by) {
        track.widen({lane, lane}, since_ns, {std::max<std::int64_t>(by, 0), std::min<std::int64_t>(by, 0)});
        value += by;
        track.record({lane, lane}, t_ns += 10, RssTrack::point(value));
    }
};

void expect_range(const RssTrack::Range &range, std::int64_t from, std::int64_t to) {
    EXPECT_EQ(range.from, from);
    EXPECT_EQ(range.to, to);
}

TEST(RssTrack, IsExactWhereOneLaneWorks) {
    Recorded result(100);
    for (const int by : {5, 5, -20, 512, -600, 3})
        result.step(1, by);
    expect_range(result.track.most(), 602, 602);
    expect_range(result.track.least(), 2, 2);
}

TEST(RssTrack, ForgetsTheLeastOnly) {
    Recorded result(100);
    result.step(1, -90);
    result.step(2, 40);
    result.track.forget_least();
    expect_range(result.track.least(), 50, 50);
    result.step(1, -5);
    result.step(1, 60);
    expect_range(result.track.least(), 45, 45);
    expect_range(result.track.most(), 105, 140);
}

TEST(RssTrack, LeavesOpenWhetherAnotherLanesStepCameBefore) {
    Recorded result(0);
    result.step(1, 10);
    result.step(2, 0);
    result.step(1, 10);
    result.step(2, -4);  // at any time since its last record: while the other had 10, or 20
    expect_range(result.track.most(), 16, 20);
    expect_range(result.track.least(), 0, 0);
}

/// A lane that was silent while the other one worked, and whose step was made after the peak by its time.
TEST(RssTrack, BoundsAStepByItsTime) {
    constexpr std::uint64_t kMs = 1'000'000;
    RssTrack track;
    track.start(RssTrack::point(0));
    track.record({1, 1}, 1 * kMs, RssTrack::point(10));
    track.record({2, 2}, 2 * kMs, RssTrack::point(500));
    track.record({2, 2}, 20 * kMs, RssTrack::point(490));
    track.record({2, 2}, 30 * kMs, RssTrack::point(480));
    RssTrack by_lane = track;
    by_lane.widen_lane({1, 1}, {0, -300});
    by_lane.record({1, 1}, 31 * kMs, RssTrack::point(180));
    expect_range(by_lane.most(), 200, 500);
    track.widen({1, 1}, 27 * kMs, {0, -300});
    track.record({1, 1}, 31 * kMs, RssTrack::point(180));
    expect_range(track.most(), 500, 500);
}

/// A single task that moves from CPU to CPU.
TEST(RssTrack, TakesWhatATaskDoesInItsOrder) {
    RssTrack track;
    track.start(RssTrack::point(100));
    std::int64_t value = 100;
    std::uint64_t t_ns = 0;
    const auto by = [&](int cpu, int task, std::int64_t pages) {
        track.widen_lane({cpu, cpu, task}, {std::max<std::int64_t>(pages, 0), std::min<std::int64_t>(pages, 0)});
        value += pages;
        track.record({cpu, cpu, task}, t_ns += 10, RssTrack::point(value));
    };
    by(1, 7, 10);
    for (int i = 0; i < 40; ++i)
        by(0, 7, 1);
    by(1, 7, -100);  // CPU 1 has had no record since
    expect_range(track.most(), 150, 150);
    by(0, 7, 100);
    by(1, 8, -60);  // another task: its step may have been before that
    expect_range(track.most(), 150, 150);
    expect_range(track.least(), -10, 50);
}

TEST(RssTrack, TakesAStepThatHadNotComeYetForLater) {
    Recorded result(0);
    result.step(2, 0);
    result.step(1, 300);
    const std::uint64_t read_ns = result.t_ns;
    result.step_after(2, read_ns, -200);
    expect_range(result.track.most(), 300, 300);
}

TEST(RssTrack, TakesAValueThatIsNotKnownForAllThatItMayBe) {
    RssTrack track;
    track.start(RssTrack::point(100));
    track.record({1, 1}, 10, {90, 150});
    track.record({1, 1}, 20, {120, 130});
    expect_range(track.most(), 120, 150);
    expect_range(track.least(), 90, 100);
}

TEST(RssTrack, KeepsWhatCameBeforeALoss) {
    Recorded result(100);
    result.step(1, 400);
    result.track.pause();
    result.step(1, 5'000);
    expect_range(result.track.most(), 500, 500);
    result.value = 200;
    result.track.start(RssTrack::point(result.value));
    result.step(1, -150);
    expect_range(result.track.most(), 500, 500);
    expect_range(result.track.least(), 50, 50);
}

TEST(RssTrack, TakesWhatCameAfterARestForLater) {
    Recorded result(0);
    result.step(1, 10);
    result.step(2, 700);
    result.track.rest();
    result.step(1, -300);
    result.step(3, -300);
    expect_range(result.track.most(), 710, 710);
}

TEST(RssTrack, HoldsTheTruthOfManyLanes) {
    constexpr int kLanes = 1'000;
    Recorded result(0);
    for (int lane = 0; lane < kLanes; ++lane)
        result.step(lane, 1);
    for (int lane = 0; lane < kLanes; ++lane)
        result.step(lane, -1);
    const RssTrack::Range most = result.track.most();
    EXPECT_LE(most.from, kLanes);
    EXPECT_GE(most.to, kLanes);
}

struct Storm {
    Storm(const ModelOptions &options, int threads)
        : kernel(options), oracle(kernel), work(mixed_work(kernel, {.storm_only = true, .lifecycle = false})) {
        ModelTask &root = kernel.make_process("root", true);
        for (int i = 1; i < threads; ++i)
            kernel.make_thread(root);
        oracle.adopt_all();
        kernel.run_for(25'000'000, work);
        oracle.feed_all();
        oracle.expect_truth();
    }

    ModelKernel kernel;
    Oracle oracle;
    Planner work;
};

TEST(PeakOfAnMm, IsAPointWhereOneThreadStorms) {
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(5)); ++seed) {
        ModelOptions options;
        options.seed = seed;
        options.cpus = 1;
        Storm storm(options, 1);
        const ModelMm &mm = *storm.kernel.traced_mms().front();
        const MmView view = storm.oracle.ledger().view(mm.address).value();
        EXPECT_EQ(view.extremes.most.from, mm.rss_most);
        EXPECT_EQ(view.extremes.most.to, mm.rss_most);
        EXPECT_EQ(view.extremes.most.members.rss(), mm.rss_most);
        EXPECT_FALSE(view.extremes.lossy);
    }
}

/// If CPUs change a counter concurrently all the time, the bounds are wide, and must still hold.
TEST(PeakOfAnMm, IsWithinItsBoundsWhereEightThreadsStormOnTwoCpus) {
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(8)); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        ModelOptions options;
        options.seed = seed;
        Storm storm(options, 8);
        const ModelMm &mm = *storm.kernel.traced_mms().front();
        const Extreme most = storm.oracle.ledger().view(mm.address)->extremes.most;
        EXPECT_LE(std::abs((most.members.rss() - mm.rss_most).n), 64);
    }
}

TEST(PeakOfAllMms, HoldsTheirSumAtOneInstant) {
    ModelOptions options;
    options.cpus = 1;
    Storm storm(options, 1);
    const ModelMm &mm = *storm.kernel.traced_mms().front();
    const Extremes all = storm.oracle.ledger().extremes();
    EXPECT_EQ(all.most.to, mm.rss_most);
    EXPECT_EQ(all.most.from, mm.rss_most);
}

}  // namespace
}  // namespace rsslag::core::test::rss_track
