// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/stack_pointer.h"

#include <gtest/gtest.h>

namespace rsslag::procfs {
namespace {

TEST(ParseStackPointer, IsTheLastButOneOfASleepingThread) {
    EXPECT_EQ(parse_stack_pointer("202 0x7f8c 0x189 0x0 0x0 0x0 0xffffffff 0x7f8c5dbfe9c0 0x7f8c5e4a2f16\n"),
              0x7f8c5dbfe9c0U);
    EXPECT_EQ(parse_stack_pointer("-1 0x7ffd3c1f2a98 0x7f8c5e4a2f16\n"), 0x7ffd3c1f2a98U)
        << "the thread is blocked outside of a system call";
}

TEST(ParseStackPointer, IsNotKnownOfOneThatRuns) {
    for (const char *text : {"running\n", "", "\n", "0x1\n", "0 0x1", "0 1 0x2\n", "0 0x 0x2\n", "0 0x1g 0x2\n",
                             "0 0x10000000000000000 0x2\n", "0 -0x1 0x2\n"})
        EXPECT_EQ(parse_stack_pointer(text), std::nullopt) << text;
}

}  // namespace
}  // namespace rsslag::procfs
