// SPDX-License-Identifier: BSD-2-Clause
#include "report/stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rows.h"

namespace rsslag::report {
namespace {

using core::event::Samples;
using core::event::Stacks;

constexpr core::PageSize kPage{4096};

exporters::UpdateRow update(int tid, std::int64_t pages, std::int64_t sample = -1) {
    exporters::UpdateRow row = exporters::test::update(0, 10, tid, core::Member::Anon, pages);
    row.sample = sample;
    return row;
}

Samples samples(std::vector<std::int32_t> believed) {
    Samples event;
    for (const std::int32_t pages : believed)
        event.samples.emplace_back().believed = pages;
    return event;
}

/// main calls touch and drop.
Stacks stacks(std::vector<std::uint32_t> of) {
    Stacks event;
    event.frames = {{"touch", "/bin/x", {}, 1}, {"drop", "/bin/x", {}, 2}, {"main", "/bin/x", {}, 3}};
    event.stacks = {{{0, 2}, core::StackEnd::Outermost}, {{1, 2}, core::StackEnd::Outermost}};
    event.of = std::move(of);
    return event;
}

const StackLine &line(const std::vector<StackLine> &all, std::string_view name) {
    return *std::find_if(all.begin(), all.end(), [&](const StackLine &each) { return each.name == name; });
}

TEST(StackShares, ScalesTheSamplesOfAThreadToItsRecords) {
    StackShares shares;
    shares.begin(64);
    shares.samples(samples({1, -32}));
    for (int i = 0; i < 99; ++i)
        shares.note(update(11, 1));
    shares.note(update(11, 1, 0));
    shares.note(update(11, -32, 1));
    shares.note(update(11, -8));
    shares.stacks(stacks({0, 1}));
    const StackReport report = shares.take();
    const auto all = lines(report, StacksBy::Function);
    EXPECT_DOUBLE_EQ(line(all, "touch").all.came, 100);  // one sample of 64 pages stands for 100
    EXPECT_DOUBLE_EQ(line(all, "drop").all.went, 40);
    EXPECT_DOUBLE_EQ(line(all, "main").all.net(), 60);
    EXPECT_DOUBLE_EQ(line(all, "main").self.came, 0);
    EXPECT_EQ(report.unmatched, 0U);
}

TEST(StackShares, OrderOfRowAndStackDoesNotMatter) {
    for (const bool stack_first : {false, true}) {
        StackShares shares;
        shares.begin(1);
        shares.samples(samples({1}));
        if (stack_first) shares.stacks(stacks({0}));
        shares.note(update(11, 1, 0));
        if (!stack_first) shares.stacks(stacks({0}));
        EXPECT_DOUBLE_EQ(line(lines(shares.take(), StacksBy::Function), "touch").all.came, 1);
    }
}

TEST(StackShares, WhatNoSampleExplainsIsALine) {
    StackShares shares;
    shares.begin(64);
    shares.note(update(11, 5));
    shares.note(update(12, -3));
    const auto all = lines(shares.take(), StacksBy::Function);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name, "(no sample)");
    EXPECT_DOUBLE_EQ(all[0].all.came, 5);
    EXPECT_DOUBLE_EQ(all[0].all.went, 3);
}

TEST(StackShares, SamplesOfUnknownAmountsCountAsUnmatched) {
    StackShares shares;
    shares.begin(64);
    shares.samples(samples({1, 1, 0}));
    exporters::UpdateRow unknown = update(11, 0, 0);
    unknown.pages.reset();
    shares.note(unknown);
    shares.note(update(11, 1, 2));  // believed 0: its probability is 0
    shares.stacks(stacks({0, 0, 0}));
    EXPECT_EQ(shares.take().unmatched, 3U);
}

TEST(StackShares, RecursionCountsOnce) {
    StackShares shares;
    shares.begin(1);
    shares.samples(samples({1}));
    Stacks recursive = stacks({0});
    recursive.stacks[0].frames = {0, 0, 0, 2};
    shares.note(update(11, 1, 0));
    shares.stacks(recursive);
    EXPECT_DOUBLE_EQ(line(lines(shares.take(), StacksBy::Function), "touch").all.came, 1);
}

TEST(StackShares, TextAndJson) {
    StackShares shares;
    shares.begin(1);
    shares.samples(samples({1}));
    shares.note(update(11, 256, 0));
    shares.stacks(stacks({0}));
    const StackReport report = shares.take();
    const std::string text = stacks_text(report, StacksBy::Function, 1, kPage, true);
    EXPECT_NE(text.find("        1024           0        1024           0        1  main\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("and 1 more\n"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(stacks_json(report, kPage));
    EXPECT_EQ(json["stacks"][0]["came"], 256.0);
    EXPECT_EQ(json["stacks"][0]["frames"][0]["function"], "touch");
    EXPECT_NE(stacks_text({}, StacksBy::File, 9, kPage, true).find("no stacks were recorded"), std::string::npos);
}

}  // namespace
}  // namespace rsslag::report
