// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <set>

#include "held.h"

namespace rsslag::workload::test {
namespace {

TEST(Registry, FindsEachWorkloadByItsOwnName) {
    for (const Workload &workload : all()) {
        const Workload *found = find(workload.name);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->name, workload.name);
    }
    EXPECT_EQ(find("no-such"), nullptr);
    EXPECT_EQ(find(""), nullptr);
}

TEST(Registry, HasUniqueNamesThatCanBeTypedAndSummariesThatFitALine) {
    std::set<std::string_view> names;
    for (const Workload &workload : all()) {
        EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
        EXPECT_EQ(workload.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos);
        EXPECT_FALSE(workload.summary.empty());
        EXPECT_LE(workload.name.size() + workload.summary.size(), 100U) << workload.name;
        EXPECT_NE(workload.start, nullptr);
    }
}

TEST(Registry, SaysInEachSummaryExactlyWhichOptionsTheWorkloadTakes) {
    for (const Workload &workload : all()) {
        // Out of range, so that it is refused in any case. The reason shows whether the workload has the option.
        const auto takes = [&](const Options &options) {
            const auto started = workload.start(options);
            EXPECT_FALSE(started.ok());
            return !started && started.error().what.find("takes no") == std::string::npos;
        };
        const bool threads = workload.summary.find("--threads") != std::string_view::npos;
        const bool kb = workload.summary.find("--kb") != std::string_view::npos;
        EXPECT_EQ(takes({.threads = 0}), threads) << workload.name;
        EXPECT_EQ(takes({.kb = 0}), kb) << workload.name;
    }
}

struct Refusal {
    const char *name;
    Options options;
    core::Kind kind;
    const char *said;
};

TEST(Options, AreRefusedWhereTheyHaveNoUseOrAreBeyondTheLimits) {
    const Refusal refusals[] = {
        {"single", {.threads = 2}, core::Kind::BadInput, "--threads"},
        {"per-cpu", {.kb = 64}, core::Kind::BadInput, "--kb"},
        {"after-exec", {.kb = 64}, core::Kind::BadInput, "--kb"},
        {"single", {.over = std::chrono::seconds(1)}, core::Kind::BadInput, "--over"},
        {"classic", {.over = std::chrono::hours(2)}, core::Kind::BadInput, "--over 7200000"},
        {"classic", {.threads = 0}, core::Kind::BadInput, "--threads 0"},
        {"classic", {.threads = -1}, core::Kind::BadInput, "--threads -1"},
        {"classic", {.threads = 100'001}, core::Kind::BadInput, "--threads 100001"},
        {"classic", {.kb = 3}, core::Kind::BadInput, "--kb 3"},
        {"classic", {.kb = 64LL * 1024 * 1024 + 1}, core::Kind::BadInput, "--kb 67108865"},
        // More than any machine has: refused before a page is touched.
        {"classic", {.threads = 100'000, .kb = 64LL * 1024 * 1024}, core::Kind::Unsupported, "MemAvailable"},
    };
    for (const Refusal &refusal : refusals) {
        const auto started = find(refusal.name)->start(refusal.options);
        ASSERT_FALSE(started.ok()) << refusal.name;
        EXPECT_EQ(started.error().kind, refusal.kind) << started.error().what;
        EXPECT_NE(started.error().what.find(refusal.said), std::string::npos) << started.error().what;
        EXPECT_FALSE(started.error().remedy.empty());
    }
}

}  // namespace
}  // namespace rsslag::workload::test
