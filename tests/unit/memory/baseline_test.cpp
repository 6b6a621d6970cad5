// SPDX-License-Identifier: BSD-2-Clause
#include "memory/baseline.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rsslag::memory {
namespace {

using core::Kilobytes;

TEST(Baseline, IsThatOfTheSameProcessOrTheOnlyOne) {
    Baseline a;
    a.pid = 1;
    a.comm = "a";
    Baseline b = a;
    b.pid = 2;
    b.comm = "b";
    Baseline other = a;
    other.pid = 3;
    EXPECT_EQ(baseline_of({a}, 99, "x")->pid, 1) << "the document has only this process";
    const std::vector<Baseline> three{a, b, other};
    EXPECT_EQ(baseline_of(three, 3, "a")->pid, 3);
    EXPECT_EQ(baseline_of(three, 99, "b")->pid, 2);
    EXPECT_EQ(baseline_of(three, 99, "a"), nullptr) << "two processes have this name";
    EXPECT_EQ(baseline_of(three, 1, "x"), nullptr) << "the PID now belongs to another program";
}

TEST(Baseline, IsRefusedWhereItIsNone) {
    for (const char *text : {"", "{}", "[1]", "{\"schema\":\"rsslag.tick/2\"}", "{\"schema\":\"rsslag.maps/1\"}",
                             "{\"schema\":\"rsslag.maps/1\",\"processes\":[{}]}", "\xff"}) {
        const auto read = read_baselines(text);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_EQ(read.error().kind, core::Kind::Corrupt);
    }
}

core::Assertion parsed(std::string_view text) {
    const auto assertions = parse_assertions(text);
    EXPECT_TRUE(assertions.ok()) << text;
    return assertions.ok() ? assertions->front() : core::Assertion{};
}

TEST(Baseline, EvaluatesGrowthOnlyWithABaseline) {
    procfs::MapSums now;
    now.private_clean = {10};
    now.private_dirty = {30};
    Baseline before;
    before.sums.private_dirty = {25};
    const Asserted held = evaluate(parsed("private.growth<=15kB"), now, &before);
    EXPECT_EQ(held.holds, true);
    EXPECT_EQ(held.value, Kilobytes{15});
    EXPECT_EQ(evaluate(parsed("private.growth<15kB"), now, &before).holds, false);
    EXPECT_EQ(evaluate(parsed("private.growth<15kB"), now, nullptr).holds, std::nullopt);
    EXPECT_EQ(evaluate(parsed("private<1MiB"), now, nullptr).holds, true);
}

TEST(Assertions, HoldOfAnUpperBoundOnlyForAllAmountsBelowIt) {
    procfs::MapSums now;
    now.droppable = {15168};
    const auto holds = [&now](std::string_view text) { return evaluate(parsed(text), now, nullptr).holds; };
    EXPECT_EQ(holds("droppable<16MiB"), true);
    EXPECT_EQ(holds("droppable<=15168kB"), true);
    EXPECT_EQ(holds("droppable>16MiB"), false);
    for (const char *text :
         {"droppable>=12MiB", "droppable>12MiB", "droppable==15168kB", "droppable==0", "droppable<12MiB"})
        EXPECT_EQ(holds(text), std::nullopt) << text;
    EXPECT_EQ(evaluate(parsed("droppable>=12MiB"), now, nullptr).value, Kilobytes{15168});
    EXPECT_EQ(holds("droppable>=0"), true);
    now.droppable = {0};
    EXPECT_EQ(holds("droppable==0"), true) << "no amount is smaller";
}

TEST(Assertions, DoNotHoldForTheGrowthBetweenUpperBounds) {
    procfs::MapSums now;
    now.droppable = {2000};
    Baseline before;
    before.sums.droppable = {1000};
    const auto holds = [&](std::string_view text) { return evaluate(parsed(text), now, &before).holds; };
    for (const char *text : {"droppable.growth>=1000kB", "droppable.growth==1000kB", "droppable.growth<=1500kB",
                             "droppable.growth>5%", "droppable.growth<=100%"})
        EXPECT_EQ(holds(text), std::nullopt) << text;
    EXPECT_EQ(holds("droppable.growth<=2000kB"), true) << "from 0 to the bound at most";
    EXPECT_EQ(holds("droppable.growth>2000kB"), false);
}

TEST(Assertions, OfSumsMayBeJoined) {
    const auto joined = parse_assertions(" rss<1MiB  and private.growth <= 5 % and swap==0 ");
    ASSERT_TRUE(joined.ok()) << joined.error().what;
    ASSERT_EQ(joined->size(), 3U);
    EXPECT_EQ(joined->at(0).text, "rss<1MiB");
    EXPECT_EQ(joined->at(1).text, "private.growth <= 5 %");
    EXPECT_EQ(joined->at(1).field, "private");
    EXPECT_TRUE(joined->at(1).percent);
    EXPECT_EQ(joined->at(2).text, "swap==0");
    EXPECT_EQ(parsed(" rss<1MiB ").text, " rss<1MiB ");
    for (const char *text : {"rss<1MiB and", "rss<1MiB and rss", "rss<1MiB, swap==0", "colour<1kB", "and rss<1MiB"})
        EXPECT_EQ(parse_assertions(text).error().kind, core::Kind::BadInput) << text;
}

TEST(NamedSum, KnowsEveryNameThatItLists) {
    const std::string listed = sum_names();
    std::size_t from = 0;
    int names = 0;
    while (from < listed.size()) {
        const std::size_t comma = std::min(listed.find(", ", from), listed.size());
        EXPECT_TRUE(named_sum({}, listed.substr(from, comma - from))) << listed.substr(from, comma - from);
        from = comma + 2;
        ++names;
    }
    EXPECT_GT(names, 5);
    EXPECT_FALSE(named_sum({}, "rss_kb"));
    EXPECT_FALSE(named_sum({}, ""));
}

}  // namespace
}  // namespace rsslag::memory
