// SPDX-License-Identifier: BSD-2-Clause
// The keys of all screens, against the table in the manual.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "paths.h"
#include "screens.h"

namespace rsslag::screen {
namespace {

using std::chrono::milliseconds;
using test::press;

class Keys : public test::ScreenTest {};

/// The screens of each key, from the section KEYS. A key that is listed twice is an error.
std::map<std::string, std::set<std::string>> keys_of_manual() {
    std::ifstream file(source_path("docs/man/rsslag-live.1"));
    std::map<std::string, std::set<std::string>> keys;
    bool within = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(".Sh ")) within = line == ".Sh KEYS";
        if (!within || !line.starts_with(".It ") || line.starts_with(".It Sy Key")) continue;
        std::string key = line.substr(4, line.find(" Ta ") - 4);
        if (key.starts_with("\\&")) key.erase(0, 2);
        std::istringstream names(line.substr(line.rfind(" Ta ") + 4));
        std::set<std::string> screens;
        for (std::string name; names >> name;)
            screens.insert(name);
        EXPECT_TRUE(keys.emplace(key, screens).second) << key << " has two meanings";
    }
    return keys;
}

constexpr Size kShown{36, 120};

template <class Screen, class Draw>
bool reacts(Screen &screen, char key, const Draw &draw) {
    const Grid before = draw(screen);
    const auto name = key == '\n' ? Key::Name::Enter : Key::Name::Character;
    const auto intent = screen.key({name, static_cast<char32_t>(key)});
    return intent.has_value() || !(draw(screen) == before);
}

/// Whether a key changes something on a new screen of this name.
bool reacts_on(const std::string &name, char key) {
    if (name == "top") {
        TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
        screen.take(test::top_table());
        return reacts(screen, key, [](const TopScreen &each) { return each.draw(kShown); });
    }
    LiveScreen screen = test::family_screen({});
    CommandOutput output;
    output.name = "make";
    output.lines = {"compiling"};
    screen.take(output);
    if (name != "list") press(screen, "\n");
    if (name == "replay") screen.take(Playback{3'240'000'000, 31'000'000'000, 1, true});
    if (key == 'c') press(screen, "t");  // CPUs are shown already
    return reacts(screen, key, [](const LiveScreen &each) { return each.draw(kShown, milliseconds(0)); });
}

/// The characters of an entry; none for movements, which need not change anything, and for names of other keys.
std::string characters(const std::string &key) {
    if (key == "space") return " ";
    if (key == "Enter") return "\n";
    if (key == "0-9") return "0123456789";
    return key.size() == 1 && key != "j" && key != "k" ? key : "";
}

TEST_F(Keys, ActWhereTheManualSaysSo) {
    const auto keys = keys_of_manual();
    ASSERT_GE(keys.size(), 40U);
    for (const auto &[key, screens] : keys)
        for (const std::string &screen : screens)
            for (const char each : characters(key))
                EXPECT_TRUE(reacts_on(screen, each)) << "'" << each << "' on " << screen;
}

TEST_F(Keys, AreAllInTheManual) {
    std::string known = "jk";
    for (const auto &[key, screens] : keys_of_manual())
        known += characters(key);
    for (char key = '!'; key <= '~'; ++key) {
        if (known.find(key) != std::string::npos) continue;
        for (const char *screen : {"list", "process", "replay", "top"})
            EXPECT_FALSE(reacts_on(screen, key)) << "'" << key << "' on " << screen;
    }
}

TEST_F(Keys, MoveAmongTheMatchesOfAFilterRoundTheEnds) {
    LiveScreen screen = test::family_screen({});
    press(screen, "/bash\n\x02");
    const auto selected = [&] { return screen.draw(kShown, milliseconds(0)).selected_text(); };
    const std::string first = selected();
    ASSERT_NE(first, "");
    std::set<std::string> rows;
    for (;;) {
        press(screen, "n");
        if (!rows.insert(selected()).second) break;
    }
    EXPECT_TRUE(rows.contains(first));
    press(screen, "nN");
    EXPECT_TRUE(rows.contains(selected()));
    press(screen, "\x1b");
    press(screen, "n");
    EXPECT_TRUE(test::contains(screen.draw(kShown, milliseconds(0)).text(), "there is no filter: / enters one"));
}

TEST_F(Keys, HelpHasThreeKeys) {
    for (const Key key : {Key{Key::Name::Character, U'?'}, Key{Key::Name::Character, U'h'}, Key{Key::Name::Help}}) {
        LiveScreen screen = test::family_screen({});
        screen.key(key);
        EXPECT_TRUE(test::contains(screen.draw(kShown, milliseconds(0)).text(), "n N  next"));
    }
    LiveScreen filtering = test::family_screen({});
    press(filtering, "/h");
    filtering.key({Key::Name::Help});
    EXPECT_TRUE(
        test::contains(filtering.draw(kShown, milliseconds(0)).text(), "filter by name, command, user or PID: h_"));
}

/// The cell of the first row from `from` on in which the text is; its first character is ASCII.
std::optional<documents::Click> click_on(const Grid &grid, std::string_view text, int from = 0) {
    for (int row = from; row < grid.size().rows; ++row) {
        const std::string line = grid.row_text(row);
        if (const std::size_t at = line.find(text); at != std::string::npos)
            return grid.click_at(row, documents::cells(std::string_view(line).substr(0, at)));
    }
    return std::nullopt;
}

Grid grid_of(const LiveScreen &screen) {
    return screen.draw(kShown, milliseconds(0));
}

TEST_F(Keys, OfTheLastRowCanBeClicked) {
    LiveScreen screen = test::family_screen({});
    const int last = kShown.rows - 1;
    const auto key = [&](std::string_view text) {
        const auto click = click_on(screen.draw({kShown.rows, 200}, milliseconds(0)), text, last);
        return click ? click->key : U'\0';
    };
    EXPECT_EQ(key("q quit"), U'q');
    EXPECT_EQ(key("quit"), U'q');
    EXPECT_EQ(key("s S sort"), U's');
    EXPECT_EQ(key("S sort"), U'S');
    EXPECT_EQ(key("sort"), U's');
    EXPECT_EQ(key("space pause"), U' ');
    EXPECT_EQ(key("open"), U'\r');
    EXPECT_EQ(key("+- interval"), U'+');
    EXPECT_EQ(key("- interval"), U'-');
    EXPECT_FALSE(grid_of(screen).click_at(last, 0)) << "the blank before the first key";
    screen.click(*click_on(grid_of(screen), "? help", last));
    EXPECT_TRUE(test::contains(grid_of(screen).text(), " Columns ")) << grid_of(screen).text();
    screen.click(*click_on(grid_of(screen), "help", last));
    const auto quit = screen.click(*click_on(grid_of(screen), "quit", last));
    EXPECT_TRUE(quit && std::holds_alternative<Quit>(*quit));
}

TEST_F(Keys, OfEachViewAreInItsLastRow) {
    LiveScreen screen = test::family_screen({});
    const auto last_row = [&] { return grid_of(screen).row_text(kShown.rows - 1); };
    press(screen, "\n");
    EXPECT_TRUE(test::contains(last_row(), "g grew")) << last_row();
    for (const char *const view : {"?", "x", "g", "\n"}) {
        press(screen, view);
        EXPECT_TRUE(test::contains(last_row(), " q quit  ? help  Esc back")) << view << last_row();
        EXPECT_FALSE(test::contains(last_row(), "t threads")) << view << last_row();
        screen.click(*click_on(grid_of(screen), "Esc", kShown.rows - 1));
        EXPECT_TRUE(test::contains(last_row(), "t threads")) << view << last_row();
    }
    for (const char *const view : {"?", "x", "g", "\n"}) {
        press(screen, view);
        for (int column = 0; column < kShown.columns; ++column) {
            const auto click = grid_of(screen).click_at(kShown.rows - 1, column);
            const bool named = click && last_row().find(static_cast<char>(click->key)) != std::string::npos;
            EXPECT_TRUE(!click || named || click->key == 27 || click->key == U' ') << view << column;
        }
        press(screen, "\x1b");
    }
}

TEST_F(Keys, AClickSelectsARowAndASecondOneOpensIt) {
    LiveScreen screen = test::family_screen({});
    const auto shell = click_on(grid_of(screen), " 4720 ");
    ASSERT_TRUE(shell);
    screen.click(*shell);
    EXPECT_TRUE(test::contains(grid_of(screen).selected_text(), " 4720 ")) << grid_of(screen).selected_text();
    screen.click(*shell);
    EXPECT_TRUE(test::contains(grid_of(screen).row_text(0), "[4720]")) << grid_of(screen).row_text(0);
    press(screen, "t");
    for (int i = 0; i < 2; ++i)
        screen.click({.what = Click::What::Row, .rank = 1});
    EXPECT_TRUE(test::contains(grid_of(screen).row_text(kShown.rows - 1), "Esc back")) << grid_of(screen).text();
}

TEST_F(Keys, AClickOnAHeadingSortsAndASecondOneReverses) {
    LiveScreen screen = test::family_screen({});
    const auto sorted = [&](std::string_view by) { return test::contains(grid_of(screen).text(), by); };
    for (const char *const heading :
         {"GROWTH/s", "PEAK", "LAG kB", "THREADS", "UPDATES/s", "VERDICT", "USER", "COMMAND", "EXACT"}) {
        const auto click = click_on(grid_of(screen), heading, 6);
        ASSERT_TRUE(click) << heading;
        screen.click(*click);
        EXPECT_TRUE(sorted("sorted by ")) << heading;
        EXPECT_FALSE(sorted(", reversed")) << heading;
        screen.click(*click);
        EXPECT_TRUE(sorted(", reversed")) << heading;
    }
    press(screen, "\nt");
    for (const auto &[heading, sort] : {std::pair{"FAULTS", "faults"}, {"COMM ", "name"}, {"NET", "net"}}) {
        const auto click = click_on(grid_of(screen), heading, 5);
        ASSERT_TRUE(click) << heading;
        screen.click(*click);
        EXPECT_TRUE(sorted(std::string("sorted by ") + sort)) << grid_of(screen).text();
    }
}

TEST_F(Keys, TheListOfTopTakesClicks) {
    TopScreen screen(milliseconds(1000), {}, TopSort::Lag);
    screen.take(test::top_table());
    const auto grid = [&] { return screen.draw(kShown); };
    screen.click(*click_on(grid(), "EXACT", 3));
    EXPECT_TRUE(test::contains(grid().text(), "sorted by exact")) << grid().text();
    screen.click(*click_on(grid(), "EXACT", 3));
    EXPECT_TRUE(test::contains(grid().text(), "sorted by exact, reversed"));
    const Click row{.what = Click::What::Row, .rank = 2};
    EXPECT_FALSE(screen.click(row));
    EXPECT_NE(grid().selected_text(), "");
    const auto opened = screen.click(row);
    EXPECT_TRUE(opened && std::holds_alternative<OpenLive>(*opened));
    EXPECT_FALSE(screen.click({.what = Click::What::Row, .rank = 1'000}));
}

TEST_F(Keys, AClickOnTheBarOfAReplayGoesToThatTime) {
    LiveScreen screen = test::family_screen({});
    using Mark = Playback::Mark;
    screen.take(Playback{20'000'000'000,
                         40'000'000'000,
                         2,
                         true,
                         {{10'000'000'000, Mark::What::Loss}, {30'000'000'000, Mark::What::Peak}}});
    const int row = kShown.rows - 3;
    const std::string bar = grid_of(screen).row_text(row);
    EXPECT_TRUE(bar.starts_with(" 20.0 s ")) << bar;
    EXPECT_TRUE(test::contains(bar, " 40.0 s  2")) << bar;
    EXPECT_TRUE(test::contains(bar, "!")) << bar;
    std::vector<double> parts;
    for (int column = 0; column < kShown.columns; ++column) {
        const auto click = grid_of(screen).click_at(row, column);
        if (!click) continue;
        const auto intent = screen.click(*click);
        ASSERT_TRUE(intent && std::holds_alternative<Play>(*intent));
        EXPECT_EQ(std::get<Play>(*intent).what, Play::What::SeekTo);
        parts.push_back(std::get<Play>(*intent).amount);
    }
    ASSERT_GT(parts.size(), 80U);
    EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
    EXPECT_EQ(parts.front(), 0);
    EXPECT_EQ(parts.back(), 1);
    press(screen, "w");
    EXPECT_FALSE(grid_of(screen).click_at(row, 40)) << "a notice has its place";
}

TEST_F(Keys, AnExecDoesNotHideThePeakOnTheBarOfAReplay) {
    LiveScreen screen = test::family_screen({});
    using Mark = Playback::Mark;
    const std::uint64_t there = 30'000'000'000;
    screen.take(Playback{20'000'000'000, 40'000'000'000, 1, true, {{there, Mark::What::Peak}}});
    const std::string bar = grid_of(screen).row_text(kShown.rows - 3);
    EXPECT_TRUE(test::contains(bar, "\u25B2")) << bar;
    screen.take(
        Playback{20'000'000'000, 40'000'000'000, 1, true, {{there, Mark::What::Peak}, {there, Mark::What::Exec}}});
    EXPECT_EQ(grid_of(screen).row_text(kShown.rows - 3), bar);
}

TEST_F(Keys, CopyTheSelectedRow) {
    LiveScreen screen = test::family_screen({});
    press(screen, "\x01");
    const auto intent = press(screen, "y");
    ASSERT_TRUE(intent && std::holds_alternative<Copy>(*intent));
    const Grid grid = screen.draw(kShown, milliseconds(0));
    const std::string row = grid.selected_text();
    EXPECT_NE(row, "");
    EXPECT_NE(grid.text().find(row), std::string::npos);
    EXPECT_EQ(Grid(kShown).selected_text(), "");
}

}  // namespace
}  // namespace rsslag::screen
