// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/assertion.h"

#include <gtest/gtest.h>

namespace rsslag::core {
namespace {

bool holds(std::string_view text, std::int64_t now, std::int64_t before = 0) {
    const auto assertion = parse_assertion(text);
    EXPECT_TRUE(assertion.ok()) << text << ": " << (assertion.ok() ? "" : assertion.error().what);
    return assertion.ok() && assertion->holds({now}, {before});
}

TEST(Assertion, ComparesInItsUnit) {
    EXPECT_TRUE(holds("rss<10kB", 9));
    EXPECT_FALSE(holds("rss<10kB", 10));
    EXPECT_TRUE(holds("rss<=10kB", 10));
    EXPECT_TRUE(holds("rss == 1 MiB", 1024));
    EXPECT_TRUE(holds("rss>1.5MiB", 1537));
    EXPECT_FALSE(holds("rss>=1GiB", 1024 * 1024 - 1));
    EXPECT_TRUE(holds("rss<=1024B", 1));
    EXPECT_TRUE(holds("swap==0", 0));
}

TEST(Assertion, OfGrowthLooksBack) {
    EXPECT_TRUE(holds("rss.growth<=10kB", 110, 100));
    EXPECT_FALSE(holds("rss.growth<10kB", 110, 100));
    EXPECT_TRUE(holds("rss.growth<0", 90, 100)) << "it shrank";
    EXPECT_TRUE(holds("rss.growth<=10%", 110, 100));
    EXPECT_FALSE(holds("rss.growth<=9.9%", 110, 100));
    EXPECT_TRUE(holds("rss.growth<=0%", 0, 0)) << "nothing came of nothing";
    EXPECT_FALSE(holds("rss.growth<=1000%", 1, 0)) << "something came of nothing";
}

TEST(Assertion, NamesWhatItCompares) {
    const auto assertion = parse_assertion(" private_dirty.growth <= 5 % ");
    ASSERT_TRUE(assertion.ok()) << assertion.error().what;
    EXPECT_EQ(assertion->field, "private_dirty");
    EXPECT_TRUE(assertion->growth);
    EXPECT_TRUE(assertion->percent);
    EXPECT_EQ(assertion->text, " private_dirty.growth <= 5 % ");
}

TEST(Assertion, RefusesWhatCannotBeMeant) {
    for (const char *text : {"", "rss", "rss<", "<1kB", "rss<1", "rss<x", "rss<1XB", "rss<5%", "rss=1kB", "rss<>1kB",
                             ".growth<1kB", "rss<1kB<2kB", "rss<nan", "rss<inf", "rss<\x1b[1m"}) {
        const auto assertion = parse_assertion(text);
        ASSERT_FALSE(assertion.ok()) << text;
        EXPECT_EQ(assertion.error().kind, Kind::BadInput) << text;
        EXPECT_EQ(assertion.error().what.find('\x1b'), std::string::npos);
    }
}

}  // namespace
}  // namespace rsslag::core
