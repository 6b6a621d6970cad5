// SPDX-License-Identifier: BSD-2-Clause
#include "core/units.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "readings.h"

namespace rsslag::core {
namespace {

using test::members;

TEST(Units, TurnsPagesIntoKilobytesAndBack) {
    constexpr PageSize kSmall{4096};
    constexpr PageSize kLarge{65536};
    EXPECT_EQ(kSmall.kb({19991}), Kilobytes{79964});
    EXPECT_EQ(kSmall.pages({79964}), Pages{19991});
    EXPECT_EQ(kLarge.kb({3}), Kilobytes{192});
    EXPECT_EQ(kLarge.pages({192}), Pages{3});
    EXPECT_EQ(kSmall.kb({-6}), Kilobytes{-24});
    EXPECT_EQ(kSmall.pages({-24}), Pages{-6});
}

TEST(Units, CountSignedPages) {
    EXPECT_EQ(Pages{3} - Pages{5}, Pages{-2});
    EXPECT_EQ(-Pages{3} + Pages{5}, Pages{2});
    EXPECT_LT(Pages{-1}, Pages{0});
    Pages sum{4};
    sum += {-9};
    EXPECT_EQ(sum, Pages{-5});
    Kilobytes kb{8};
    kb += Kilobytes{4} - Kilobytes{16};
    EXPECT_EQ(kb + Kilobytes{1}, Kilobytes{-3});
}

TEST(Units, WrapAroundOutOfRangeSoThatPartsAddUpToTheirSum) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    static_assert(Pages{kMost} + Pages{1} == Pages{kLeast});
    static_assert(Pages{kLeast} - Pages{1} == Pages{kMost});
    static_assert(-Pages{kLeast} == Pages{kLeast});
    static_assert(Kilobytes{kMost} + Kilobytes{1} == Kilobytes{kLeast});
    static_assert(PageSize{}.kb({kMost}) == Kilobytes{-4});
    Pages sum{kMost};
    sum += {kMost};
    EXPECT_EQ(sum - Pages{kMost}, Pages{kMost});
}

TEST(Units, NumberTheMembersAsTheKernelDoes) {
    EXPECT_EQ(static_cast<int>(Member::File), 0);
    EXPECT_EQ(static_cast<int>(Member::Anon), 1);
    EXPECT_EQ(static_cast<int>(Member::Swap), 2);
    EXPECT_EQ(static_cast<int>(Member::Shmem), 3);
    Members numbered;
    for (const Member member : kAllMembers)
        numbered[member] = {static_cast<std::int64_t>(member) + 10};
    EXPECT_EQ(numbered, members(10, 11, 13, 12));
}

TEST(Units, LeaveSwapOutOfTheRss) {
    EXPECT_EQ(members(1, 20, 300, 4000).rss(), Pages{321});
    EXPECT_EQ(clamped_rss(members(1, 20, 300, 4000)), Pages{321});
}

TEST(Units, ClampEachMemberByItselfAsProcDoes) {
    EXPECT_EQ(members(-5, 20, 300).rss(), Pages{315});
    EXPECT_EQ(clamped_rss(members(-5, 20, 300)), Pages{320});
    EXPECT_EQ(clamped_rss(members(-5, -20, -300, 7)), Pages{0});
}

TEST(Units, AddAndSubtractMemberByMember) {
    const Members a = members(1, 2, 3, 4);
    const Members b = members(10, 20, 30, 40);
    EXPECT_EQ(a + b, members(11, 22, 33, 44));
    EXPECT_EQ(a - b, members(-9, -18, -27, -36));
    Members sum = a;
    sum += b;
    EXPECT_EQ(sum, a + b);
}

}  // namespace
}  // namespace rsslag::core
