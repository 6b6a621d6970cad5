// SPDX-License-Identifier: BSD-2-Clause
#include "core/duration.h"

#include <gtest/gtest.h>

#include <string>

namespace rsslag::core {
namespace {

using std::chrono::milliseconds;

milliseconds duration(std::string_view word) {
    const auto result = parse_duration(word);
    EXPECT_TRUE(result.ok()) << word;
    return result.ok() ? *result : milliseconds(-1);
}

TEST(ParseDuration, TakesEachUnit) {
    EXPECT_EQ(duration("500ms"), milliseconds(500));
    EXPECT_EQ(duration("2s"), milliseconds(2'000));
    EXPECT_EQ(duration("1m"), milliseconds(60'000));
    EXPECT_EQ(duration("1h"), milliseconds(3'600'000));
}

TEST(ParseDuration, TakesABareNumberAsSeconds) {
    EXPECT_EQ(duration("3"), milliseconds(3'000));
    EXPECT_EQ(duration("0"), milliseconds(0));
    EXPECT_EQ(duration("0.25"), milliseconds(250));
}

TEST(ParseDuration, TakesFractionsAndRoundsToAMillisecond) {
    EXPECT_EQ(duration("1.5s"), milliseconds(1'500));
    EXPECT_EQ(duration(".5s"), milliseconds(500));
    EXPECT_EQ(duration("0.4ms"), milliseconds(0));
    EXPECT_EQ(duration("0.6ms"), milliseconds(1));
}

TEST(ParseDuration, RefusesWhatIsNone) {
    for (const char *word : {"",    "s",  "ms",  "abc", "-1s",  "-0.1", "+1s", " 1s", "1 s",  "1s ",   "1S",
                             "1us", "1d", "1ss", "1sm", "0x10", "1,5s", "inf", "nan", "infs", "1e400", "1e300h"}) {
        const auto result = parse_duration(word);
        ASSERT_FALSE(result.ok()) << word;
        EXPECT_EQ(result.error().kind, core::Kind::BadInput);
        EXPECT_EQ(result.error().what, "'" + std::string(word) + "' is not a duration");
        EXPECT_NE(result.error().remedy.find("500ms"), std::string::npos);
    }
}

TEST(ParseDuration, QuotesHostileWordsSafely) {
    EXPECT_EQ(parse_duration("\x1b[2J").error().what, "'\\x1b[2J' is not a duration");
}

TEST(ParseInterval, IsAtLeastTenMilliseconds) {
    EXPECT_EQ(parse_interval("10ms").ok() ? *parse_interval("10ms") : milliseconds(0), milliseconds(10));
    EXPECT_TRUE(parse_interval("1s").ok());
    for (const char *word : {"9ms", "0", "0.009", "0s"}) {
        const auto result = parse_interval(word);
        ASSERT_FALSE(result.ok()) << word;
        EXPECT_EQ(result.error().kind, core::Kind::BadInput);
        EXPECT_NE(result.error().remedy.find("10ms"), std::string::npos);
    }
}

TEST(ParseInterval, RefusesWhatIsNoDuration) {
    EXPECT_EQ(parse_interval("soon").error().what, "'soon' is not a duration");
}

}  // namespace
}  // namespace rsslag::core
