// SPDX-License-Identifier: BSD-2-Clause
// The list of processes on the screen of a trace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "screens.h"

namespace rsslag::screen {
namespace {

using std::chrono::milliseconds;
using test::ascii_style;
using test::contains;
using test::count;
using test::family;
using test::family_screen;
using test::is_golden;
using test::press;
using test::Relative;
using test::relative_tick;

class ProcessList : public test::ScreenTest {};

constexpr Size kUsual{36, 120};

std::string drawn(const LiveScreen &screen, Size size = kUsual) {
    return screen.draw(size, milliseconds(200)).text();
}

std::string row_with(const LiveScreen &screen, std::string_view text, Size size = kUsual) {
    const Grid grid = screen.draw(size, milliseconds(200));
    for (int row = 3; row < size.rows - 2; ++row)
        if (contains(grid.row_text(row), text)) return grid.row_text(row);
    return "";
}

constexpr std::string_view kRange = "\u254E";

/// The commands in the order of the rows, each with the branch before it.
std::vector<std::string> commands(const LiveScreen &screen) {
    constexpr Size kWide{60, 160};
    const Grid grid = screen.draw(kWide, milliseconds(200));
    std::vector<std::string> out;
    std::size_t at = std::string::npos;
    for (int row = 3; row < kWide.rows; ++row) {
        std::string text;  // one byte for each cell
        for (int column = 0; column < kWide.columns; ++column) {
            const char32_t glyph = grid.at(row, column).glyph;
            text += glyph < 0x7F ? static_cast<char>(glyph) : '?';
        }
        if (at == std::string::npos) {
            at = text.find("COMMAND");
            continue;
        }
        if (text[3] == ' ' && text.find_first_not_of(' ') == std::string::npos) break;
        std::string command = text.substr(at);
        command.resize(command.find_last_not_of(' ') + 1);
        if (!contains(text, " ended")) out.push_back(command);
    }
    return out;
}

TEST_F(ProcessList, IsShownFirstAtEverySize) {
    for (const Size &size : {Size{24, 80}, Size{15, 60}, Size{36, 120}, Size{50, 200}}) {
        EXPECT_TRUE(is_golden(drawn(family_screen({}), size), fmt::format("list_{}x{}.txt", size.columns, size.rows)));
        LiveScreen tree = family_screen({});
        press(tree, "v");
        EXPECT_TRUE(is_golden(drawn(tree, size), fmt::format("list_tree_{}x{}.txt", size.columns, size.rows)));
    }
    LiveScreen ascii = family_screen(ascii_style());
    press(ascii, "v");
    EXPECT_TRUE(is_golden(drawn(ascii, {24, 80}), "list_tree_ascii_80x24.txt"));
    press(ascii, "?");
    EXPECT_TRUE(is_golden(drawn(ascii, {24, 80}), "list_help_80x24.txt"));
}

TEST_F(ProcessList, DrawsWhatRecordsShowBetweenTicks) {
    const std::size_t before = count(drawn(family_screen({})), kRange);
    EXPECT_EQ(before, 1U) << "the legend";
    LiveScreen screen = family_screen({});
    Tick tick = relative_tick(family()[0], 33);
    const core::Pages rss{500'000};
    tick.course_of_all = {{tick.t_ns - 1'500'000'000, rss, rss + rss, {}, {rss, {}}}};
    tick.all.emplace();
    tick.all->most = {rss + rss, rss + rss, {}, tick.t_ns - 1'500'000'000, 0, 0};
    screen.take(tick);
    EXPECT_GT(count(drawn(screen), kRange), before + 1) << drawn(screen);
    EXPECT_EQ(count(drawn(screen), "\u25B2"), 1U) << "the peak";
}

TEST_F(ProcessList, SumsUpWhatTheyHoldAndSharedMemoryOnce) {
    const std::string text = drawn(family_screen({}));
    // 4713 and 4722 share an mm. 4721 and 4730 have ended.
    const std::int64_t pages = 180'000 + 401 * 40 + 52'752 + 4'555 + 40 + 1'045;
    EXPECT_TRUE(contains(text, fmt::format("They hold {} in 4 address spaces.", core::as_kb(core::Pages{pages}, {}))))
        << text;
    EXPECT_TRUE(contains(text, fmt::format("stat does not show {} (", core::as_kb(core::Pages{4 * 31}, {})))) << text;
    EXPECT_TRUE(contains(text, "5 processes  2 ended")) << text;
    EXPECT_TRUE(contains(text, "5 AGREES")) << text;
}

TEST_F(ProcessList, SaysWhoGrewInTheLast30Seconds) {
    // 401 pages a second in 4711 and one in the mm of 4713; 4721, of 6,511 pages, ended in these 30 s.
    const std::string grew = core::as_kb(core::Pages{30 * 402 - 6'511 - 840}, {});
    const std::string most = core::as_kb(core::Pages{30 * 401}, {});
    const std::string text = drawn(family_screen({}), {36, 160});
    EXPECT_TRUE(contains(text, "grew by " + grew + " in 30 s; redis-server [4711] by " + most)) << text;
    LiveScreen shrinking = family_screen({});
    Relative fallen = family()[1];
    fallen.pages -= 20'000;
    shrinking.take(relative_tick(fallen, 40), "redis");
    EXPECT_TRUE(contains(drawn(shrinking, {36, 160}), "kB in 30 s; redis-server [4711] grew by " + most));
    // An mm that was born in the trace has grown from 0.
    LiveScreen young = family_screen({}, 10);
    Relative newcomer{4800, 1, "ruby", "", "root", 900'000, 0, 30};
    Tick tick = relative_tick(newcomer, 10);
    tick.ledger.baseline = {};
    young.take(tick, "root");
    EXPECT_TRUE(contains(drawn(young, {36, 160}), "; ruby [4800] by 3,600,000 kB")) << drawn(young, {36, 160});
}

TEST_F(ProcessList, ShowsTheGrowthOfAProcessWithoutTicksUntilNow) {
    LiveScreen screen = family_screen({});
    auto only_4712_until = [&screen, second = 41](int last) mutable {
        for (; second <= last; ++second)
            screen.take(relative_tick(family()[1], second), "redis");
    };
    only_4712_until(43);
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), " +964 "))
        << "3 * 401 pages in 5 s: " << row_with(screen, " 4711 ");
    only_4712_until(47);
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), "   0 ")) << row_with(screen, " 4711 ");
    const std::string text = drawn(screen, {36, 160});
    EXPECT_TRUE(contains(text, "redis-server [4711] by " + core::as_kb(core::Pages{(30 - 6) * 401}, {}))) << text;
    only_4712_until(75);
    EXPECT_FALSE(contains(drawn(screen, {36, 160}), "[4711] by")) << drawn(screen, {36, 160});
}

TEST_F(ProcessList, ShowsTheGrowthOfTheLastFiveSeconds) {
    EXPECT_TRUE(contains(row_with(family_screen({}), " 4711 "), " +1,604 ")) << row_with(family_screen({}), " 4711 ");
    EXPECT_TRUE(contains(row_with(family_screen({}), " 4712 "), "   0 "));
    LiveScreen screen = family_screen({}, 1);
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), " - ")) << "one tick is no growth";
    // It grows by 401 pages in each of four seconds, then falls by 1,000: by 604 pages in five seconds.
    screen = family_screen({});
    Relative fallen = family()[0];
    fallen.pages -= 1'000 + fallen.pages_per_s;
    screen.take(relative_tick(fallen, 41), "redis");
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), " +484 ")) << row_with(screen, " 4711 ");
}

TEST_F(ProcessList, SortsByEachColumnAndReverses) {
    LiveScreen screen = family_screen({});
    EXPECT_EQ(commands(screen).front(), "redis-server *:6379");
    EXPECT_EQ(commands(screen).back(), "make -j2");
    press(screen, "S");
    EXPECT_EQ(commands(screen).front(), "make -j2");
    EXPECT_TRUE(contains(drawn(screen), "by exact, reversed"));
    for (const char *name : {"growth", "peak", "lag", "threads", "updates", "verdict", "user", "PID", "command"}) {
        press(screen, "s");
        EXPECT_TRUE(contains(drawn(screen), fmt::format("PROCESSES, by {} ", name))) << name;
    }
    EXPECT_EQ(commands(screen).front(), "bash deploy.sh");
    EXPECT_EQ(commands(screen).back(), "redis-server *:6380");
    press(screen, "s");
    EXPECT_EQ(commands(screen).front(), "redis-server *:6379");
}

TEST_F(ProcessList, ShowsATreeWithSiblingsInTheirOrder) {
    LiveScreen screen = family_screen({});
    press(screen, "v");
    EXPECT_EQ(commands(screen), (std::vector<std::string>{"redis-server *:6379", "? redis-server *:6380",
                                                          "bash deploy.sh", "? bash deploy.sh", "? make -j2"}));
    press(screen, "vv");
    EXPECT_EQ(commands(screen).back(), "make -j2");
}

TEST_F(ProcessList, ListsEachProcessOnceWhateverTheParentsAre) {
    LiveScreen screen = family_screen({});
    Relative one = family()[0];
    Relative two = family()[1];
    Relative own = family()[2];
    one.ppid = two.pid;  // a cycle
    two.ppid = one.pid;
    own.ppid = own.pid;
    for (const Relative &each : {one, two, own})
        screen.take(relative_tick(each, 41), "root");
    press(screen, "v");
    EXPECT_EQ(commands(screen).size(), 5U);
    // A chain that is deeper than the screen is wide.
    for (int i = 0; i < 500; ++i)
        screen.take(relative_tick({10'000 + i, 9'999 + i, "deep", "", "", 1, 0, 100U + static_cast<unsigned>(i)}, 42),
                    "");
    for (const Size &size : {Size{1, 1}, Size{5, 2}, Size{36, 120}, Size{500, 500}})
        EXPECT_EQ(screen.draw(size, {}).size(), size);
}

TEST_F(ProcessList, ShowsTheCommandWithoutTheDirectoryOfTheProgram) {
    for (const auto &[line, expected] : {std::pair("/usr/lib/gcc/cc1 -O2 /tmp/a.c", "cc1 -O2 /tmp/a.c"),
                                         std::pair("cc1 /tmp/a.c", "cc1 /tmp/a.c"), std::pair("", "comm")}) {
        LiveScreen screen = family_screen({});
        screen.take(relative_tick({4800, 1, "comm", line, "root", 1'000'000, 0, 30}, 40), "root");
        EXPECT_EQ(commands(screen).front(), expected);
    }
}

TEST_F(ProcessList, FoldsThoseThatEndedIntoOneRow) {
    LiveScreen screen = family_screen({});
    const std::string row = row_with(screen, "2 ended;");
    EXPECT_TRUE(contains(row, "the highest peak 26,044 kB: cc1 [4721]; their peaks add up to 29,404 kB; Enter lists"))
        << row;
    EXPECT_EQ(commands(screen).size(), 5U);
    Key end{Key::Name::End};
    screen.key(end);
    press(screen, "\n");
    EXPECT_EQ(commands(screen).size(), 7U);
    EXPECT_TRUE(contains(row_with(screen, " 4721 "), "EXITED"));
    EXPECT_TRUE(contains(row_with(screen, " 4721 "), "26,044"));
    press(screen, "\x01\n");  // the first of them
    EXPECT_TRUE(contains(drawn(screen), "cc1 [4721]")) << drawn(screen);
    EXPECT_TRUE(contains(drawn(screen), "EXITED; these are the last values read"));
}

TEST_F(ProcessList, CountsThoseThatEndedAndAreNotKept) {
    LiveScreen screen = family_screen({});
    for (int i = 0; i < 1'200; ++i) {
        Relative brief{20'000 + i, 1, "brief", "", "root", i == 3 ? 500'000 : 100, 0, 1'000U + static_cast<unsigned>(i),
                       42};
        screen.take(relative_tick(brief, 41), "root");
        screen.take(relative_tick(brief, 42), "root");
    }
    const std::string row = row_with(screen, " ended;", {36, 200});
    EXPECT_TRUE(contains(row,
                         "1,202 ended; the highest peak 2,000,000 kB: brief [20003]; their peaks add up to "
                         "2,509,004 kB; 707 of them are no longer listed"))
        << row;
}

TEST_F(ProcessList, OpensAProcessAndComesBack) {
    LiveScreen screen = family_screen({});
    press(screen, "\x01\n");
    EXPECT_TRUE(contains(drawn(screen), "redis-server [4712]")) << drawn(screen);
    EXPECT_TRUE(contains(drawn(screen), "THREADS") || contains(drawn(screen), "CPUS"));
    press(screen, "\x1b");
    EXPECT_TRUE(contains(row_with(screen, "\u25B6"), " 4712 ")) << "the selection stays";
    press(screen, "g");
    EXPECT_TRUE(contains(drawn(screen), "redis-server [4712]"));
    EXPECT_TRUE(contains(drawn(screen), "growth is not known"));
}

TEST_F(ProcessList, ComesByItselfOnlyIfNothingOfTheFirstProcessWasChosen) {
    for (const bool chosen : {false, true}) {
        LiveScreen screen = test::classic_screen({});
        if (chosen) press(screen, "\x01");
        screen.take(relative_tick(family()[2], 33), "root");
        EXPECT_EQ(contains(drawn(screen), "PROCESSES, by exact"), !chosen);
        press(screen, "\x1b");
        EXPECT_TRUE(contains(drawn(screen), "PROCESSES, by exact"));
    }
}

TEST_F(ProcessList, FiltersByNameCommandUserOrPid) {
    for (const auto &[filter, count] : {std::pair("redis", 2), std::pair("DEPLOY", 2), std::pair("root", 3),
                                        std::pair("4720", 1), std::pair("zz", 0)}) {
        LiveScreen screen = family_screen({});
        press(screen, fmt::format("/{}\n", filter));
        EXPECT_TRUE(contains(drawn(screen), fmt::format("filter \"{}\": {} of 5", filter, count))) << drawn(screen);
    }
}

TEST_F(ProcessList, SaysHowManyAreNotPartOfTheSumYet) {
    EXPECT_FALSE(contains(drawn(family_screen({})), "not read yet"));
    LiveScreen screen = family_screen({});
    Tick tick = relative_tick(family()[0], 41);
    tick.all_processes = 3'001;
    screen.take(tick, "redis");
    for (const Size &size : {Size{36, 120}, Size{24, 80}})
        EXPECT_TRUE(contains(drawn(screen, size), " in 4 address spaces.  2,996 more not read yet."))
            << drawn(screen, size);
}

TEST_F(ProcessList, PausesTheDisplayOnly) {
    LiveScreen screen = family_screen({});
    press(screen, " ");
    const std::string paused = drawn(screen);
    EXPECT_TRUE(contains(paused, "PAUSED"));
    for (const Relative &who : family())
        if (who.ends > 41) screen.take(relative_tick(who, 41), who.user);
    EXPECT_EQ(drawn(screen), paused);
    press(screen, " ");
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), core::as_kb(core::Pages{180'000 + 401 * 41}, {}).substr(0, 7)));
}

TEST_F(ProcessList, HidesColumns) {
    LiveScreen screen = family_screen({});
    EXPECT_TRUE(contains(drawn(screen), "GROWTH/s"));
    press(screen, "C\x01 ");
    EXPECT_TRUE(contains(drawn(screen), "[ ] growth")) << drawn(screen);
    press(screen, "C");
    EXPECT_FALSE(contains(drawn(screen), "GROWTH/s"));
    EXPECT_TRUE(contains(drawn(screen), "PEAK kB"));
}

TEST_F(ProcessList, MarksSumsAfterALoss) {
    LiveScreen screen = family_screen({});
    Tick tick = relative_tick(family()[0], 41);
    tick.needs_resync = true;
    tick.lost = 7;
    screen.take(tick, "redis");
    EXPECT_TRUE(contains(drawn(screen), "They hold !")) << drawn(screen);
    EXPECT_TRUE(contains(drawn(screen), "lost !7")) << drawn(screen);
}

TEST_F(ProcessList, MarksGrowthFromOrToAValueAfterALoss) {
    LiveScreen screen = family_screen({});
    const auto take = [&screen](int second, bool needs_resync) {
        Tick tick = relative_tick(family()[0], second);
        tick.needs_resync = needs_resync;
        tick.lost = 7;
        screen.take(tick, "redis");
    };
    const auto text = [&screen] { return drawn(screen, {36, 160}); };
    take(41, true);
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), " !+1,604 ")) << row_with(screen, " 4711 ");
    EXPECT_TRUE(contains(text(), "grew by !")) << text();
    EXPECT_TRUE(contains(text(), "redis-server [4711] by !")) << text();
    EXPECT_TRUE(contains(row_with(screen, " 4712 "), "   0 ")) << "the growth of others is known";
    // After the resync the value is certain. It is compared with the value of 41 s for 5 s in its row and for 30 s
    // above.
    take(42, false);
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), " +1,604 ")) << row_with(screen, " 4711 ");
    take(46, false);
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), " !+1,604 ")) << row_with(screen, " 4711 ");
    EXPECT_TRUE(contains(text(), "redis-server [4711] by 48,120 kB")) << text();
    take(71, false);
    EXPECT_TRUE(contains(row_with(screen, " 4711 "), " +1,604 ")) << row_with(screen, " 4711 ");
    EXPECT_TRUE(contains(text(), "redis-server [4711] by !48,120 kB")) << text();
    press(screen, "g");
    EXPECT_FALSE(contains(text(), "GREW BY !"));
}

TEST_F(ProcessList, MarksGrowthFromAValueThatMoved) {
    LiveScreen screen = family_screen({}, 1);
    Relative young{4800, 1, "ruby", "", "root", 900'000, 1'000, 30};
    for (int second = 2; second <= 4; ++second) {
        Tick tick = relative_tick(young, second);
        if (second == 2) tick.process.verdict.verdict = core::Verdict::Moving;
        screen.take(tick, "root");
    }
    EXPECT_TRUE(contains(row_with(screen, " 4800 "), " ~+4,000 ")) << row_with(screen, " 4800 ");
    EXPECT_TRUE(contains(drawn(screen, {36, 160}), "ruby [4800] by ~16,000 kB")) << drawn(screen, {36, 160});
}

TEST_F(ProcessList, MarksUpdatesOfATickWithALoss) {
    LiveScreen screen = family_screen({});
    for (const auto &[second, lost, expected] : {std::tuple(41, 7U, " \u2265401 "), std::tuple(42, 7U, " 401 ")}) {
        Tick tick = relative_tick(family()[0], second);
        tick.lost = lost;
        screen.take(tick, "redis");
        EXPECT_TRUE(contains(row_with(screen, " 4711 "), expected)) << row_with(screen, " 4711 ");
    }
}

TEST_F(ProcessList, MarksThePeaksOfThoseThatEnded) {
    const auto row_after = [](core::Pages from, core::Pages to, bool lossy, const TextStyle &style) {
        LiveScreen screen = family_screen(style);
        Relative last{4801, 1, "ld", "", "root", 100, 0, 31, 41};
        Tick tick = relative_tick(last, 41);
        tick.extremes.most.from = from;
        tick.extremes.most.to = to;
        tick.extremes.lossy = lossy;
        screen.take(tick, "root");
        return row_with(screen, "3 ended;");
    };
    const auto has = [](const std::string &row, std::string_view highest, std::string_view sum) {
        EXPECT_TRUE(contains(row, fmt::format("the highest peak {}; their peaks add up to {};", highest, sum))) << row;
    };
    has(row_after({100}, {100}, false, {}), "26,044 kB: cc1 [4721]", "29,804 kB");
    has(row_after({100}, {150}, false, {}), "26,044 kB: cc1 [4721]", "~30,004 kB");
    has(row_after({100}, {10'000}, false, {}), "~40,000 kB: ld [4801]", "~69,404 kB");
    has(row_after({100}, {10'000}, true, {}), "\u226526,044 kB: cc1 [4721]", "\u226529,804 kB");
    has(row_after({9'000}, {10'000}, true, ascii_style()), ">=36,000 kB: ld [4801]", ">=65,404 kB");
}

TEST_F(ProcessList, PrintsNoRawByteOfACommandLine) {
    LiveScreen screen = family_screen({});
    Relative hostile{4900, 1, "x", "x\x1b[2J \xff\u202E", "u\x1b", 1'000'000, 0, 40};
    screen.take(relative_tick(hostile, 40), hostile.user);
    EXPECT_TRUE(contains(drawn(screen, {36, 160}), "x\\x1b[2J \\xff\\xe2\\x80\\xae")) << drawn(screen, {36, 160});
    EXPECT_FALSE(contains(drawn(screen), "\x1b"));
}

/// Without the first row, which has the time, and the last ones; the right edge of the chart has the same name always.
std::string rows_of(const LiveScreen &screen) {
    const Grid grid = screen.draw(kUsual, milliseconds(0));
    std::string text;
    for (int row = 1; row < kUsual.rows - 3; ++row) {
        std::string line = grid.row_text(row);
        if (const std::size_t at = line.find("then "); at != std::string::npos) line.replace(at, 4, " now");
        text += line + "\n";
    }
    return text;
}

TEST_F(ProcessList, ShowsAnEarlierMomentAsItWas) {
    LiveScreen screen = family_screen({}, 40);
    press(screen, "[");
    EXPECT_TRUE(contains(screen.draw(kUsual, milliseconds(200)).row_text(0), "PAST -00:01") ||
                contains(screen.draw(kUsual, milliseconds(200)).row_text(0), "PAST \u221200:01"))
        << screen.draw(kUsual, milliseconds(200)).row_text(0);
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 39)));
    press(screen, "{");
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 29)));
    for (const Relative &each : family())
        screen.take(relative_tick(each, 41), each.user);
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 29))) << "the past stays as it is";
    press(screen, "]");
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 30)));
    press(screen, "}}");
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 41))) << "now";
    press(screen, "]");
    EXPECT_TRUE(contains(drawn(screen), "this is now: [ goes back"));
    press(screen, "[");
    screen.key({Key::Name::End});
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 41)));
}

TEST_F(ProcessList, AProcessIsShownAsItWasThen) {
    LiveScreen screen = family_screen({}, 40);
    press(screen, "\n[[");
    LiveScreen then = family_screen({}, 38);
    press(then, "\n");
    EXPECT_EQ(rows_of(screen), rows_of(then));
    press(screen, "\x1b");
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 38))) << "the list, too";
}

TEST_F(ProcessList, SaysWhereItsHistoryBegins) {
    LiveScreen screen = family_screen({}, 3);
    press(screen, "{");
    EXPECT_TRUE(contains(drawn(screen), "no earlier moment is kept")) << drawn(screen);
    EXPECT_EQ(rows_of(screen), rows_of(family_screen({}, 1)));
}

TEST_F(ProcessList, HasARowForEachCgroup) {
    LiveScreen screen = family_screen({}, 1);
    for (int second = 2; second <= 30; ++second)
        for (const Relative &each : family())
            screen.take(relative_tick(each, second), each.user,
                        each.user == "redis" ? "/system.slice/redis.service" : "/user.slice");
    press(screen, "vv");
    const std::string text = drawn(screen);
    EXPECT_TRUE(contains(text, "PROCESSES, by exact, by cgroup")) << text;
    const std::string redis = core::as_kb(core::Pages{180'000 + 401 * 30 + 52'752}, {});
    EXPECT_TRUE(contains(row_with(screen, "redis.service"), "system.slice/redis.service:  2 processes  " + redis))
        << text;
    EXPECT_TRUE(contains(row_with(screen, "user.slice"), "  4 processes  ")) << text;
    EXPECT_LT(text.find("redis.service:"), text.find(" 4712 "));
    EXPECT_LT(text.find(" 4712 "), text.find("user.slice:"));
    EXPECT_LT(text.find("user.slice:"), text.find(" 4713 "));
    press(screen, "\x02\x02\n");
    EXPECT_TRUE(contains(drawn(screen), "a cgroup has no screen of its own")) << drawn(screen);
    press(screen, "/redis.s\n");
    EXPECT_FALSE(contains(drawn(screen), "user.slice"));
    press(screen, "\x1bv");
    EXPECT_FALSE(contains(drawn(screen), "by cgroup"));
}

LiveScreen lossy_screen() {
    LiveScreen screen = test::classic_screen({});
    Tick tick = test::classic_tick(33);
    tick.lost = 1'234;
    tick.lost_by["ring full"] = 1'234;
    tick.needs_resync = true;
    screen.take(std::move(tick));
    return screen;
}

LiveScreen ended_screen() {
    LiveScreen screen = test::classic_screen({});
    Tick tick = test::classic_tick(33);
    tick.state = core::State::Exited;
    tick.read = false;
    screen.take(std::move(tick));
    return screen;
}

LiveScreen pressed(LiveScreen screen, std::string_view keys) {
    press(screen, keys);
    return screen;
}

LiveScreen replayed_screen() {
    LiveScreen screen = family_screen({});
    screen.take(Playback{40'000'000'000, 90'000'000'000, 2, true});
    return screen;
}

TEST_F(ProcessList, AndOneProcessAreShownInEachStateAtEachSize) {
    const std::vector<std::pair<const char *, LiveScreen (*)()>> states{
        {"past", [] { return pressed(test::classic_screen({}), "{{"); }},
        {"list_past", [] { return pressed(family_screen({}), "{"); }},
        {"filter", [] { return pressed(test::classic_screen({}), "/worker-1\n"); }},
        {"list_filter", [] { return pressed(family_screen({}), "/bash\n"); }},
        {"one", [] { return pressed(test::classic_screen({}), "\x01\n"); }},
        {"help", [] { return pressed(test::classic_screen({}), "?"); }},
        {"list_ended", [] { return pressed(family_screen({}), "\x01\x01\x01\x01\x01\n"); }},
        {"ended", ended_screen},
        {"lossy", lossy_screen},
        {"list_replay", replayed_screen}};
    for (const auto &[name, screen] : states) {
        for (const Size &size : {Size{24, 80}, Size{15, 60}, Size{36, 120}, Size{50, 200}})
            EXPECT_TRUE(
                is_golden(drawn(screen(), size), fmt::format("state_{}_{}x{}.txt", name, size.columns, size.rows)));
    }
}

}  // namespace
}  // namespace rsslag::screen
