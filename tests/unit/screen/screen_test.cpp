// SPDX-License-Identifier: BSD-2-Clause
#include "screen/screen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "screens.h"

namespace rsslag::screen {
namespace {

using std::chrono::milliseconds;
using test::ascii_style;
using test::busy_screen;
using test::classic_screen;
using test::classic_tick;
using test::contains;
using test::count;
using test::is_golden;
using test::keys;
using test::press;

class Screens : public test::ScreenTest {};

std::string shown(const LiveScreen &screen, Size size = {36, 120}) {
    return screen.draw(size, milliseconds(200)).text();
}

constexpr Size kSizes[] = {{24, 80}, {15, 60}, {36, 120}, {60, 200}};

TEST_F(Screens, ShowThreadsThatCacheAtEverySize) {
    for (const Size &size : kSizes) {
        EXPECT_TRUE(is_golden(shown(classic_screen({}), size),
                              fmt::format("screen_thread_{}x{}.txt", size.columns, size.rows)));
    }
    EXPECT_TRUE(is_golden(shown(classic_screen(ascii_style()), {24, 80}), "screen_thread_ascii_80x24.txt"));
}

TEST_F(Screens, ShowCpusThatCacheAtEverySize) {
    for (const Size &size : kSizes) {
        EXPECT_TRUE(
            is_golden(shown(busy_screen({}), size), fmt::format("screen_cpu_{}x{}.txt", size.columns, size.rows)));
    }
}

TEST_F(Screens, ShowThePeakAtEverySizeWithAChart) {
    Tick tick = classic_tick(33);
    tick.extremes.most.from = tick.extremes.most.to = core::Pages{104'403};
    tick.extremes.most.t_ns = 1'320'000'000;
    tick.extremes.comm = tick.process.comm;
    LiveScreen screen = classic_screen({});
    screen.take(tick);
    for (const Size &size : {Size{24, 80}, Size{26, 120}, Size{36, 120}, Size{60, 200}}) {
        const std::string text = shown(screen, size);
        EXPECT_TRUE(contains(text, "at most 417,612 kB at 1.32 s")) << size.columns << '\n' << text;
    }
    tick.extremes.comm = "sh";
    screen.take(tick);
    EXPECT_TRUE(contains(shown(screen, {24, 80}), " at most 417,612 kB at 1.32 s as sh"));
}

TEST_F(Screens, DrawWhatRecordsShowBetweenTicks) {
    constexpr std::string_view kRange = "\u254E", kPeak = "\u25B2", kExec = "\u21BB";
    LiveScreen screen = classic_screen({});
    const std::size_t before = count(shown(screen), kRange);
    Tick tick = classic_tick(33);
    const core::Pages rss = tick.ledger.exact().rss();
    tick.recent.emplace();
    tick.recent->course = {{32'500'000'000, rss, rss + rss, {}, {rss, {}}}};
    tick.extremes.most = {rss + rss, rss + rss, {}, 32'500'000'000, 0, 0};
    screen.take(tick);
    EXPECT_GE(count(shown(screen), kRange), before + 2) << shown(screen);
    EXPECT_EQ(count(shown(screen), kPeak), 1U);
    EXPECT_EQ(count(shown(screen), kExec), 0U);
    Tick later = classic_tick(34);
    later.ledger.generation++;
    later.extremes = tick.extremes;
    screen.take(later);
    EXPECT_EQ(count(shown(screen), kExec), 1U) << shown(screen);
    press(screen, "m");
    EXPECT_EQ(count(shown(screen), kPeak), 0U) << "it is the peak of the rss";

    Tick sums = classic_tick(35);
    sums.extremes.summed = true;
    LiveScreen counted = classic_screen({});
    counted.take(sums);
    EXPECT_TRUE(contains(shown(counted), " RSS at ticks "));
}

TEST_F(Screens, ShowThePeakOfTheMemberInTheChart) {
    Tick tick = classic_tick(33);
    tick.extremes.most.from = tick.extremes.most.to = core::Pages{104'403};
    tick.extremes.comm = tick.process.comm;
    tick.extremes.each_most[core::Member::Anon] = core::Pages{102'719};
    tick.extremes.each_most_at[static_cast<std::size_t>(core::Member::Anon)].t_ns = 1'250'000'000;
    LiveScreen screen = classic_screen({});
    screen.take(tick);
    for (int i = 0; i < 8 && !contains(shown(screen, {24, 80}), " ANON "); ++i)
        press(screen, "m");
    EXPECT_TRUE(contains(shown(screen, {24, 80}), "anon at most 410,876 kB at 1.25 s"));
    tick.extremes.lossy = true;
    screen.take(tick);
    EXPECT_TRUE(contains(shown(screen, {36, 120}), "anon at most ~410,876 kB at 1.25 s"));
}

TEST_F(Screens, ShowOneThreadAndItsWayToTheFlush) {
    LiveScreen screen = classic_screen({});
    press(screen, "sssss\x01\n");
    EXPECT_TRUE(is_golden(shown(screen), "screen_one_thread.txt"));
}

Tick grown_tick() {
    Tick tick = classic_tick(33);
    core::RecentGrowth &recent = tick.recent.emplace();
    recent.from_ns = 3'000'000'000;
    recent.any_names = true;
    recent.mappings = {{"glibc arena ~", {5'000}},
                       {"stack of thread 4712 worker-00", {12}},
                       {"/lib/evil\033[2J.so", {3}},
                       {"[heap]", {0}},
                       {"shmem", {-40}}};
    recent.other_mappings = {7};
    for (int i = 0; i < 60; ++i)
        recent.threads.push_back({4712 + i, fmt::format("worker-{:02}", i), {100 - i}});
    recent.other_threads = {2};
    recent.no_fault = {core::Pages{256}, core::Pages{-512}, {}, core::Pages{1}};
    return tick;
}

TEST_F(Screens, ShowWhatGrewByMappingAndByThread) {
    LiveScreen screen = classic_screen({});
    screen.take(grown_tick());
    press(screen, "g");
    EXPECT_TRUE(is_golden(shown(screen), "screen_growth_120x36.txt"));
    const std::string narrow = shown(screen, {24, 80});
    EXPECT_TRUE(is_golden(narrow, "screen_growth_80x24.txt"));
    EXPECT_TRUE(contains(narrow, core::as_kb(grown_tick().recent->grew(), {})));
    EXPECT_TRUE(contains(shown(screen, {16, 80}), "no record reports this"))
        << "without this row the list does not add up";
    press(screen, "\x1b");
    EXPECT_FALSE(contains(shown(screen), "GREW BY"));
    press(screen, "gg");
    EXPECT_FALSE(contains(shown(screen), "GREW BY"));
}

/// main calls parse_json and cache_evict. Of the classic's PID, and of thread 4712.
std::shared_ptr<const profile::Profile> sampled() {
    profile::Profile all;
    all.period = 64;
    all.samples = 9;
    all.walked = true;
    all.frames = {{"parse_json", "/bin/x", {}, 1},
                  {"cache_evict", "/bin/x", {}, 2},
                  {"main", "/bin/x", {}, 3},
                  {"evil\033[2J", "/bin/x", {}, 4}};
    all.stacks = {{{0, 2}, core::StackEnd::Outermost}, {{1, 2}, core::StackEnd::Outermost}, {{3}, core::StackEnd::Cut}};
    const int pid = classic_tick(33).process.pid;
    // After an exec: mm 2 is that of the program that runs.
    all.mappings = {{1, pid, "[heap]", 1, 1},
                    {2, pid, "[heap]", 0, 0.75},
                    {2, pid, "shmem", 2, 1},
                    {3, pid + 1, "glibc arena ~", 1, 1}};
    all.flows = {{0, profile::Reason::PageFault, pid, 4712, {9'000, 0, 7'000, 0, 5}},
                 {1, profile::Reason::Madvise, pid, 4713, {0, 2'000, 0, 0, 3}},
                 {2, profile::Reason::PageFault, pid, 4713, {64, 0, 10, 20, 1}},
                 {0, profile::Reason::PageFault, pid + 1, pid + 1, {77'777, 0, 0, 0, 1}}};
    all.threads = {{pid, 4712, "worker-00", {9'000, 0}, {}},
                   {pid, 4713, "worker-01", {64, 2'010}, {0, 10}},
                   {pid + 1, pid + 1, "other", {77'777, 0}, {}}};
    return std::make_shared<const profile::Profile>(std::move(all));
}

TEST_F(Screens, ShowByWhichStacksMappingsGrew) {
    LiveScreen screen = classic_screen({});
    Tick tick = grown_tick();
    tick.recent->mappings[3].came = {8};
    screen.take(std::move(tick));
    press(screen, "g");
    EXPECT_TRUE(contains(shown(screen), "MAPPING  "));
    screen.take(sampled(), 0);
    const std::string text = shown(screen);
    EXPECT_TRUE(contains(text, "32  [heap]  75 % by parse_json < main ")) << text;
    EXPECT_TRUE(contains(text, "shmem  100 % by evil\\x1b[2J ")) << text;
    EXPECT_TRUE(contains(text, "glibc arena ~   ")) << text;
    EXPECT_TRUE(contains(text, "MAPPING, and who made most of its pages come")) << text;
}

TEST_F(Screens, ShowTheFunctionsByWhichPagesCameAndWent) {
    LiveScreen screen = classic_screen({});
    screen.take(sampled(), 0);
    press(screen, "x");
    EXPECT_TRUE(is_golden(shown(screen), "screen_stacks_120x36.txt"));
    EXPECT_TRUE(is_golden(shown(screen, {24, 80}), "screen_stacks_80x24.txt"));
    EXPECT_FALSE(contains(shown(screen), "77,777")) << "another process";
    press(screen, "v");
    EXPECT_TRUE(is_golden(shown(screen), "screen_stacks_tree.txt"));
    press(screen, "v/EVICT\n");
    EXPECT_TRUE(contains(shown(screen), "cache_evict"));
    EXPECT_FALSE(contains(shown(screen), "parse_json"));
    press(screen, "x");
    EXPECT_FALSE(contains(shown(screen), "STACKS"));
    EXPECT_FALSE(contains(shown(screen), "EVICT")) << "the threads are not filtered by it";
}

TEST_F(Screens, SortStacksAndKeepTheSelectedFunction) {
    LiveScreen screen = classic_screen({});
    screen.take(sampled(), 0);
    press(screen, "x");
    const auto selected = [&screen] { return screen.draw({36, 120}, milliseconds(0)).selected_text(); };
    EXPECT_TRUE(contains(selected(), "main"));
    press(screen, "\x01");
    EXPECT_TRUE(contains(selected(), "parse_json"));
    press(screen, "s");
    EXPECT_TRUE(contains(shown(screen), "STACKS, by went"));
    EXPECT_TRUE(contains(selected(), "parse_json"));
    press(screen, "ssss");
    EXPECT_TRUE(contains(shown(screen), "STACKS, by came"));
    press(screen, " ");
    screen.take(std::make_shared<const profile::Profile>(), 0);
    EXPECT_TRUE(contains(shown(screen), "parse_json")) << "the display is paused";
    press(screen, " ");
    EXPECT_FALSE(contains(shown(screen), "parse_json"));
    press(screen, "\x1b");
    EXPECT_FALSE(contains(shown(screen), "no stack"));
}

TEST_F(Screens, ShowTheStacksOfOneThread) {
    LiveScreen screen = classic_screen({});
    screen.take(sampled(), 12'345'000'000);
    press(screen, "/worker-00\n\nx");
    const std::string text = shown(screen);
    EXPECT_TRUE(contains(text, "STACKS of thread 4712")) << text;
    EXPECT_TRUE(contains(text, "from 12.3 s on"));
    EXPECT_TRUE(contains(text, "parse_json"));
    EXPECT_FALSE(contains(text, "cache_evict"));
    press(screen, "\x1b");
    EXPECT_TRUE(contains(shown(screen), "THREAD 4712"));
}

TEST_F(Screens, ShowWhyThereAreNoStacks) {
    LiveScreen screen = classic_screen({});
    press(screen, "x");
    EXPECT_TRUE(contains(shown(screen), "no stacks are sampled; start rsslag live with --stacks"));
    auto lossy = *sampled();
    lossy.lossy = true;
    lossy.lost = 3;
    screen.take(std::make_shared<const profile::Profile>(lossy), 0);
    EXPECT_TRUE(contains(shown(screen), "~36,000"));
    EXPECT_TRUE(contains(shown(screen), "3 samples lost"));
}

TEST_F(Screens, ShowThatMappingsAreNotTraced) {
    LiveScreen screen = classic_screen({});
    press(screen, "g");
    EXPECT_TRUE(contains(shown(screen), "growth is not known"));
    Tick tick = grown_tick();
    tick.recent->any_names = false;
    screen.take(tick);
    EXPECT_TRUE(contains(shown(screen), "mappings not traced"));
}

TEST_F(Screens, SayWhatOneHeldThatHadEndedBeforeItWasRead) {
    Tick tick = classic_tick(0, 1);
    tick.state = core::State::Exited;
    tick.read = false;
    tick.ledger.flushed = tick.ledger.cached = {};
    tick.ledger.last.anon = {300};
    tick.ledger.last.file = {12};
    ScreenFacts facts;
    LiveScreen screen(facts, {});
    screen.take(tick);
    for (const Size &size : kSizes) {
        EXPECT_TRUE(contains(shown(screen, size), "It held 1,248 kB at its end.")) << shown(screen, size);
        EXPECT_FALSE(contains(shown(screen, size), " 0 kB")) << shown(screen, size);
    }
}

TEST_F(Screens, ExplainThemselves) {
    LiveScreen screen = classic_screen({});
    press(screen, "?");
    EXPECT_TRUE(is_golden(shown(screen, {24, 100}), "screen_help.txt"));
    press(screen, "\x1b");
    EXPECT_EQ(shown(screen), shown(classic_screen({})));
}

/// The rows from "Keys" to the last key, with single blanks.
std::vector<std::string> rows_of_keys(const Grid &grid) {
    std::vector<std::string> rows;
    for (int i = 0; i < grid.size().rows; ++i) {
        std::istringstream words(grid.row_text(i));
        std::string row, word;
        while (words >> word)
            row += (row.empty() ? "" : " ") + word;
        if (row == "Keys" || !rows.empty()) rows.push_back(row);
        if (contains(row, "? h F1 help q quit")) return rows;
    }
    return {};
}

TEST_F(Screens, ShowAllKeysInSixtyColumnsAndNothingBelowTheHelp) {
    constexpr Size kSmall{15, 60}, kShown{36, 120};
    LiveScreen process = classic_screen({}), replay = classic_screen({}), list = test::family_screen({});
    replay.take(Playback{3'240'000'000, 31'000'000'000, 1, true});
    for (LiveScreen *screen : {&process, &replay, &list}) {
        press(*screen, "?");
        const std::vector<std::string> keys = rows_of_keys(screen->draw(kShown, milliseconds(0)));
        EXPECT_GE(keys.size(), 7U);
        EXPECT_EQ(rows_of_keys(screen->draw(kSmall, milliseconds(0))), keys);
    }
    TopScreen top(milliseconds(1000), {}, TopSort::Lag);
    top.take(test::top_table());
    top.key({Key::Name::Help});
    EXPECT_GE(rows_of_keys(top.draw(kShown)).size(), 7U);
    EXPECT_EQ(rows_of_keys(top.draw(kSmall)), rows_of_keys(top.draw(kShown)));
}

TEST_F(Screens, SayInTheFirstThreeLinesWhoIsRightAndByHowMuch) {
    const LiveScreen screen = classic_screen({});
    for (const int columns : {60, 80, 100, 120, 200}) {
        const Grid grid = screen.draw({24, columns}, {});
        const std::string three = grid.row_text(0) + grid.row_text(1) + grid.row_text(2);
        const core::Pages exact = classic_tick(32).ledger.exact().rss();
        const core::Pages stat = *classic_tick(32).process.readers.stat;
        for (const std::string &each : {core::as_kb(exact, {}), core::as_kb(stat, {}), core::as_kb(exact - stat, {}),
                                        std::string("101 threads"), std::string("AGREES"), std::string("lost 0")})
            EXPECT_TRUE(contains(three, each)) << each << " at " << columns << "\n" << three;
    }
}

TEST_F(Screens, LiveAtEverySize) {
    for (const Size size :
         {Size{1, 1}, {5, 20}, {10, 40}, {100, 300}, {200, 500}, {1, 500}, {200, 1}, {3, 3}, {6, 10}}) {
        for (const char *keys : {"", "g", "t", "c", "\n", "?", "/wor", "m", " "}) {
            LiveScreen thread = classic_screen({});
            LiveScreen cpu = busy_screen({});
            press(thread, keys);
            press(cpu, keys);
            EXPECT_EQ(thread.draw(size, {}).size(), size);
            EXPECT_EQ(cpu.draw(size, {}).size(), size);
        }
    }
}

TEST_F(Screens, ForgetTheSizesTheyHad) {
    LiveScreen screen = classic_screen({});
    press(screen, "\x01\x01\x01");
    const std::string fresh = shown(screen);
    std::mt19937 dice(7);
    for (int i = 0; i < 100; ++i) {
        const Size size{static_cast<int>(dice() % 120), static_cast<int>(dice() % 300)};
        (void)screen.draw(size, {});
    }
    EXPECT_EQ(shown(screen), fresh);
}

TEST_F(Screens, KeepTheSelectionOnItsThreadWhileRowsMove) {
    LiveScreen screen = classic_screen({});
    press(screen, "sssss");  // by number
    press(screen, "\x01\x01\x01\x01");
    const auto selected = [&screen] {
        const Grid grid = screen.draw({36, 120}, {});
        for (int row = 0; row < 36; ++row) {
            if (contains(grid.row_text(row), "\u25B6")) return grid.row_text(row).substr(0, 30);
        }
        return std::string();
    };
    const std::string before = selected();
    EXPECT_TRUE(contains(before, " 4715 worker-03")) << before;
    for (int i = 0; i < 7; ++i) {
        press(screen, "s");
        EXPECT_EQ(selected(), before);
    }
    Tick tick = classic_tick(33);
    std::swap(tick.ledger.tasks[4].net, tick.ledger.tasks[90].net);
    tick.ledger.tasks.erase(tick.ledger.tasks.begin() + 1);
    screen.take(tick);
    EXPECT_EQ(selected(), before);
}

TEST_F(Screens, FilterByNameOrNumber) {
    LiveScreen screen = classic_screen({});
    press(screen, "/WORKER-1\n");
    EXPECT_TRUE(contains(shown(screen), "10 of 101")) << shown(screen);
    press(screen, "/\x1b/4733");
    EXPECT_TRUE(contains(shown(screen), "filter by name or TID: 4733_"));
    press(screen, "\n");
    EXPECT_TRUE(contains(shown(screen), "1 of 101"));
    press(screen, "/zzz\n");
    EXPECT_TRUE(contains(shown(screen), "nothing matches the filter"));
    press(screen, "\x1b");
    EXPECT_EQ(shown(screen), shown(classic_screen({})));
}

TEST_F(Screens, FilterThreadsAlsoFromTheTableOfCpus) {
    LiveScreen screen = busy_screen({});
    ASSERT_TRUE(contains(shown(screen), " CPU ")) << shown(screen);
    press(screen, "/zzz\n");
    EXPECT_TRUE(contains(shown(screen), "nothing matches the filter")) << shown(screen);
}

TEST_F(Screens, PauseTheDisplayOnly) {
    LiveScreen screen = classic_screen({});
    press(screen, " ");
    const std::string paused = shown(screen);
    EXPECT_TRUE(contains(paused, "PAUSED"));
    Tick tick = classic_tick(33);
    tick.lost = 5;
    screen.take(tick);
    EXPECT_EQ(shown(screen), paused);
    press(screen, " ");
    EXPECT_TRUE(contains(shown(screen), "lost 5"));
}

TEST_F(Screens, AskForWhatKeysMean) {
    LiveScreen screen = classic_screen({});
    EXPECT_TRUE(std::holds_alternative<Quit>(press(screen, "q").value()));
    EXPECT_EQ(std::get<WalkNow>(press(screen, "w").value()).pid, 4711);
    EXPECT_EQ(std::get<SetInterval>(press(screen, "+").value()).interval, milliseconds(2000));
    EXPECT_EQ(std::get<SetInterval>(press(screen, "--").value()).interval, milliseconds(500));
    EXPECT_EQ(std::get<Record>(press(screen, "r").value()).pid, 4711);
    EXPECT_FALSE(press(screen, "c").has_value());
    EXPECT_TRUE(contains(shown(screen), "threads cache updates, not CPUs"));
    EXPECT_FALSE(press(screen, "\x1b").has_value()) << "there is no list of processes to return to";
}

TEST_F(Screens, AskFromWhenOnToRecord) {
    LiveScreen screen = test::keeping_screen(std::chrono::minutes(1));
    EXPECT_FALSE(press(screen, "r"));
    EXPECT_TRUE(contains(shown(screen), "record: r from now on, l also the last 60 s, Esc not at all"))
        << shown(screen);
    EXPECT_FALSE(std::get<Record>(press(screen, "r").value()).past);
    EXPECT_TRUE(std::get<Record>(press(screen, "rl").value()).past);
    EXPECT_FALSE(press(screen, "r\x1b"));
    EXPECT_FALSE(press(screen, "l")) << "it has a meaning only after r";
    EXPECT_TRUE(std::holds_alternative<WalkNow>(press(screen, "rw").value()));
    screen.record(true);
    EXPECT_EQ(std::get<Record>(press(screen, "r").value()).pid, 4711);

    LiveScreen longer = test::keeping_screen(std::chrono::minutes(5));
    press(longer, "r");
    EXPECT_TRUE(contains(shown(longer), "l also the last 5 min"));
}

TEST_F(Screens, SayWhereAReplayIsAndAskItToGoOn) {
    LiveScreen screen = classic_screen({});
    screen.take(Playback{3'240'000'000, 31'000'000'000, 1, true});
    EXPECT_TRUE(contains(shown(screen), "replay 3.2 s of 31.0 s")) << shown(screen);
    EXPECT_TRUE(contains(shown(screen), "space pause"));
    screen.take(Playback{127'500'000'000, 300'000'000'000, 0.5, true});
    EXPECT_TRUE(contains(shown(screen), "replay 2:07.5 of 5:00.0 0.5\u00D7")) << shown(screen);
    screen.take(Playback{127'500'000'000, 300'000'000'000, 4, false});
    EXPECT_TRUE(contains(shown(screen), "PAUSED at 2:07.5 of 5:00.0")) << shown(screen);
    EXPECT_TRUE(contains(shown(screen), "space play"));
    screen.take(Playback{31'000'000'000, 31'000'000'000, 4, false});
    EXPECT_TRUE(contains(shown(screen), "END of 31.0 s")) << shown(screen);
    using What = Play::What;
    struct Asks {
        const char *key;
        What what;
        double amount;
    };
    for (const Asks &each : {Asks{" ", What::Toggle, 0},
                             {".", What::StepOn, 0},
                             {",", What::StepBack, 0},
                             {"+", What::Faster, 0},
                             {"-", What::Slower, 0},
                             {"f", What::NextFlush, 0},
                             {"l", What::NextLoss, 0},
                             {"p", What::Peak, 0},
                             {"0", What::SeekTo, 0},
                             {"9", What::SeekTo, 0.9}}) {
        const auto intent = press(screen, each.key);
        ASSERT_TRUE(intent.has_value()) << each.key;
        EXPECT_EQ(std::get<Play>(*intent).what, each.what) << each.key;
        EXPECT_DOUBLE_EQ(std::get<Play>(*intent).amount, each.amount) << each.key;
    }
    EXPECT_DOUBLE_EQ(std::get<Play>(screen.key({Key::Name::Left}).value()).amount, -5);
    EXPECT_DOUBLE_EQ(std::get<Play>(screen.key({Key::Name::Right}).value()).amount, 5);
    EXPECT_FALSE(press(screen, "w").has_value()) << "a replay cannot walk page tables";
    EXPECT_TRUE(std::holds_alternative<Quit>(press(screen, "q").value()));
    press(screen, "?");
    EXPECT_TRUE(contains(shown(screen), "to the peak lag"));
    EXPECT_FALSE(contains(shown(screen), "walk smaps now"));
}

TEST_F(Screens, ReportThatNothingMatchesUntilAProcessDoes) {
    ScreenFacts facts;
    facts.no_match = true;
    LiveScreen screen(facts, {});
    EXPECT_TRUE(contains(shown(screen), "no process matches yet"));
    screen.take(classic_tick(0));
    EXPECT_FALSE(contains(shown(screen), "no process matches yet"));
}

TEST_F(Screens, ForgetTicksButNotKeysWhenTheyAreRewound) {
    LiveScreen screen = classic_screen({});
    press(screen, "/WORKER-1\n");
    screen.rewind();
    EXPECT_TRUE(contains(shown(screen), "waiting for the first reading"));
    Tick other = classic_tick(3);
    other.process.pid = 1;
    screen.take(other);
    screen.take(classic_tick(3));
    EXPECT_TRUE(contains(shown(screen), "[4711]")) << "the process shown before the rewind";
    EXPECT_TRUE(contains(shown(screen), " of 101")) << shown(screen);
    EXPECT_TRUE(contains(shown(screen), "2 of 2 (Esc: list)")) << shown(screen);
}

TEST_F(Screens, SayThatARecordingGoesOn) {
    LiveScreen screen = classic_screen({});
    EXPECT_FALSE(contains(shown(screen), "REC"));
    screen.record(true);
    EXPECT_TRUE(contains(shown(screen), "REC  live 1.0 s"));
    EXPECT_TRUE(contains(shown(screen), "r end of recording"));
    screen.record(false);
    EXPECT_FALSE(contains(shown(screen), "REC"));
    ScreenFacts facts;
    facts.below = true;
    LiveScreen below(facts, {});
    EXPECT_FALSE(press(below, "r").has_value()) << "top cannot record";
}

TEST_F(Screens, AskOnceMoreBeforeTheyLeaveACommand) {
    LiveScreen screen = classic_screen({});
    CommandOutput output;
    output.name = "make";
    output.file = "/tmp/out";
    output.lines = {"first", "\x1b[2Jsecond"};
    screen.take(output);
    EXPECT_TRUE(contains(shown(screen), "/tmp/out"));
    EXPECT_TRUE(contains(shown(screen), "\\x1b[2Jsecond"));
    EXPECT_FALSE(press(screen, "q").has_value());
    EXPECT_FALSE(press(screen, "j").has_value());
    EXPECT_FALSE(press(screen, "q").has_value());
    EXPECT_TRUE(press(screen, "q").has_value());
    EXPECT_TRUE(std::holds_alternative<TypeToCommand>(press(screen, "i").value()));
    output.running = false;
    output.status = 7;
    screen.take(output);
    EXPECT_TRUE(contains(shown(screen), "ended with status 7"));
    EXPECT_TRUE(press(screen, "q").has_value());
}

TEST_F(Screens, KeepWhatAProcessHeldWhenItEnds) {
    LiveScreen screen = classic_screen({});
    Tick last = test::ended_tick();
    last.lost = 3;
    screen.take(last);
    const std::string text = shown(screen);
    EXPECT_TRUE(contains(text, "EXITED")) << text;
    EXPECT_TRUE(contains(text, core::as_kb(classic_tick(32).ledger.exact().rss(), {}))) << text;
    EXPECT_TRUE(contains(text, "lost 3")) << text;
}

TEST_F(Screens, DoNotCallCachedWhatCameBetweenTwoLooks) {
    LiveScreen screen = classic_screen({});
    EXPECT_FALSE(contains(shown(screen), "came since"));
    Tick moved = classic_tick(33);
    moved.needs_resync = true;
    moved.process.readers.stat = moved.process.readers.stat.value() - core::Pages{1000};
    screen.take(moved);
    EXPECT_TRUE(contains(shown(screen), "!22,244 kB (21.5 %) is cached in 101 threads.")) << shown(screen);
}

TEST_F(Screens, MarkWhatIsNotExactInWords) {
    LiveScreen screen = classic_screen({});
    Tick lossy = classic_tick(33);
    lossy.lost = 12;
    lossy.needs_resync = true;
    screen.take(lossy);
    EXPECT_TRUE(contains(shown(screen), "MOVING: records were lost; uncertain until the resync   lost !12"))
        << shown(screen);
    EXPECT_TRUE(contains(shown(screen), "It holds !"));
    Tick stale = classic_tick(34);
    stale.stale_walk = true;
    stale.process.walk_age_ms = 1249;
    screen.take(stale);
    EXPECT_TRUE(contains(shown(screen), "AGREES with smaps @1.2s")) << shown(screen);
}

TEST_F(Screens, KeepEveryRowAtItsWidthWhateverNamesSay) {
    const char *const names[] = {"\x1b[31mred", "\u202Etfel",     "\xff\xfe",  "日本語名前",
                                 "two\nlines",  "e\u0301e\u0301", "tab\there", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80"};
    LiveScreen screen = classic_screen({});
    Tick tick = classic_tick(33);
    for (std::size_t i = 0; i < std::size(names); ++i)
        tick.ledger.tasks[i].comm = names[i];
    tick.process.comm = names[3];
    screen.take(tick);
    press(screen, "ssssss");  // by name
    for (const Size &size : kSizes) {
        const Grid grid = screen.draw(size, {});
        for (int row = 0; row < size.rows; ++row) {
            EXPECT_EQ(documents::cells(grid.row_text(row)), size.columns) << grid.row_text(row);
            for (const char c : grid.row_text(row))
                EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
            EXPECT_FALSE(contains(grid.row_text(row), "\u202E"));
        }
    }
}

TEST_F(Screens, ListTenThousandThreadsInTime) {
    LiveScreen screen = classic_screen({});
    screen.take(classic_tick(33, 10'000));
    press(screen, "sssss\x01");
    Key end{Key::Name::End};
    screen.key(end);
    const std::string text = shown(screen);
    EXPECT_TRUE(contains(text, "of 10,000")) << text;
    EXPECT_TRUE(contains(text, " 14710 worker-9998")) << text;
}

TEST_F(Screens, ListProcessesByWhatTheyHide) {
    TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
    screen.take(test::top_table());
    for (const Size &size : kSizes)
        EXPECT_TRUE(is_golden(screen.draw(size).text(), fmt::format("screen_top_{}x{}.txt", size.columns, size.rows)));
    for (const Size size : {Size{1, 1}, {5, 20}, {200, 500}})
        EXPECT_EQ(screen.draw(size).size(), size);
    const auto key = [&screen](char c) { return screen.key({Key::Name::Character, static_cast<char32_t>(c)}); };
    key('j');
    EXPECT_EQ(std::get<OpenLive>(screen.key({Key::Name::Enter}).value()).pid, 127);
    key('s');
    EXPECT_EQ(std::get<WalkNow>(key('w').value()).pid, 127) << "the selection stays on its process";
    EXPECT_TRUE(contains(screen.draw({24, 80}).text(), "by exact"));
}

TEST_F(Screens, ShowWhoRunsAProcessIfThereIsRoom) {
    TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
    screen.take(test::top_table());
    const std::string wide = screen.draw({24, 200}).text();
    EXPECT_TRUE(contains(wide, "CACHERS USER     CGROUP                    COMMAND")) << wide;
    EXPECT_TRUE(contains(wide, " daemon   /system.slice/daemon-27.s /usr/sbin/daemon-27 --verbose --port=8027"))
        << wide;
    EXPECT_FALSE(contains(screen.draw({24, 80}).text(), "COMMAND"));
    EXPECT_FALSE(contains(wide, "WALKED")) << "nothing was walked";
    const auto filtered = [&screen](std::string_view filter) {
        for (const char c : "\x2F" + std::string(filter))
            screen.key({Key::Name::Character, static_cast<char32_t>(c)});
        const std::string text = screen.draw({24, 200}).text();
        screen.key({Key::Name::Escape});
        return text;
    };
    for (const char *const filter : {"port=8027", "daemon-27.service"}) {
        const std::string text = filtered(filter);
        EXPECT_TRUE(contains(text, fmt::format("filter \"{}\": 1 ", filter))) << text;
        EXPECT_TRUE(contains(text, "127 daemon-27")) << text;
    }
    EXPECT_TRUE(contains(filtered("root"), "filter \"root\": 16 ")) << filtered("root");
}

/// The rows of the table, without the selection's mark.
TEST_F(Screens, SumUpEachMmOfTopOnce) {
    TopTable table = test::top_table(3);
    for (TopProcess &process : table.processes) {
        process.total.flushed = test::members(100, 20);
        process.total.cached = test::members(5, 0);
    }
    table.processes[2].total.mm = table.processes[1].total.mm;
    TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
    screen.take(table);
    EXPECT_TRUE(contains(screen.draw({24, 80}).text(), " They hold 1,000 kB together")) << screen.draw({24, 80}).text();
    table.processes[0].total.moved = true;
    screen.take(table);
    EXPECT_TRUE(contains(screen.draw({24, 80}).text(), " They hold ~1,000 kB together"));
    EXPECT_TRUE(contains(screen.draw({24, 80}).text(), " stat hides ~40 kB of 2 processes"));
}

std::vector<std::string> rows_of_top(const TopScreen &screen, int columns) {
    const Grid grid = screen.draw({12, columns});
    std::vector<std::string> rows;
    for (int i = 4; i < 9; ++i)
        if (std::string row = grid.row_text(i); contains(row, "daemon-")) rows.push_back(std::move(row));
    return rows;
}

TEST_F(Screens, ShowTheProcessesOfTopByCgroup) {
    TopTable table = test::top_table(5);
    for (std::size_t i = 0; i < table.processes.size(); ++i) {
        TopProcess &process = table.processes[i];
        process.total.flushed = test::members(0, 1000 * (static_cast<int>(i) + 1));
        process.total.cached = test::members(0, 1);
        process.total.mm = i + 1;
        process.names.cgroup = i % 2 == 0 ? "/even.slice" : "/odd.slice";
    }
    TopScreen screen(milliseconds(1000), {}, TopSort::Exact);
    screen.take(table);
    for (int i = 0; i < 2; ++i)
        screen.key({Key::Name::Character, U'v'});
    const std::string text = screen.draw({14, 200}).text();
    EXPECT_TRUE(contains(text, "by exact, by cgroup")) << text;
    EXPECT_TRUE(contains(text, "even.slice:  3 processes  36,012 kB  stat hides 12 kB")) << text;
    EXPECT_TRUE(contains(text, "odd.slice:  2 processes  24,008 kB  stat hides 8 kB")) << text;
    EXPECT_LT(text.find("even.slice:"), text.find("odd.slice:"));
    screen.key({Key::Name::Home});
    EXPECT_FALSE(screen.key({Key::Name::Enter}));
    EXPECT_TRUE(contains(screen.draw({14, 200}).text(), "a cgroup has no screen of its own"));
    screen.key({Key::Name::Down});
    EXPECT_TRUE(screen.key({Key::Name::Enter}));
}

TEST_F(Screens, ShowTheProcessesOfTopAsATree) {
    TopTable table = test::top_table(5);
    const std::array<int, 5> parents{1, 10'100, 10'100, 10'102, 0};
    for (std::size_t i = 0; i < parents.size(); ++i) {
        core::ProcessTotal &total = table.processes[i].total;
        total.host_ppid = parents[i];
        total.flushed = test::members(0, 1000 * (static_cast<int>(i) + 1));
    }
    TopScreen screen(milliseconds(1000), {}, TopSort::Exact);
    screen.take(table);
    screen.key({Key::Name::Character, U'v'});
    EXPECT_TRUE(contains(screen.draw({12, 200}).text(), "by exact, as a tree"));
    const auto wide = rows_of_top(screen, 200);
    const std::array<const char *, 5> commands{" /usr/sbin/daemon-04", " /usr/sbin/daemon-00",
                                               " \u251C /usr/sbin/daemon-02", " \u2502 \u2514 /usr/sbin/daemon-03",
                                               " \u2514 /usr/sbin/daemon-01"};
    ASSERT_EQ(wide.size(), commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i)
        EXPECT_TRUE(contains(wide[i], commands[i])) << wide[i];
    const auto narrow = rows_of_top(screen, 60);
    ASSERT_EQ(narrow.size(), commands.size());
    EXPECT_TRUE(contains(narrow[3], " \u2502 \u2514 daemon-03")) << "without COMMAND: " << narrow[3];
    screen.key({Key::Name::Character, U'j'});
    screen.key({Key::Name::Character, U'j'});
    EXPECT_EQ(std::get<OpenLive>(screen.key({Key::Name::Enter}).value()).pid, 102) << "the third row";
    for (const char c : std::string("\x2F"
                                    "daemon-03"))
        screen.key({Key::Name::Character, static_cast<char32_t>(c)});
    EXPECT_FALSE(contains(rows_of_top(screen, 200).at(0), "\u2514")) << "its parents do not match the filter";
}

TEST_F(Screens, SortTopByEachColumn) {
    TopTable table = test::top_table(5);
    for (std::size_t i = 0; i < 5; ++i) {
        table.processes[i].total.cachers = static_cast<int>(7 * i % 5);
        table.processes[i].names = {fmt::format("user{}", 3 * i % 5), fmt::format("/{}", 2 * i % 5),
                                    fmt::format("/{}", 4 * i % 5)};
        table.processes[i].total.host_tgid = 10'000 + static_cast<int>(i * 3 % 5);
    }
    TopScreen screen(milliseconds(1000), {}, TopSort::Name);
    screen.take(table);
    const auto order = [&screen] {
        std::string digits;
        for (const std::string &row : rows_of_top(screen, 200))
            digits += row[row.find("daemon-0") + 8];
        return digits;
    };
    const auto key = [&screen](char c) { screen.key({Key::Name::Character, static_cast<char32_t>(c)}); };
    EXPECT_EQ(order(), "01234");
    key('S');
    EXPECT_EQ(order(), "43210");
    EXPECT_TRUE(contains(screen.draw({12, 200}).text(), "by name, reversed"));
    const std::vector<std::pair<const char *, const char *>> expected{
        {"lag %", ""},     {"stat", ""},        {"tasks", "32104"},   {"cachers", "24130"}, {"PID", "02413"},
        {"user", "02413"}, {"cgroup", "03142"}, {"command", "04321"}, {"lag", ""},          {"exact", ""}};
    for (const auto &[name, digits] : expected) {
        key('s');
        EXPECT_TRUE(contains(screen.draw({12, 200}).text(), fmt::format("sorted by {} ", name))) << name;
        if (digits[0] != 0) {
            EXPECT_EQ(order(), digits) << name;
        }
        const std::string down = order();
        key('S');
        key('S');
        EXPECT_EQ(order(), down) << name;
    }
}

TEST_F(Screens, HideColumnsOfTop) {
    TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
    screen.take(test::top_table());
    const auto heading = [&screen] { return screen.draw({24, 200}).row_text(3); };
    EXPECT_TRUE(contains(heading(), "LAG kB"));
    const auto key = [&screen](char c) { screen.key({Key::Name::Character, static_cast<char32_t>(c)}); };
    key('C');
    EXPECT_TRUE(contains(screen.draw({24, 200}).text(), "[x] LAG %"));
    key(' ');
    key('j');
    screen.key({Key::Name::Enter});
    EXPECT_TRUE(contains(screen.draw({24, 200}).text(), "[ ] LAG %"));
    screen.key({Key::Name::Escape});
    EXPECT_FALSE(contains(heading(), "LAG")) << heading();
    EXPECT_TRUE(contains(heading(), "EXACT"));
    key('C');
    screen.key({Key::Name::End});
    key(' ');
    key('C');
    EXPECT_FALSE(contains(heading(), "COMMAND")) << "the last one; Home and End move in the list";
    key('C');
    screen.key({Key::Name::Home});
    key(' ');
    screen.key({Key::Name::Escape});
    EXPECT_TRUE(contains(heading(), "LAG kB")) << "shown again";
}

TEST_F(Screens, HaveALagColumnIfLagIsNotCached) {
    TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
    TopTable table = test::top_table();
    screen.take(table);
    EXPECT_TRUE(contains(screen.draw({24, 120}).text(), "LAG kB"));
    table.processes[3].total.flushed = core::Members{};
    screen.take(table);
    const std::string text = screen.draw({24, 120}).text();
    EXPECT_FALSE(contains(text, "LAG kB")) << text;
    EXPECT_TRUE(contains(text, "CACHED"));
    table.processes.clear();
    screen.take(table);
    EXPECT_TRUE(contains(screen.draw({24, 120}).text(), "LAG kB")) << "an empty table has all columns";
}

TEST_F(Screens, SayWhoSharesOneMemory) {
    TopTable table = test::top_table();
    table.processes[27].total.mm = table.processes[5].total.mm = 77;
    const std::string said = "105 and 127 share one memory: each row shows all of it";
    const std::string text = top_text(table, TopSort::Lag, 0, {});
    EXPECT_TRUE(text.ends_with("\n" + said + "\n")) << text;
    EXPECT_FALSE(contains(top_text(table, TopSort::Name, 3, {}), said)) << "neither process has a row";
    TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
    screen.take(table);
    EXPECT_FALSE(contains(screen.draw({24, 120}).text(), said));
    screen.key({Key::Name::Character, U'j'});
    EXPECT_TRUE(contains(screen.draw({24, 120}).text(), said)) << "the selected process is 127";

    LiveScreen live = classic_screen({});
    EXPECT_FALSE(contains(shown(live), "one memory"));
    Tick tick = classic_tick(33);
    tick.process.mm_pids = {4711, 4712, 4713};
    live.take(std::move(tick));
    EXPECT_TRUE(contains(shown(live), " one memory with 4712, 4713 ")) << shown(live);
}

TEST_F(Screens, SayThatReadersSeeNothingOnceTheMainThreadHasEnded) {
    LiveScreen live = classic_screen({});
    Tick tick = classic_tick(33);
    tick.process.leader_gone = true;
    tick.process.readers = {};
    tick.process.readers.stat = tick.process.readers.statm = core::Pages{0};
    const core::Pages lag = core::lag(tick.ledger.exact(), tick.ledger.flushed);
    live.take(std::move(tick));
    const std::string text = shown(live);
    EXPECT_TRUE(contains(text, "ps, top and htop show 0 kB.")) << text;
    EXPECT_TRUE(contains(text, "Its main thread has ended, so that its files show no memory.")) << text;
    EXPECT_TRUE(contains(live.draw({24, 200}, {}).row_text(1), core::as_kb(lag, {}) + " is cached in 101 threads."));

    TopTable table = test::top_table(1);
    table.processes[0].total.flushed.anon = core::Pages{1000};
    EXPECT_TRUE(contains(top_text(table, TopSort::Lag, 0, {}), "4,400"));
    table.processes[0].total.leader_gone = true;
    EXPECT_FALSE(contains(top_text(table, TopSort::Lag, 0, {}), "4,400")) << "stat of the main thread shows 0";
}

TEST_F(Screens, TellTopWithoutAScreen) {
    EXPECT_TRUE(is_golden(top_text(test::top_table(), TopSort::Lag, 0, {}), "top.txt"));
    EXPECT_TRUE(contains(top_json(test::top_table(), TopSort::Name, 1), R"("sort":"name")"));
    TopTable many = test::top_table(1);
    many.processes.front().total.tasks = 100'001;
    EXPECT_TRUE(contains(top_text(std::move(many), TopSort::Lag, 0, {}), " 100001 "));
}

}  // namespace
}  // namespace rsslag::screen
