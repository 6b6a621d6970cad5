// SPDX-License-Identifier: BSD-2-Clause
#include "cli/trace_options.h"

#include <gtest/gtest.h>

namespace rsslag::cli {
namespace {

using session::Format;
using session::TraceOptions;
using Which = core::ThreadChoice::Which;

TEST(ParseThreads, TakesTheFourWords) {
    EXPECT_EQ(parse_threads("all")->which, Which::All);
    EXPECT_EQ(parse_threads("changed")->which, Which::Changed);
    EXPECT_EQ(parse_threads("none")->which, Which::None);
    const auto top = parse_threads("top:7");
    ASSERT_TRUE(top);
    EXPECT_EQ(top->which, Which::Top);
    EXPECT_EQ(top->top, 7U);
}

TEST(ParseThreads, RefusesAnythingElse) {
    for (const char *word : {"", "top", "top:", "top:0", "top:-1", "top:7x", "ALL", "top:99999999999999999999"})
        EXPECT_FALSE(parse_threads(word)) << word;
}

TEST(ParseTraceOptions, ListsAllThreadsForScriptsAndNoneForPeople) {
    TraceOptions json;
    json.typed.format = "jsonl";
    ASSERT_TRUE(parse(json));
    EXPECT_EQ(json.format, Format::Jsonl);
    EXPECT_EQ(json.threads.which, Which::All);
    TraceOptions lines;
    lines.typed.format = "lines";
    ASSERT_TRUE(parse(lines));
    EXPECT_EQ(lines.format, Format::Lines);
    EXPECT_EQ(lines.threads.which, Which::None);
    TraceOptions progress;
    progress.format = Format::Progress;
    ASSERT_TRUE(parse(progress));
    EXPECT_EQ(progress.format, Format::Progress);
    EXPECT_EQ(progress.threads.which, Which::All) << "readers of the recording need all threads";
}

TEST(ParseTraceOptions, TakesSizesWithTheirUnits) {
    TraceOptions options;
    options.typed.format = "lines";
    for (const auto &[word, bytes] :
         {std::pair{"4096", 4096U}, {"512K", 512U << 10}, {"8M", 8U << 20}, {"1G", 1U << 30}}) {
        options.typed.ring = word;
        ASSERT_TRUE(parse(options)) << word;
        EXPECT_EQ(options.ring_bytes, bytes);
    }
    for (const char *word : {"0", "4095", "2G", "8m", "8MB", "-1", "99999999999G"}) {
        options.typed.ring = word;
        EXPECT_FALSE(parse(options)) << word;
    }
}

TEST(ParseTraceOptions, TakesEitherTheSizeOfARingOrThatOfAll) {
    TraceOptions options;
    options.typed.format = "lines";
    ASSERT_TRUE(parse(options));
    EXPECT_EQ(options.ring_bytes, 0U) << "the default depends on the number of CPUs";
    options.typed.memory = "32M";
    ASSERT_TRUE(parse(options));
    EXPECT_EQ(options.memory_bytes, 32U << 20);
    options.typed.ring = "1M";
    EXPECT_FALSE(parse(options));
    options.typed.ring.clear();
    options.typed.memory = "1023K";
    EXPECT_FALSE(parse(options));
}

TEST(ParseTraceOptions, LimitsOnlyARecordingThatIsMade) {
    TraceOptions options;
    options.typed.format = "lines";
    options.typed.max_size = "64M";
    EXPECT_FALSE(parse(options));
    options.recording = "x.rsslag";
    ASSERT_TRUE(parse(options));
    EXPECT_EQ(options.max_bytes, 64U << 20);
    options.typed.max_size = "255K";
    EXPECT_FALSE(parse(options));
}

TEST(ParseTraceOptions, RefusesRecordsThatAreNeverMade) {
    TraceOptions options;
    options.events = true;
    ASSERT_TRUE(parse(options));
    EXPECT_EQ(options.format, Format::Lines) << "the screen does not show single records";
    options.mode = "counts";
    EXPECT_FALSE(parse(options));
}

}  // namespace
}  // namespace rsslag::cli
