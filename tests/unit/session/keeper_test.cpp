// SPDX-License-Identifier: BSD-2-Clause
#include "session/keeper.h"

#include <gtest/gtest.h>

#include <list>
#include <optional>

namespace rsslag::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class KeeperTest : public testing::Test {
  protected:
    static constexpr std::uint64_t kMost = std::uint64_t{64} << 10;

    recording::Writer &begin() {
        ++begun_;
        return writers_.emplace_back(recording::Writer::in_memory({}));
    }
    void drop(recording::Writer &writer) {
        writers_.remove_if([&](const recording::Writer &each) { return &each == &writer; });
    }
    void at(int second) { keeper_.look(start_ + seconds(second)); }
    std::optional<Keeper::Taken> take(int second) { return keeper_.take(start_ + seconds(second)); }
    /// How many seconds it goes back.
    int age(const std::optional<Keeper::Taken> &taken, int second) const {
        return static_cast<int>((start_ + seconds(second) - taken->since) / seconds(1));
    }

    std::list<recording::Writer> writers_;
    int begun_ = 0;
    Keeper::Clock::time_point start_ = Keeper::Clock::now();
    std::uint64_t bytes_ = 0;  ///< of each recording
    Keeper keeper_{
        {[this]() -> recording::Writer & { return begin(); }, [this](recording::Writer &writer) { drop(writer); },
         [this](const recording::Writer &) { return bytes_; }},
        seconds(10),
        kMost};
};

TEST_F(KeeperTest, AlwaysGoesBackFarEnoughAndAtMostTwiceAsFar) {
    EXPECT_FALSE(take(0));
    for (int second = 0; second <= 9; ++second)
        at(second);
    EXPECT_EQ(writers_.size(), 1U);
    for (int second = 10; second < 200; ++second) {
        at(second);
        ASSERT_EQ(writers_.size(), 2U);
    }
    EXPECT_EQ(begun_, 20);
    for (int second = 200; second < 240; ++second) {
        at(second);
        Keeper copy = keeper_;
        const auto taken = copy.take(start_ + seconds(second));
        ASSERT_TRUE(taken);
        EXPECT_GE(age(taken, second), 10);
        EXPECT_LT(age(taken, second), 20);
        EXPECT_FALSE(taken->dropped);
    }
}

TEST_F(KeeperTest, GoesOnAfterItsRecordingWasTaken) {
    for (int second = 0; second <= 15; ++second)
        at(second);
    const auto first = take(15);
    ASSERT_TRUE(first);
    EXPECT_EQ(age(first, 15), 15);
    at(16);
    EXPECT_EQ(writers_.size(), 2U) << "the one that was taken, and one that is not long enough";
    const auto second = take(16);
    ASSERT_TRUE(second);
    EXPECT_EQ(age(second, 16), 6);
    EXPECT_NE(first->writer, second->writer);
    EXPECT_FALSE(take(17));
    at(17);
    EXPECT_EQ(writers_.size(), 3U);
}

TEST_F(KeeperTest, DropsWhatIsTooLarge) {
    at(0);
    bytes_ = kMost / 2;
    at(1);
    EXPECT_EQ(writers_.size(), 2U);
    bytes_ = kMost / 2 - 1;
    at(2);
    EXPECT_EQ(begun_, 2);
    bytes_ = kMost / 2;
    at(3);
    EXPECT_EQ(begun_, 3) << "the first was dropped";
    const auto taken = take(4);
    ASSERT_TRUE(taken);
    EXPECT_EQ(age(taken, 4), 3);
    EXPECT_TRUE(taken->dropped);
}

TEST_F(KeeperTest, DropsAll) {
    for (int second = 0; second <= 15; ++second)
        at(second);
    keeper_.clear();
    EXPECT_TRUE(writers_.empty());
    EXPECT_FALSE(take(15));
    at(16);
    EXPECT_EQ(writers_.size(), 1U);
}

}  // namespace
}  // namespace rsslag::session
