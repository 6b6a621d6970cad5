// SPDX-License-Identifier: BSD-2-Clause
#include "machine.h"

#include <gtest/gtest.h>

namespace rsslag::cli {
namespace {

TEST(CpusInList, IsTheHighestNumberPlusOne) {
    EXPECT_EQ(cpus_in_list("0"), 1);
    EXPECT_EQ(cpus_in_list("0-3"), 4);
    EXPECT_EQ(cpus_in_list("0-3,8"), 9);
    EXPECT_EQ(cpus_in_list("0,2-5,7"), 8);
    EXPECT_EQ(cpus_in_list("0-255"), 256);
}

TEST(CpusInList, EndsAtTheNewline) {
    EXPECT_EQ(cpus_in_list("0-1\n"), 2);
    EXPECT_EQ(cpus_in_list("0-1\n5"), 2);
}

TEST(CpusInList, IsZeroWhereThereIsNoList) {
    for (const char *text : {"", "\n", "abc", "x0", "0x1", "0 1", "0;1", "-", ",", "-1", "99999999999"})
        EXPECT_EQ(cpus_in_list(text), 0) << text;
}

TEST(CpusInList, ReadsNoFurtherThanItsView) {
    EXPECT_EQ(cpus_in_list(std::string_view("0-31", 3)), 4);
}

TEST(ThisHost, SaysOfItselfWhatEveryHostHas) {
    const Host host = this_host();
    EXPECT_GE(host.machine.cpus_online, 1);
    EXPECT_GE(host.machine.cpus_possible, host.machine.cpus_online);
    EXPECT_GE(host.machine.page_size.bytes, 4096);
    EXPECT_FALSE(host.kernel.empty());
    EXPECT_FALSE(host.arch.empty());
}

}  // namespace
}  // namespace rsslag::cli
