// SPDX-License-Identifier: BSD-2-Clause
#include "profile/lines.h"

#include <gtest/gtest.h>

#include <string>

namespace rsslag::profile {
namespace {

/// main calls parse, which calls itself, and evict. Two threads of PID 10, and one of PID 20.
Profile parsed() {
    Profile all;
    all.period = 64;
    all.frames = {{"parse", "/bin/x", {}, 1}, {"evict", "/bin/x", {}, 2}, {"main", "/bin/x", {}, 3}};
    all.stacks = {{{0, 0, 2}, core::StackEnd::Outermost},
                  {{1, 2}, core::StackEnd::Outermost},
                  {{0}, core::StackEnd::Cut},
                  {{}, core::StackEnd::NoCopy}};
    all.flows = {{0, Reason::PageFault, 10, 11, {256, 0, 200, 0, 4}},
                 {1, Reason::Madvise, 10, 12, {0, 96, 0, 0, 2}},
                 {2, Reason::PageFault, 10, 12, {32, 0, 32, 0, 1}},
                 {3, Reason::PageFault, 20, 20, {8, 0, 0, 0, 1}}};
    all.threads = {{10, 11, "x", {256, 0}, {}}, {10, 12, "y", {32, 99}, {0, 3}}, {20, 20, "z", {8, 0}, {}}};
    return all;
}

std::string text(const std::vector<Line> &lines) {
    std::string text;
    for (const Line &line : lines)
        text += std::string(static_cast<std::size_t>(line.depth), ' ') + line.name + ' ' +
                std::to_string(line.all.came) + ' ' + std::to_string(line.all.went) + ' ' +
                std::to_string(line.self.size()) + ' ' + std::to_string(line.threads) + '\n';
    return text;
}

TEST(Lines, CountAFunctionOnceForAStack) {
    EXPECT_EQ(text(lines(parsed(), By::Function)),
              "main 256 96 0 2\n"
              "parse 288 0 288 2\n"
              "evict 0 96 96 1\n"
              "(no stack) 8 0 8 1\n"
              "(no sample) 0 3 3 1\n");
}

TEST(Lines, OfAFileWithoutDebugInformationCountForTheModule) {
    Profile all = parsed();
    all.frames[0].source = "parse.c";
    all.frames[1].source = "cache.c";
    EXPECT_EQ(text(lines(all, By::File)),
              "/bin/x 256 96 0 2\n"
              "parse.c 288 0 288 2\n"
              "cache.c 0 96 96 1\n"
              "(no stack) 8 0 8 1\n"
              "(no sample) 0 3 3 1\n");
}

TEST(Lines, AreOfAProcessOrAThread) {
    EXPECT_EQ(text(lines(parsed(), By::Function, {20, 0})), "(no stack) 8 0 8 1\n");
    EXPECT_EQ(text(lines(parsed(), By::Function, {10, 12})),
              "evict 0 96 96 1\n"
              "main 0 96 0 1\n"
              "parse 32 0 32 1\n"
              "(no sample) 0 3 3 1\n");
    EXPECT_EQ(text(lines(parsed(), By::Thread, {10, 11})), "11 x 256 0 256 1\n");
}

TEST(Tree, HasEachFunctionBelowItsCallerTheLargestFirst) {
    EXPECT_EQ(text(tree(parsed())),
              "main 256 96 0 2\n"
              " parse 256 0 0 1\n"
              "  parse 256 0 256 1\n"
              " evict 0 96 0 1\n"
              "  [madvise] 0 96 96 1\n"
              "(cut) 32 0 0 1\n"
              " parse 32 0 32 1\n"
              "(no_copy) 8 0 8 1\n"
              "(no sample) 0 3 3 1\n");
}

TEST(Tree, IsOfAThread) {
    EXPECT_EQ(text(tree(parsed(), {10, 11})),
              "main 256 0 0 1\n"
              " parse 256 0 0 1\n"
              "  parse 256 0 256 1\n");
}

}  // namespace
}  // namespace rsslag::profile
