// SPDX-License-Identifier: BSD-2-Clause
#include "documents/grid.h"

#include <gtest/gtest.h>

#include <clocale>

namespace rsslag::documents {
namespace {

class Grids : public testing::Test {
  protected:
    void SetUp() override {
        if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) GTEST_SKIP() << "the locale C.UTF-8 is not installed";
    }
};

TEST_F(Grids, CutWhatLiesOutside) {
    Grid grid({2, 4});
    EXPECT_EQ(grid.put(0, -2, "abcdefgh"), 4);
    grid.put(5, 0, "x");
    grid.put(-1, 0, "x");
    EXPECT_EQ(grid.text(), "cdef\n    \n");
}

TEST_F(Grids, NeverShowHalfAWideCharacter) {
    Grid grid({1, 5});
    grid.put(0, 0, "a日b本");
    EXPECT_EQ(grid.text(), "a日b \n");
    grid.put(0, 2, "x");
    EXPECT_EQ(grid.text(), "a xb \n");
    grid.put(0, 1, "日");
    grid.put(0, 1, "y");
    EXPECT_EQ(grid.text(), "ay b \n");
    grid.put(0, -1, "日z");
    EXPECT_EQ(grid.row_text(0).substr(0, 2), " z");
}

TEST_F(Grids, ShowAQuestionMarkForWhatHasNoWidth) {
    Grid grid({1, 8});
    grid.put(0, 0, "\x1b\u0301\u202E\xff\n");
    EXPECT_EQ(grid.text(), "?????   \n");
    EXPECT_EQ(cells("\u0301"), 1);
}

TEST_F(Grids, FillFieldsToTheirEnd) {
    Grid grid({1, 8});
    grid.fill(0, 0, 8, U'.');
    grid.put_field(0, 1, 4, "ab");
    EXPECT_EQ(grid.text(), ".ab ....\n");
    grid.put_field(0, 1, 4, "a日本");
    EXPECT_EQ(grid.text(), ".a日....\n");
    grid.put_right(0, 8, "12");
    EXPECT_EQ(grid.text(), ".a日..12\n");
}

TEST_F(Grids, HaveACellHoweverSmall) {
    EXPECT_EQ(Grid({0, -3}).size(), (Size{1, 1}));
}

}  // namespace
}  // namespace rsslag::documents
