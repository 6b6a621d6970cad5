// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "report/peak.h"
#include "report/report_builder.h"
#include "report/report_parts.h"
#include "rows.h"

namespace rsslag::report {
namespace {

/// A recording of 7 s whose peak lag is 240 kB.
Report sample(std::uint64_t lost = 0) {
    exporters::test::Recorded all = exporters::test::recorded();
    all.ending.lost = lost;
    all.ending.lost_by = {{"ring_full", lost}};
    ReportBuilder builder;
    EXPECT_TRUE(all.into(builder).ok());
    return builder.take();
}

/// Whether all claims hold for the sample.
bool holds(const std::string &text, std::uint64_t lost = 0) {
    const auto claims = parse_claims(text);
    EXPECT_TRUE(claims.ok()) << text;
    if (!claims.ok()) return false;
    for (const ClaimResult &result : evaluate(*claims, sample(lost)))
        if (!result.holds) return false;
    return true;
}

std::string refusal(const std::string &text) {
    const auto claims = parse_claims(text);
    EXPECT_FALSE(claims.ok()) << text;
    if (claims.ok()) return "";
    EXPECT_EQ(claims.error().kind, core::Kind::BadInput);
    return claims.error().what;
}

TEST(Claims, CompareSizesTimesAndCounts) {
    for (const char *text : {"peak_lag<1MiB", "peak_lag == 240kB", "peak_lag<=245760B", " lost==0 ", "duration>6.5s",
                             "duration<1m", "peak_rss>0", "lost>=0 and records==12 and peak_lag<1GiB", "growth==120kB",
                             "missing==0", "peak_lag>0.1 MiB and lost<4"})
        EXPECT_TRUE(holds(text)) << text;
    for (const char *text :
         {"peak_lag<240kB", "lost==1", "peak_lag<1MiB and lost==3", "duration>7s", "growth<0", "unexplained>0"})
        EXPECT_FALSE(holds(text)) << text;
}

TEST(Claims, NameTheProcessIfThereAreSeveral) {
    Report report = sample();
    report.processes.resize(1);
    ReportProcess larger = report.processes.front();
    larger.pid = 4711;
    larger.comm = "cc1";
    larger.extremes.most.from.n += 256;
    larger.extremes.most.to.n += 256;
    larger.extremes.lag.n -= 1;
    const auto text = [&report](const char *claim) { return evaluate(*parse_claims(claim), report).at(0).text; };
    EXPECT_EQ(text("peak_rss<1kB"), "peak_rss 640 kB >= 1 kB, by 639 kB");
    report.processes.push_back(larger);
    EXPECT_EQ(text("peak_rss<1kB"), "peak_rss 1,664 kB >= 1 kB, by 1,663 kB, in cc1 [4711]");
    EXPECT_EQ(text("peak_lag<1kB"), "peak_lag 240 kB >= 1 kB, by 239 kB, in hundred [10]");
}

TEST(Claims, DoNotHoldWithoutTheEarlierSegments) {
    Report report = sample();
    report.facts.segment = 1;
    const auto refused = evaluate(*parse_claims("peak_rss<1GiB"), report).at(0);
    EXPECT_FALSE(refused.holds);
    EXPECT_NE(refused.text.find("earlier segments are not in this file"), std::string::npos) << refused.text;
    EXPECT_TRUE(evaluate(*parse_claims("peak_rss>0"), report).at(0).holds);
}

TEST(Claims, DoNotHoldForAProcessThatWasReadLateOrNever) {
    Report report = sample();
    report.ending.processes_read_late = 1;
    report.ending.processes_unread = 2;
    const auto refused = evaluate(*parse_claims("updates<1000000"), report).at(0);
    EXPECT_FALSE(refused.holds);
    EXPECT_NE(
        refused.text.find("the first reading of 1 process came after the exec, there is no reading of 2 processes"),
        std::string::npos)
        << refused.text;
    EXPECT_TRUE(evaluate(*parse_claims("processes>=3"), report).at(0).holds);
}

TEST(Claims, DoNotHoldForAProcessThatMatchesAndIsNotTraced) {
    Report report = sample();
    report.ending.processes_not_traced = 1;
    report.ending.not_traced_reason = "cannot read it: Too many open files";
    for (const char *const claim : {"peak_rss<1GiB", "updates<1000000", "processes==1", "growth<1GiB"}) {
        const auto refused = evaluate(*parse_claims(claim), report).at(0);
        EXPECT_FALSE(refused.holds) << claim;
        EXPECT_NE(
            refused.text.find("1 process was traced for only a part of the time: cannot read it: Too many open files"),
            std::string::npos)
            << refused.text;
    }
    report.ending.processes_not_traced = 0;
    const auto refused = evaluate(*parse_claims("updates<1000000"), report).at(0);
    EXPECT_FALSE(refused.holds);
    EXPECT_NE(refused.text.find("processes that match may be missing: cannot read it"), std::string::npos);
}

TEST(Claims, DoNotHoldForACommandThatWasNotTracedToItsEnd) {
    Report report = sample();
    report.cut_off = true;
    for (const char *const claim : {"peak_rss<1GiB", "updates<1000000", "duration<1h", "lost==0", "growth<1GiB"}) {
        const auto refused = evaluate(*parse_claims(claim), report).at(0);
        EXPECT_FALSE(refused.holds) << claim;
        EXPECT_NE(refused.text.find("the command was not traced to its end"), std::string::npos) << refused.text;
    }
    EXPECT_TRUE(evaluate(*parse_claims("peak_rss>0"), report).at(0).holds);
}

TEST(Claims, DoNotHoldForAResidualOfAProcessThatWasNeverWalked) {
    Report report = sample();
    for (ReportProcess &process : report.processes)
        process.verdicts["explained"]++;
    for (const char *const claim : {"residual<=8kB", "unexplained<100"})
        EXPECT_TRUE(evaluate(*parse_claims(claim), report).at(0).holds) << claim;
    report.processes.emplace_back().verdicts = {{"unwalked", 3}};
    for (const char *const claim : {"residual<1GiB", "unexplained<100"}) {
        const auto refused = evaluate(*parse_claims(claim), report).at(0);
        EXPECT_FALSE(refused.holds) << claim;
        EXPECT_NE(refused.text.find("1 process was never walked"), std::string::npos) << refused.text;
    }
    report.processes.back().verdicts["agrees"] = 1;
    EXPECT_TRUE(evaluate(*parse_claims("residual<1GiB"), report).at(0).holds);
}

TEST(Claims, DoNotHoldWhereALossMayHaveChangedTheFigure) {
    for (const Figure &figure : figures({})) {
        const std::string name(figure.name);
        const bool known = name == "duration" || name == "lost" || name == "missing" || name == "resyncs";
        const std::string unit = figure.unit == Figure::Unit::Size   ? "GiB"
                                 : figure.unit == Figure::Unit::Time ? "h"
                                                                     : "";
        EXPECT_EQ(holds(name + "<1000000" + unit, 3), known) << name;
    }
    for (const char *text : {"updates>=3", "records>=12", "peak_lag>=240kB", "lost==3", "duration>6.5s", "missing==0"})
        EXPECT_TRUE(holds(text, 3)) << text;
    for (const char *text :
         {"updates==3", "records==12", "growth==120kB", "growth>0", "peak_lag==240kB", "growth<1GiB"})
        EXPECT_FALSE(holds(text, 3)) << text;
    const auto claims = parse_claims("updates<30000");
    EXPECT_EQ(evaluate(*claims, sample(3)).at(0).text,
              "updates is at least 3 (3 records were lost: 3 ring_full), not known to be < 30000");
}

TEST(Claims, RefuseWithThePosition) {
    for (const auto &[text, what] : {std::pair{"", "position 1: expected the name of a figure"},
                                     {"<1MiB", "position 1: expected the name of a figure"},
                                     {"  rss<1MiB", "position 3: no such figure"},
                                     {"peak_lag", "position 9: expected <, <=, >"},
                                     {"peak_lag=1MiB", "position 9: expected <, <=, >"},
                                     {"peak_lag<", "position 10: expected a number"},
                                     {"peak_lag<x", "position 10: expected a number"},
                                     {"peak_lag<1", "position 11: expected a unit of size"},
                                     {"peak_lag<1MB", "position 11: expected a unit of size"},
                                     {"lost==0kB", "position 8: expected no unit"},
                                     {"duration<3kB", "position 11: expected a unit of time"},
                                     {"lost==0 and", "position 12: expected the name of a figure"},
                                     {"lost==0 or missing==0", "position 9: expected no unit"},
                                     {"lost==0, missing==0", "position 8: expected 'and' or the end"},
                                     {"lost==0 and lost<1 x", "position 20: expected no unit"},
                                     {"peak_lag<1MiB peak_lag<1MiB", "position 15: expected 'and' or the end"},
                                     {"peak_lag<nan", "position 10: expected a number"},
                                     {"peak_lag<inf", "position 10: expected a number"},
                                     {"peak_lag<1e999MiB", "position 11: expected a unit of size"}}) {
        const std::string reported = refusal(text);
        EXPECT_NE(reported.find(what), std::string::npos) << text << ": " << reported;
    }
}

TEST(Claims, CountTheVerdictsOfProcessesThatAreNotListed) {
    core::Summary summary;
    summary.processes.emplace_back().verdicts = {{"agrees", 2}};
    summary.left_out.verdicts = {{"agrees", 7}, {"unexplained", 3}};
    const auto claims = parse_claims("unexplained==0");
    ASSERT_TRUE(claims.ok());
    EXPECT_EQ(evaluate(*claims, report_of(summary, true)).at(0).text, "unexplained 3 != 0");
}

TEST(Claims, AreNotHeldByWhatIsNotKnown) {
    const auto claims = parse_claims("peak_lag<1MiB");
    ASSERT_TRUE(claims.ok());
    const auto result = evaluate(*claims, Report());
    ASSERT_EQ(result.size(), 1U);
    EXPECT_FALSE(result[0].holds);
    EXPECT_FALSE(result[0].value);
    EXPECT_EQ(result[0].text, "peak_lag is not known, must be < 1 MiB");
}

TEST(Claims, SayWhatIsAndWhatWasDemanded) {
    const auto claims = parse_claims("peak_lag<  1MiB and lost == 0");
    ASSERT_TRUE(claims.ok());
    const auto result = evaluate(*claims, sample());
    ASSERT_EQ(result.size(), 2U);
    EXPECT_EQ(result[0].text, "peak_lag 240 kB < 1 MiB");
    EXPECT_EQ(result[1].text, "lost 0 == 0");
    const auto lossy = parse_claims("lost == 0");
    EXPECT_EQ(evaluate(*lossy, sample(3)).at(0).text, "lost 3 != 0");
}

}  // namespace
}  // namespace rsslag::report
