// SPDX-License-Identifier: BSD-2-Clause
#include "core/assertion.h"

#include <gtest/gtest.h>

namespace rsslag::core {
namespace {

using Unit = AssertedFigure::Unit;

Result<std::vector<Assertion>> parse(std::string_view text) {
    return parse_assertions(text,
                            {{"rss", Unit::Size, true},
                             {"swap", Unit::Size, true},
                             {"private_dirty", Unit::Size, true},
                             {"peak", Unit::Size},
                             {"duration", Unit::Time},
                             {"share", Unit::Percent},
                             {"lost", Unit::Count}},
                            "'rss<10MiB'");
}

/// The only comparison of `text`.
Result<Assertion> parse_assertion(std::string_view text) {
    auto all = parse(text);
    if (!all) return all.error();
    EXPECT_EQ(all->size(), 1U) << text;
    return all->front();
}

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
    EXPECT_TRUE(holds("rss.growth<0", 90, 100)) << "the growth is negative";
    EXPECT_TRUE(holds("rss.growth<=10%", 110, 100));
    EXPECT_FALSE(holds("rss.growth<=9.9%", 110, 100));
    EXPECT_TRUE(holds("rss.growth<=0%", 0, 0)) << "growth from 0 to 0 is 0 %";
    EXPECT_FALSE(holds("rss.growth<=1000%", 1, 0)) << "growth from 0 to 1 is infinite";
}

TEST(Assertion, ShowsTheValueAndTheLimitWithUnits) {
    const auto text = [](std::string_view assertion, std::string_view value, bool holds) {
        return comparison_text(*parse_assertion(assertion), value, holds);
    };
    EXPECT_EQ(text("peak<1MiB", "1,660 kB", false), "peak 1,660 kB >= 1 MiB");
    EXPECT_EQ(text(" peak <= 1 MiB ", "1,660 kB", false), "peak 1,660 kB > 1 MiB");
    EXPECT_EQ(text("private_dirty.growth<=5%", "9.4 %", false), "private_dirty.growth 9.4 % > 5 %");
    EXPECT_EQ(text("lost==0", "3", false), "lost 3 != 0");
    EXPECT_EQ(text("duration>2s", "3.1 s", true), "duration 3.1 s > 2 s");
    EXPECT_EQ(text("duration>=2s", "1.1 s", false), "duration 1.1 s < 2 s");
    EXPECT_EQ(text("share > 5", "5 %", false), "share 5 % <= 5");
    EXPECT_EQ(required_text(*parse_assertion("peak<1MiB")), "< 1 MiB");
}

TEST(Assertion, HasOneUnitForItsValueAndItsLimit) {
    const auto percent = *parse_assertion("rss.growth<=5%"), size = *parse_assertion("rss<1MiB");
    EXPECT_EQ(unit_name(percent.unit), "%");
    EXPECT_EQ(percent.compared({110}, {100}), 10);
    EXPECT_EQ(unit_name(size.unit), "kB");
    EXPECT_EQ(in_unit(size.unit, size.limit), 1024);
    EXPECT_EQ(in_unit(size.unit, size.compared({9}, {})), 9);
}

TEST(Assertion, NamesWhatItCompares) {
    const auto assertion = parse_assertion(" private_dirty.growth <= 5 % ");
    ASSERT_TRUE(assertion.ok()) << assertion.error().what;
    EXPECT_EQ(assertion->field, "private_dirty");
    EXPECT_TRUE(assertion->growth);
    EXPECT_TRUE(assertion->percent);
    EXPECT_EQ(assertion->text, "private_dirty.growth <= 5 %");
}

TEST(Assertion, RefusesWhatCannotBeMeant) {
    for (const char *text : {"",
                             "rss",
                             "rss<",
                             "<1kB",
                             "rss<1",
                             "rss<x",
                             "rss<1XB",
                             "rss<5%",
                             "rss=1kB",
                             "rss<>1kB",
                             ".growth<1kB",
                             "rss<1kB<2kB",
                             "rss<nan",
                             "rss<inf",
                             "rss<\x1b[1m",
                             "peak<infMiB",
                             "peak.growth<1kB",
                             "rss.growth.growth<1kB",
                             "rss .growth<1kB",
                             "duration<1kB",
                             "duration<1",
                             "share<1kB",
                             "lost<1%",
                             "rss<1kB and",
                             "and rss<1kB",
                             "rss<1kB or swap==0",
                             "rss<1kB and  and swap==0",
                             "rss<1kBand swap==0"}) {
        const auto assertion = parse_assertion(text);
        ASSERT_FALSE(assertion.ok()) << text;
        EXPECT_EQ(assertion.error().kind, Kind::BadInput) << text;
        EXPECT_EQ(assertion.error().what.find('\x1b'), std::string::npos);
    }
}

TEST(Assertion, ShowsWhereItCannotBeParsed) {
    for (const auto &[text, what] : {std::pair{"", "position 1: expected the name of a figure"},
                                     {"colour<1kB", "position 1: no such figure; the figures are rss, swap, "},
                                     {"rss", "position 4: expected <, <=, >, >= or =="},
                                     {"rss<x", "position 5: expected a number"},
                                     {"rss<5%", "position 6: a percentage requires .growth"},
                                     {"rss<1kB<2kB", "position 8: expected 'and' or the end"}}) {
        const auto refused = parse(text);
        ASSERT_FALSE(refused.ok()) << text;
        EXPECT_NE(refused.error().what.find(what), std::string::npos) << refused.error().what;
        EXPECT_EQ(refused.error().remedy, "write it like 'rss<10MiB'");
    }
}

TEST(Assertion, MayBeOneOfSeveral) {
    const auto all = parse(" rss.growth<5% and duration>= 2 m and lost==0 and share<7 ");
    ASSERT_TRUE(all.ok()) << all.error().what;
    ASSERT_EQ(all->size(), 4U);
    EXPECT_EQ(all->at(0).text, "rss.growth<5%");
    EXPECT_TRUE(all->at(0).growth && all->at(0).percent);
    EXPECT_EQ(all->at(1).text, "duration>= 2 m");
    EXPECT_EQ(all->at(1).limit, 120);
    EXPECT_FALSE(all->at(1).growth || all->at(1).percent);
    EXPECT_EQ(all->at(2).field, "lost");
    EXPECT_EQ(all->at(3).limit, 7);
    EXPECT_TRUE(parse("lost==0and rss==0").ok()) << "0 needs no unit";
}

}  // namespace
}  // namespace rsslag::core
