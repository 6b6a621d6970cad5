// SPDX-License-Identifier: BSD-2-Clause
#include "system/diagnosis.h"

#include <gtest/gtest.h>

#include <string>

namespace rsslag::system {
namespace {

std::string proc_mount(const std::string &options) {
    return "22 28 0:20 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw" + options + "\n";
}

const std::string kOthers =
    "28 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "21 28 0:19 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
    "40 22 0:35 / /proc/sys/fs/binfmt_misc rw,relatime shared:16 - autofs systemd-1 rw,fd=30\n";

TEST(HidepidOf, IsOffWhereTheOptionIsAbsent) {
    EXPECT_EQ(hidepid_of(kOthers + proc_mount("")), 0);
    EXPECT_EQ(hidepid_of(proc_mount(",gid=4") + kOthers), 0);
}

TEST(HidepidOf, KnowsNumbersAndWords) {
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=0")), 0);
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=1")), 1);
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=2")), 2);
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=4")), 4);
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=off")), 0);
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=noaccess")), 1);
    EXPECT_EQ(hidepid_of(proc_mount(",gid=4,hidepid=invisible,subset=pid")), 2);
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=ptraceable")), 4);
}

TEST(HidepidOf, IsUnknownWhereNoProcIsMounted) {
    EXPECT_EQ(hidepid_of(""), std::nullopt);
    EXPECT_EQ(hidepid_of(kOthers), std::nullopt);
    EXPECT_EQ(hidepid_of("50 28 0:20 / /mnt/proc rw - proc proc rw,hidepid=2\n"), std::nullopt);
    EXPECT_EQ(hidepid_of("50 28 0:20 / /proc rw - tmpfs tmpfs rw,hidepid=2\n"), std::nullopt);
}

TEST(HidepidOf, GoesByTheLastMountWhichCoversTheOthers) {
    EXPECT_EQ(hidepid_of(proc_mount(",hidepid=2") + proc_mount("")), 0);
    EXPECT_EQ(hidepid_of(proc_mount("") + proc_mount(",hidepid=2")), 2);
}

TEST(HidepidOf, TakesALastLineWithoutANewline) {
    const std::string text = proc_mount(",hidepid=1");
    EXPECT_EQ(hidepid_of(std::string_view(text).substr(0, text.size() - 1)), 1);
}

}  // namespace
}  // namespace rsslag::system
