// SPDX-License-Identifier: BSD-2-Clause
#include "tracer/drain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <latch>
#include <span>
#include <thread>
#include <vector>

namespace rsslag::tracer {
namespace {

constexpr std::size_t kMoreThanMayWait = std::size_t{33} << 20;

/// Rings, or a side-band. One look takes longer than the thread may leave records waiting, so records found at the next
/// look arrived after the first.
class Behind {
  public:
    void drain(std::vector<std::byte> &out) {
        looks_.push_back(std::this_thread::get_id());
        const std::size_t bytes = looks_.size() == 1 ? kMoreThanMayWait : 1;
        out.insert(out.end(), bytes, std::byte{1});
        if (looks_.size() == 1) first_.count_down();
    }
    void wait_for_the_first() { first_.wait(); }
    /// The looks of other threads before the first look of the calling thread.
    std::size_t looks_of_others() const {
        const auto mine = std::find(looks_.begin(), looks_.end(), std::this_thread::get_id());
        return static_cast<std::size_t>(mine - looks_.begin());
    }

  private:
    std::latch first_{1};
    std::vector<std::thread::id> looks_;
};

TEST(Drain, CollectsAllThatIsThereHoweverMuchWaits) {
    Behind rings;
    std::size_t bytes = 0;
    {
        Drain drain(2, [&](auto out) { rings.drain(out[1]); }, {});
        rings.wait_for_the_first();
        drain.collect([&](std::size_t ring, std::span<const std::byte> records) {
            EXPECT_EQ(ring, 1U);
            bytes += records.size();
        });
    }
    EXPECT_EQ(bytes, kMoreThanMayWait + 1) << "the bytes that came after the thread paused";
    EXPECT_EQ(rings.looks_of_others(), 1U) << "the thread must pause if too many bytes wait";
}

TEST(Drain, CollectsAllRecordsOfTheSideBand) {
    Behind result;
    std::size_t bytes = 0;
    {
        Drain drain(
            1, [](auto) {}, [&](std::vector<std::byte> &out) { result.drain(out); });
        result.wait_for_the_first();
        bytes = drain.collect_side_band().size();
    }
    EXPECT_EQ(bytes, kMoreThanMayWait + 1);
    EXPECT_EQ(result.looks_of_others(), 1U);
}

TEST(Drain, CollectsAllSamples) {
    Behind result;
    std::size_t bytes = 0;
    {
        Drain drain(
            1, [](auto) {}, {}, [&](std::vector<std::byte> &out) { result.drain(out); });
        result.wait_for_the_first();
        bytes = drain.collect_samples().size();
    }
    EXPECT_EQ(bytes, kMoreThanMayWait + 1);
    EXPECT_EQ(result.looks_of_others(), 1U);
}

}  // namespace
}  // namespace rsslag::tracer
