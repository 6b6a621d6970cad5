// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "documents.h"
#include "expected.h"
#include "golden.h"
#include "ticks.h"

namespace rsslag::documents {
namespace {

using core::Pages;
using test::ascii_style;
using test::contains;
using test::cpu_summary;
using test::cpu_tick;
using test::ended_tick;
using test::is_ascii;
using test::is_golden;
using test::members;
using test::moving_tick;
using test::thread_summary;
using test::thread_tick;

/// Sets the time zone to UTC+2 on every machine.
class TickText : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        setenv("TZ", "RSSLAG-2", 1);
        tzset();
    }
};

using SummaryText = TickText;

std::size_t cells(const std::string &text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80 && c != '\n'; }));
}

TEST_F(TickText, ShowsThreadsThatCache) {
    const TextStyle style;
    EXPECT_TRUE(is_golden(line_header(style) + tick_lines(thread_tick(), style, true), "tick_thread.txt"));
}

TEST_F(TickText, ShowsWhatThreadsChangedWhereCpusCache) {
    const TextStyle style;
    EXPECT_TRUE(is_golden(line_header(style) + tick_lines(cpu_tick(), style, true), "tick_cpu.txt"));
}

TEST_F(TickText, IsOneLineATickThatFitsAWideTerminal) {
    const TextStyle style;
    for (const Tick &tick : {thread_tick(), cpu_tick(), ended_tick(), moving_tick()}) {
        const std::string line = tick_lines(tick, style, false);
        EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
        EXPECT_LE(cells(line), 114U) << line;
    }
    EXPECT_LE(cells(line_header(style)), 114U);
}

TEST_F(TickText, IsInLocalTime) {
    EXPECT_EQ(tick_lines(thread_tick(), {}, false).substr(0, 8), "14:00:00");
}

TEST_F(TickText, MarksWhatIsNotExactWhenPrinted) {
    const std::string quiet = tick_lines(thread_tick(), {}, false);
    EXPECT_TRUE(contains(quiet, " AGREES")) << quiet;
    EXPECT_FALSE(contains(quiet, "~") || contains(quiet, "!")) << quiet;
    const std::string moving = tick_lines(moving_tick(), {}, false);
    EXPECT_TRUE(contains(moving, " 79,964 ")) << "the value of stat has no mark: " << moving;
    EXPECT_TRUE(contains(moving, "~80,708")) << moving;
    EXPECT_TRUE(contains(moving, "~488")) << moving;
    EXPECT_TRUE(contains(moving, " MOVING")) << moving;
}

TEST_F(TickText, MarksEveryNumberAfterALossUntilTheResync) {
    Tick tick = thread_tick();
    tick.lost = 3;
    tick.needs_resync = true;
    const std::string needs_resync = tick_lines(tick, {}, true);
    for (const char *each : {"!80,452", "!488", "!3 MOVING", "cached    !240 kB", "net  !8,240 kB"})
        EXPECT_TRUE(contains(needs_resync, each)) << each << " in " << needs_resync;
    EXPECT_FALSE(contains(needs_resync, "AGREES"));
    tick.needs_resync = false;
    tick.ledger.resyncs = 1;
    const std::string resynced = tick_lines(tick, {}, true);
    EXPECT_TRUE(contains(resynced, " 3 AGREES  resyncs 1")) << resynced;
    EXPECT_FALSE(contains(resynced, "!"));
}

TEST_F(TickText, SaysHowOldAWalkOfAnEarlierTickIs) {
    Tick tick = thread_tick();
    tick.stale_walk = true;
    tick.process.walk_age_ms = 1'249;
    EXPECT_TRUE(contains(tick_lines(tick, {}, false), "AGREES @1.2s\n"));
}

TEST_F(TickText, ShowsUnexplainedPagesAndDisagreements) {
    Tick tick = thread_tick();
    tick.process.verdict.verdict = core::Verdict::Unexplained;
    tick.process.verdict.residual = core::Pages{-3};
    tick.process.verdict.causes = {{core::Cause::Unexplained, {-3}}};
    tick.ledger.disagreements = 2;
    const std::string line = tick_lines(tick, {}, false);
    EXPECT_TRUE(contains(line, "UNEXPLAINED residual \u221212 kB  disagreements 2")) << line;
}

TEST_F(TickText, SaysThatAProcessHasEndedAndNothingThatWasNotRead) {
    const std::string line = tick_lines(ended_tick(), {}, false);
    EXPECT_TRUE(contains(line, " EXITED\n")) << line;
    EXPECT_FALSE(contains(line, "79,964")) << line;
    EXPECT_FALSE(contains(line, "~")) << line;
    Tick held = ended_tick();
    held.ledger.last.anon = {1'000};
    EXPECT_TRUE(contains(tick_lines(held, {}, false), "        -     4,000         -     -         -         -"))
        << "EXACT must be the value before the teardown";
    Tick unread = thread_tick();
    unread.read = false;
    EXPECT_TRUE(contains(tick_lines(unread, {}, false), "~80,452"))
        << "without a reading the value of a living process is approximate";
}

TEST_F(TickText, ListsThreadsOnlyWhenAskedTo) {
    Tick tick = thread_tick();
    tick.threads = {ThreadChoice::Which::Top, 2};
    const std::string text = tick_lines(tick, {}, true);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
    EXPECT_EQ(text.substr(0, text.find('\n') + 1), tick_lines(tick, {}, false));
}

/// The amount of each row that has one, in kB.
std::vector<std::int64_t> nets(const std::string &text) {
    std::vector<std::int64_t> found;
    const std::string name = "  net ";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        std::string digits;
        for (const char c : text.substr(at + name.size(), text.find(" kB", at) - at - name.size()))
            if (c == '-' || (c >= '0' && c <= '9')) digits += c;
        found.push_back(std::stoll(digits));
    }
    return found;
}

TEST_F(TickText, HasRowsThatAddUpToWhatTheProcessGrewBy) {
    Tick tick = thread_tick();
    tick.ledger.remainder.anon = {2};
    const core::Pages grew = tick.ledger.exact().rss() - tick.ledger.baseline.rss();
    Pages result;
    for (const core::TaskNet &task : tick.ledger.tasks)
        result += task.net.rss();
    tick.ledger.exited.net.anon += grew - result - tick.ledger.exited.net.rss() - Pages{-10} - Pages{2};
    for (const auto which : {ThreadChoice::Which::All, ThreadChoice::Which::Top}) {
        tick.threads = {which, 2};
        const std::string text = tick_lines(tick, ascii_style(), true);
        const std::vector<std::int64_t> rows = nets(text);
        EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), tick.page_size.kb(grew).n) << text;
        EXPECT_EQ(contains(text, "3 threads not listed"), which == ThreadChoice::Which::Top) << text;
        EXPECT_TRUE(contains(text, "  7 threads that ended")) << text;
        EXPECT_TRUE(contains(text, "  1 task of other processes")) << text;
        EXPECT_TRUE(contains(text, "  not attributed")) << text;
    }
    // The net of ended tasks of other processes is part of `exited`, but they were not threads of the process.
    tick.ledger.ended_others = {4, {}, 0, 9, 0, {}};
    tick.ledger.ended_others.net.anon = {30};
    const std::string text = tick_lines(tick, ascii_style(), true);
    const std::vector<std::int64_t> rows = nets(text);
    EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), tick.page_size.kb(grew).n) << text;
    EXPECT_TRUE(contains(text, "  7 threads that ended")) << text;
    EXPECT_TRUE(contains(text, "  5 tasks of other processes")) << text;
    const std::string ended = tick_lines(ended_tick(), {}, true);
    EXPECT_TRUE(contains(ended, " 12 threads that ended                     net          -  faults")) << ended;
}

TEST_F(TickText, IsAsciiWhereTheLocaleIs) {
    for (const Tick &tick : {thread_tick(), cpu_tick(), ended_tick(), moving_tick()})
        EXPECT_TRUE(is_ascii(tick_lines(tick, ascii_style(), true)));
    EXPECT_TRUE(is_ascii(line_header(ascii_style())));
    EXPECT_TRUE(contains(tick_lines(cpu_tick(), ascii_style(), true), "net     600 kB +- 12 kB"));
}

TEST_F(TickText, IsInEveryUnit) {
    TextStyle style;
    style.pages = core::as_mib;
    style.unit = "MiB";
    EXPECT_TRUE(contains(line_header(style), "  MiB      STAT"));
    EXPECT_TRUE(contains(tick_lines(thread_tick(), style, true), "     78.6 "));
    EXPECT_TRUE(contains(tick_lines(thread_tick(), style, true), "cached    0.2 MiB"));
}

TEST_F(TickText, ColoursTheVerdictAndOnlyWhenAskedTo) {
    TextStyle style;
    style.color = true;
    EXPECT_TRUE(contains(tick_lines(thread_tick(), style, false), "\x1b[1;32mAGREES\x1b[0m\n"));
    EXPECT_FALSE(contains(tick_lines(thread_tick(), {}, false), "\x1b"));
}

TEST_F(TickText, NeverLetsAHostileNameThrough) {
    Tick tick = thread_tick();
    tick.process.comm = tick.ledger.tasks[0].comm = "x\x1b[2J\n\u202E\xff";
    const std::string text = tick_lines(tick, {}, true);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
    EXPECT_FALSE(contains(text, "\x1b"));
    EXPECT_FALSE(contains(text, "\u202E"));
    EXPECT_TRUE(contains(text, "x\\x1b[2J\\x0a\\xe2\\x80\\xae\\xff "));
}

TEST_F(SummaryText, ShowsTheWholeTraceInAFewLines) {
    EXPECT_TRUE(is_golden(summary_text(thread_summary(), {}), "summary_thread.txt"));
    EXPECT_TRUE(is_golden(summary_text(cpu_summary(), {}), "summary_cpu.txt"));
}

TEST_F(SummaryText, MarksWhatALossMadeUncertain) {
    Summary summary = thread_summary();
    EXPECT_TRUE(contains(summary_text(summary, {}), ": 61,560 kB at first, 0 kB at last"));
    EXPECT_FALSE(contains(summary_text(summary, {}), "readings"));
    summary.processes[0].start_approximate = summary.processes[0].final_approximate = true;
    summary.readings_failed = 1'200;
    const std::string text = summary_text(summary, {});
    EXPECT_TRUE(contains(text, ": ~61,560 kB at first, ~0 kB at last")) << text;
    EXPECT_TRUE(contains(text, "\n! 1,200 readings of processes failed: these ticks are missing\n")) << text;
}

TEST_F(SummaryText, SaysSoWhenNothingHasEnded) {
    Summary summary = cpu_summary();
    summary.ended_mms = 0;
    EXPECT_TRUE(contains(summary_text(summary, {}), "\nno address space ended\n"));
}

TEST_F(SummaryText, IsNotCertainOfCountsAfterALoss) {
    for (const bool lost : {true, false}) {
        Summary summary = cpu_summary();
        EXPECT_FALSE(contains(summary_text(summary, {}), "at least"));
        (lost ? summary.lost : summary.processes_read_late) = 1;
        EXPECT_TRUE(contains(summary_text(summary, {}), " ticks, at least 1,214 updates"));
        EXPECT_TRUE(contains(summary_text(summary, {}), "\nfolds at least 17\n"));
        EXPECT_TRUE(contains(summary_text(summary, {}), "\nat least 3 address spaces ended, every counter at 0\n"));
        summary.ended_mms = 0;  // the record of the teardown may be among the lost ones
        EXPECT_TRUE(
            contains(summary_text(summary, {}), "\nno address space is known to have ended: records are missing\n"));
    }
}

TEST_F(SummaryText, SaysHowManyAreNotListed) {
    EXPECT_FALSE(contains(summary_text(thread_summary(), {}), " more processes ended"));
    Summary summary = thread_summary();
    summary.left_out = {12'345, 12'000, {6}, {25}, {250}, false, {{"agrees", 2}, {"moving", 1}}};
    EXPECT_TRUE(contains(summary_text(summary, {}),
                         "\nand 12,345 more, with peaks of at most 100 kB, 1,000 kB together, "
                         "and a peak lag of at most 24 kB\n"))
        << summary_text(summary, {});
    summary.left_out.approximate = true;
    EXPECT_TRUE(contains(summary_text(summary, {}),
                         " of at most ~100 kB, ~1,000 kB together, and a peak lag of at most "
                         "~24 kB\n"));
}

TEST_F(SummaryText, IsATableOfTheTenHighestPeaksIfThereAreMany) {
    Summary summary = cpu_summary();
    const Summary::Process one = summary.processes.at(0);
    summary.processes.clear();
    for (int i = 1; i <= 14; ++i) {
        Summary::Process process = one;
        process.pid = 5'000 + i;
        process.comm = fmt::format("worker-{:02}", i);
        process.extremes.most.from = process.extremes.most.to = core::Pages{i * 100};
        process.extremes.lag = core::Pages{i};
        process.verdicts = {{"agrees", 3}};
        summary.processes.push_back(process);
    }
    summary.processes[13].extremes.most.from = core::Pages{1'390};
    summary.processes[12].extremes.lossy = true;
    EXPECT_TRUE(is_golden(summary_text(summary, {}), "summary_many.txt"));
    // Those without a row: 1 to 4.
    EXPECT_TRUE(contains(summary_text(summary, {}),
                         "\nand 4 more, with peaks of at most 1,600 kB, 4,000 kB together, and "
                         "a peak lag of at most 16 kB\nverdicts of all (agrees 42)\n"))
        << summary_text(summary, {});
    EXPECT_FALSE(contains(summary_text(summary, {}), "share one memory"));
    summary.processes[1].mm = summary.processes[2].mm = 9;
    EXPECT_TRUE(contains(summary_text(summary, {}), "\n5002 and 5003 share one memory: it is counted once\n"));
    // What a fork held before its exec was its parent's.
    summary.processes[0].extremes.image = 0;
    summary.processes[0].extremes.most.from = summary.processes[0].extremes.most.to = core::Pages{1 << 20};
    EXPECT_FALSE(contains(summary_text(summary, {}), "worker-01"));
    EXPECT_TRUE(contains(summary_text(summary, {}), "worker-05"));
}

TEST_F(SummaryText, IsAsciiAndHarmlessWhereTheLocaleIs) {
    Summary summary = thread_summary();
    summary.processes[0].comm = "w\u00F6rker\x1b[2J";
    summary.processes[0].extremes.lag = {-3};
    summary.processes[0].extremes.lossy = true;
    EXPECT_TRUE(is_ascii(summary_text(summary, ascii_style())));
    EXPECT_TRUE(contains(summary_text(summary, ascii_style()), "peak lag ~-12 kB"));
}

}  // namespace
}  // namespace rsslag::documents
