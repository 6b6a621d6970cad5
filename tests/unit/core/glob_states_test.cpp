// SPDX-License-Identifier: BSD-2-Clause
#include "core/glob_states.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include "dice.h"

namespace rsslag::core::test {
namespace {

void expect_as_fnmatch(const std::string &glob, const std::string &name) {
    const auto states = glob_states({glob});
    ASSERT_TRUE(states.has_value()) << glob;
    EXPECT_EQ(states->match(name), fnmatch(glob.c_str(), name.c_str(), 0) == 0) << glob << " with " << name;
}

TEST(GlobStates, MatchWhatFnmatchMatches) {
    for (const char *glob : {"nginx", "ng*", "*", "", "**x", "n?inx", "[a-n]ginx", "[!a-n]*", "[]x]*", "[[:digit:]]*",
                             "\\*", "*worker*", "[^-]*", "[a\\]b]", "k*/?:*", "[[:alpha:]]?[[:upper:]x]"}) {
        for (const char *name :
             {"nginx", "ng",  "n", "",   "x",           "nxinx", "zginx", "]",           "]x",  "7up",
              "a[",    "a[b", "*", "**", "my-worker-3", "-x",    "b",     "kworker/0:1", "abX", "abx"}) {
            expect_as_fnmatch(glob, name);
        }
    }
}

TEST(GlobStates, MatchWhatFnmatchMatchesForRandomPatterns) {
    Dice dice(3);
    const std::string letters = "ab*?[]!-^:\\x";
    for (int i = 0; i < 20'000; ++i) {
        std::string glob, name;
        for (auto left = dice.between(0, 8); left > 0; --left)
            glob += letters[static_cast<std::size_t>(dice.between(0, static_cast<int>(letters.size()) - 1))];
        for (auto left = dice.between(0, 6); left > 0; --left)
            name += letters[static_cast<std::size_t>(dice.between(0, static_cast<int>(letters.size()) - 1))];
        if (const auto states = glob_states({glob})) expect_as_fnmatch(glob, name);
    }
}

TEST(GlobStates, AnyOfSeveralPatterns) {
    const auto states = glob_states({"nginx*", "*sql", "go?"});
    ASSERT_TRUE(states.has_value());
    for (const char *name : {"nginx", "nginx: worker", "mysql", "gob"})
        EXPECT_TRUE(states->match(name)) << name;
    for (const char *name : {"ngin", "sqlx", "go", "gobs", ""})
        EXPECT_FALSE(states->match(name)) << name;
}

TEST(GlobStates, AreNotHadOfWhatDoesNotFit) {
    EXPECT_FALSE(glob_states({}).has_value());
    EXPECT_FALSE(glob_states({std::string(64, 'a')}).has_value());
    EXPECT_TRUE(glob_states({std::string(63, 'a')}).has_value());
    EXPECT_FALSE(glob_states({std::string(40, 'a'), std::string(40, 'b')}).has_value());
    EXPECT_FALSE(glob_states({"na\xc3\xafve"}).has_value());
    EXPECT_FALSE(glob_states({"ends in \\"}).has_value());
    EXPECT_FALSE(glob_states({"a[b"}).has_value());
}

TEST(GlobStates, MatchNoByteBeyondAsciiButByAStar) {
    EXPECT_FALSE(glob_states({"?x"})->match("\xffx"));
    EXPECT_TRUE(glob_states({"*x"})->match("\xc3\xafx"));
}

}  // namespace
}  // namespace rsslag::core::test
