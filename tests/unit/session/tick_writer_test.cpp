// SPDX-License-Identifier: BSD-2-Clause
// The output of a trace without a screen, and its time.
#include "session/tick_writer.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/fd.h"
#include "session/live_view.h"
#include "session/session.h"

namespace rsslag::session {
namespace {

core::Tick tick(int pid) {
    core::Tick tick;
    tick.process.pid = pid;
    tick.process.comm = "server";
    return tick;
}

core::EventLine update(std::uint64_t t_ns) {
    core::EventLine line;
    line.t_ns = t_ns;
    line.pid = line.tid = 10;
    line.applied.known = true;
    line.applied.pages = core::Pages{1};
    return line;
}

core::TaskLine start(std::uint64_t t_ns) {
    core::TaskLine line;
    line.t_ns = t_ns;
    line.task.kind = RSSLAG_NEWTASK;
    return line;
}

std::string written(TickWriter &writer, std::vector<core::Tick> ticks) {
    testing::internal::CaptureStdout();
    for (core::Tick &tick : ticks)
        writer.on_tick(std::move(tick));
    const core::Status done = writer.flush();
    EXPECT_TRUE(done);
    return testing::internal::GetCapturedStdout();
}

TickWriter writer_of(Format format) {
    return {format, core::ThreadChoice{core::ThreadChoice::Which::None, 0}, {}};
}

TEST(TickWriter, KeepsTheOrderOfRecordsAndTicks) {
    TickWriter writer = writer_of(Format::Jsonl);
    writer.on_update(update(1));
    writer.on_task(start(2));
    writer.on_tick(tick(10));
    writer.on_update(update(3));
    std::istringstream lines(written(writer, {tick(20)}));
    std::vector<nlohmann::json> reported;
    for (std::string line; std::getline(lines, line);)
        reported.push_back(nlohmann::json::parse(line));
    ASSERT_EQ(reported.size(), 5U);
    EXPECT_EQ(reported[0]["t_ns"], 1);
    EXPECT_EQ(reported[1]["t_ns"], 2);
    EXPECT_EQ(reported[2]["pid"], 10);
    EXPECT_EQ(reported[3]["t_ns"], 3);
    EXPECT_EQ(reported[4]["pid"], 20);
}

TEST(TickWriter, WritesNothingBeforeItIsGivenTicks) {
    TickWriter writer = writer_of(Format::Lines);
    testing::internal::CaptureStdout();
    writer.on_update(update(1));
    writer.on_tick(tick(10));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_NE(written(writer, {}), "");
    EXPECT_EQ(written(writer, {}), "") << "each tick is written once";
}

TEST(TickWriter, SaysBelowTheRowsWhoSharesOneMemory) {
    TickWriter writer = writer_of(Format::Lines);
    const std::string said = "10 and 20 share one memory: each row shows all of it\n";
    core::Tick both = tick(10);
    both.process.mm_id = "a";
    both.process.mm_pids = {10, 20};
    core::Tick other = both;
    other.process.pid = 20;
    const std::string first = written(writer, {both, other});
    EXPECT_TRUE(first.ends_with("\n" + said)) << first;
    EXPECT_EQ(first.find(said), first.size() - said.size()) << "once";
    EXPECT_EQ(written(writer, {both, other}).find(said), std::string::npos)
        << "nothing has changed, so the line is not repeated";
    core::Tick alone = both;
    alone.process.mm_pids = {10};
    EXPECT_EQ(written(writer, {alone}).find("share"), std::string::npos);
    EXPECT_NE(written(writer, {both, other}).find(said), std::string::npos);
    TickWriter csv = writer_of(Format::Csv);
    EXPECT_EQ(written(csv, {both, other}).find("share"), std::string::npos);
}

TEST(TickWriter, HasRowsOfTicksAloneInCsv) {
    TickWriter writer = writer_of(Format::Csv);
    writer.on_update(update(1));
    writer.on_task(start(2));
    EXPECT_EQ(written(writer, {}), "");
    const std::string row = written(writer, {tick(10)});
    EXPECT_EQ(row.find("\r\n"), row.size() - 2) << row;
}

TEST(TickWriter, WritesNoTicksWhileOnlyProgressIsShown) {
    TickWriter writer = writer_of(Format::Progress);
    EXPECT_EQ(written(writer, {tick(10)}), "");
    EXPECT_FALSE(writer.unread());
}

TEST(TickWriter, CountsTheTicksThatItWrote) {
    TickWriter writer = writer_of(Format::Jsonl);
    writer.on_tick(tick(10));
    written(writer, {tick(20), tick(30)});
    testing::internal::CaptureStdout();
    const core::Status done = writer.summary({});
    const auto summary = nlohmann::json::parse(testing::internal::GetCapturedStdout());
    EXPECT_TRUE(done);
    EXPECT_EQ(summary["ticks"], 3);
}

/// A pipe as stdout, which is read only after everything was written. Returns the lines.
std::vector<std::string> read_late(Format format, int ticks) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const core::Fd out(ends[0]);
    const core::Fd before(dup(STDOUT_FILENO));
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    TickWriter writer = writer_of(format);
    writer.begin_queue();
    for (int i = 0; i < ticks; ++i) {
        writer.on_tick(tick(10));
        EXPECT_TRUE(writer.flush());
    }
    EXPECT_TRUE(writer.summary({}));
    std::string text;
    std::thread reader([&text, &out] {
        std::array<char, 65536> buffer{};
        for (ssize_t got = 0; (got = read(out.get(), buffer.data(), buffer.size())) > 0;)
            text.append(buffer.data(), static_cast<std::size_t>(got));
    });
    EXPECT_TRUE(writer.finish([] { return false; }));
    dup2(before.get(), STDOUT_FILENO);
    reader.join();
    std::istringstream whole(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(whole, line);)
        lines.push_back(std::move(line));
    return lines;
}

constexpr int kMoreThanWait = 100'000;

TEST(TickWriter, SaysWhereLinesAreMissingInLinesForPeople) {
    const std::vector<std::string> lines = read_late(Format::Lines, kMoreThanWait);
    const auto gap = std::find_if(lines.begin(), lines.end(), [](const std::string &line) { return line[0] == '!'; });
    ASSERT_NE(gap, lines.end());
    EXPECT_NE(gap->find("lines are missing here"), std::string::npos) << *gap;
    const auto whole = std::find_if(gap + 1, lines.end(), [](const std::string &line) { return line[0] == '!'; });
    ASSERT_NE(whole, lines.end());
    EXPECT_NE(whole->find("lines of this output were dropped"), std::string::npos) << *whole;
}

TEST(TickWriter, SaysWhereLinesAreMissingInDocuments) {
    const std::vector<std::string> lines = read_late(Format::Jsonl, kMoreThanWait / 5);
    const auto summary = nlohmann::json::parse(lines.back());
    const auto gap = nlohmann::json::parse(lines[lines.size() - 2]);
    EXPECT_EQ(gap["schema"], "rsslag.gap/1");
    EXPECT_EQ(gap["lines_dropped"], summary["lines_dropped"]);
    EXPECT_EQ(lines.size() - 2 + gap["lines_dropped"].get<std::size_t>(), kMoreThanWait / 5);
}

TEST(TickWriter, SaysOnStderrThatRowsAreMissing) {
    testing::internal::CaptureStderr();
    const std::vector<std::string> rows = read_late(Format::Csv, kMoreThanWait);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_LT(rows.size(), kMoreThanWait);
    EXPECT_NE(said.find("lines of this output were dropped"), std::string::npos) << said;
    for (const std::string &row : {rows.front(), rows.back()})
        EXPECT_EQ(row.substr(row.size() - 3), ",0\r") << "no line was dropped before this row";
}

TEST(ScreenFacts, SayHowTheScreenIsFed) {
    core::SnapshotDocument facts;
    facts.kernel = "6.12.1";
    const screen::ScreenFacts known = screen_facts(facts, std::chrono::milliseconds{250}, false, true);
    EXPECT_EQ(known.kernel, "6.12.1");
    EXPECT_EQ(known.interval, std::chrono::milliseconds{250});
    EXPECT_FALSE(known.walks);
    EXPECT_TRUE(known.below);
    EXPECT_GT(known.clock_ticks, 0);
    EXPECT_LT(known.boot, std::chrono::system_clock::now());
}

}  // namespace
}  // namespace rsslag::session
