// SPDX-License-Identifier: BSD-2-Clause
#include "system/walker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace rsslag::system {
namespace {

bool never() {
    return false;
}
bool at_once() {
    return true;
}

TEST(Walker, DoesItsJobsOnAThreadOfItsOwn) {
    Walker walker(never);
    std::thread::id where;
    int done = 0;
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(walker.run([&] {
            where = std::this_thread::get_id();
            done++;
        }));
    }
    EXPECT_EQ(done, 100);
    EXPECT_NE(where, std::this_thread::get_id());
}

/// A job that runs until the test releases it.
struct Long {
    std::promise<void> go, ended;
};

TEST(Walker, IsAbandonedIfItTakesLongerThanRequested) {
    const auto job = std::make_shared<Long>();
    {
        Walker walker(at_once, std::chrono::milliseconds(0));
        const auto wait = [job] {
            job->go.get_future().wait();
            job->ended.set_value();
        };
        EXPECT_FALSE(walker.run(wait));
        std::atomic<bool> other = false;
        EXPECT_FALSE(walker.run([&other] { other = true; })) << "no other job may run meanwhile";
        EXPECT_FALSE(other);
    }
    job->go.set_value();
    job->ended.get_future().wait();  // after its caller has given up
}

TEST(Locked, LeavesBehindAJobThatWaitsForTheMmapLock) {
    const auto process = procfs::Process::open(getpid());
    ASSERT_TRUE(process);
    const auto held = std::make_shared<Long>();
    const auto job = [held](const procfs::Process &of) {
        held->go.get_future().wait();
        held->ended.set_value();
        return of.pid();
    };
    Walker walker(at_once, std::chrono::milliseconds(0));
    EXPECT_FALSE(locked(&walker, *process, job));
    held->go.set_value();
    held->ended.get_future().wait();
    EXPECT_EQ(locked(nullptr, *process, [](const procfs::Process &of) { return of.pid(); }), getpid());
}

TEST(Walker, IsWaitedForWhereTheEndIsNearByThen) {
    std::promise<void> asked;
    const auto ask = [&asked] {
        asked.set_value();
        return true;
    };
    Walker walker(ask, std::chrono::hours(1));  // so that the end is near under any load
    EXPECT_TRUE(walker.run([&asked] { asked.get_future().wait(); }));
}

TEST(Walker, TakesAnotherJobOnceTheLongOneIsDone) {
    const auto job = std::make_shared<Long>();
    Walker walker(at_once);
    EXPECT_FALSE(walker.run([job] { job->go.get_future().wait(); }));
    job->go.set_value();
    while (!walker.run([] {}))
        std::this_thread::yield();
}

}  // namespace
}  // namespace rsslag::system
