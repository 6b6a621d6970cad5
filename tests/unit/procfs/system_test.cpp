// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/procfs/system.h"

#include <gtest/gtest.h>

#include "golden.h"

namespace rsslag::procfs {
namespace {

using core::Kilobytes;
using test::refused;

TEST(ParseMeminfo, ReadsTheFewLinesThatAreNeeded) {
    const auto info = parse_meminfo(
        "MemTotal:       24683932 kB\nMemFree:        23000000 kB\nMemAvailable:   23500000 kB\nHugePages_Total:       "
        "0\n");
    ASSERT_TRUE(info.ok()) << info.error().what;
    EXPECT_EQ(info->total, Kilobytes{24683932});
    EXPECT_EQ(info->free, Kilobytes{23000000});
    EXPECT_EQ(info->available, Kilobytes{23500000});
    EXPECT_FALSE(info->swap_total);
}

TEST(ParseMeminfo, RefusesWhatIsCutOrTwice) {
    EXPECT_TRUE(refused(parse_meminfo(""), "empty"));
    EXPECT_TRUE(refused(parse_meminfo("MemTotal: 1 kB"), "cut off"));
    EXPECT_TRUE(refused(parse_meminfo("MemFree: 1 kB\n"), "no MemTotal"));
    EXPECT_TRUE(refused(parse_meminfo("MemTotal: 1 kB\nMemTotal: 1 kB\n"), "twice"));
    EXPECT_TRUE(refused(parse_meminfo("MemTotal: 1\n"), "not in kB"));
}

TEST(ParseMountinfo, WritesDevicesAsSmapsDoes) {
    const auto mounts = parse_mountinfo(
        "36 35 259:16 / /mnt\\040two rw,noatime shared:1 master:2 - ext4 /dev/root rw\n"
        "37 36 0:45 / /dev/shm rw - tmpfs - rw\n");
    ASSERT_TRUE(mounts.ok()) << mounts.error().what;
    ASSERT_EQ(mounts->size(), 2U);
    EXPECT_EQ(mounts->at(0).device, "103:10");
    EXPECT_EQ(mounts->at(0).where, "/mnt\\040two");
    EXPECT_EQ(mounts->at(0).type, "ext4");
    EXPECT_EQ(mounts->at(0).options, "rw");
    EXPECT_EQ(mounts->at(1).device, "00:2d");
    EXPECT_EQ(mounts->at(1).type, "tmpfs");
    EXPECT_EQ(mounts->at(1).id, 37U);
    EXPECT_EQ(mounts->at(1).source, "-");
}

TEST(ParseMountinfo, RefusesWhatIsNoMount) {
    EXPECT_TRUE(parse_mountinfo("").ok());
    EXPECT_TRUE(refused(parse_mountinfo("36 35 0:45 / / rw - tmpfs - rw"), "cut off"));
    EXPECT_TRUE(refused(parse_mountinfo("36 35 0;45 / / rw - tmpfs - rw\n"), "line 1"));
    EXPECT_TRUE(refused(parse_mountinfo("36 35 0:45 / / rw\n"), "line 1"));
    EXPECT_TRUE(refused(parse_mountinfo("x 35 0:45 / / rw - tmpfs - rw\n"), "line 1"));
}

TEST(ParseCgroup, FindsTheUnifiedHierarchy) {
    EXPECT_EQ(parse_cgroup("3:cpu:/old\n0::/system.slice/x:y\n"), "/system.slice/x:y");
    EXPECT_EQ(parse_cgroup("3:cpu:/old\n"), std::nullopt);
}

}  // namespace
}  // namespace rsslag::procfs
