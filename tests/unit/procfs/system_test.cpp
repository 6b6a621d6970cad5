// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/system.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

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

TEST(ParseMeminfo, ReadsWhatTheKernelKeepsForItself) {
    const auto info = parse_meminfo(
        "MemTotal: 9 kB\nCached: 1 kB\nSwapCached: 2 kB\nSReclaimable: 3 kB\nVmallocUsed: 4 kB\nBalloon: 5 kB\n"
        "Active: 8 kB\nActive(anon): 7 kB\nInactive(anon): 10 kB\nUnevictable: 11 kB\n"
        "HugePages_Total:       7\nHugetlb: 6 kB\n");
    ASSERT_TRUE(info.ok()) << info.error().what;
    EXPECT_EQ(info->cached, Kilobytes{1});
    EXPECT_EQ(info->swap_cached, Kilobytes{2});
    EXPECT_EQ(info->slab_reclaimable, Kilobytes{3});
    EXPECT_EQ(info->vmalloc_used, Kilobytes{4});
    EXPECT_EQ(info->balloon, Kilobytes{5});
    EXPECT_EQ(info->hugetlb, Kilobytes{6});
    EXPECT_EQ(info->active_anon, Kilobytes{7});
    EXPECT_EQ(info->inactive_anon, Kilobytes{10});
    EXPECT_EQ(info->unevictable, Kilobytes{11});
    EXPECT_FALSE(info->per_cpu);
}

TEST(ParseVmstat, ReadsWhatMeminfoDoesNotHave) {
    const auto stat = parse_vmstat("nr_free_pages 7\nnr_zspages 12\nballoon_inflate 9\nballoon_deflate 4\n");
    ASSERT_TRUE(stat.ok()) << stat.error().what;
    EXPECT_EQ(stat->zspages, core::Pages{12});
    EXPECT_EQ(stat->balloon_inflate, core::Pages{9});
    EXPECT_EQ(stat->balloon_deflate, core::Pages{4});
    EXPECT_FALSE(stat->balloon_pages);
    EXPECT_TRUE(refused(parse_vmstat("nr_zspages 12"), "cut off"));
    EXPECT_TRUE(refused(parse_vmstat("nr_zspages x\n"), "line 1"));
    EXPECT_TRUE(refused(parse_vmstat("nr_zspages 1\nnr_zspages 1\n"), "twice"));
    EXPECT_TRUE(refused(parse_vmstat("nr_zspages 18446744073709551615\n"), "nr_zspages"));
}

TEST(ParseZoneinfo, SumsUpTheListsOfAllCpus) {
    const auto pages = parse_zoneinfo(
        "Node 0, zone      DMA\n  per-node stats\n      nr_free_pages 9\n  pagesets\n    cpu: 0\n              count:  "
        "  "
        "3\n              high:     378\n    cpu: 1\n              count:    40\n");
    ASSERT_TRUE(pages.ok()) << pages.error().what;
    EXPECT_EQ(*pages, core::Pages{43});
    EXPECT_TRUE(refused(parse_zoneinfo("Node 0, zone      DMA\n"), "no count"));
    EXPECT_TRUE(refused(parse_zoneinfo("count: -1\n"), "line 1"));
}

TEST(KernelTypes, FindsAWholeNameWhereverItLies) {
    const auto path = testing::TempDir() + "/rsslag-types";
    const auto found = [&](std::size_t before, const char *name) {
        std::ofstream(path, std::ios::binary) << std::string(before, 'x') << '\0' << name << '\0' << "other" << '\0';
        return kernel_types_name("stack_vm_area", path);
    };
    for (const std::size_t before : {std::size_t{0}, std::size_t{65'530}, std::size_t{65'535}, std::size_t{200'000}})
        EXPECT_EQ(found(before, "stack_vm_area"), true) << before;
    EXPECT_EQ(found(10, "task_stack_vm_area"), false);
    EXPECT_EQ(found(10, "stack_vm_area_struct"), false);
    EXPECT_EQ(std::remove(path.c_str()), 0);
    EXPECT_EQ(kernel_types_name("stack_vm_area", path), std::nullopt) << "there is no such file";
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
    EXPECT_EQ(mounts->at(1).parent, 36U);
    EXPECT_EQ(mounts->at(1).source, "-");
}

TEST(ParseMountinfo, RefusesWhatIsNoMount) {
    EXPECT_TRUE(parse_mountinfo("").ok());
    EXPECT_TRUE(refused(parse_mountinfo("36 35 0:45 / / rw - tmpfs - rw"), "cut off"));
    EXPECT_TRUE(refused(parse_mountinfo("36 35 0;45 / / rw - tmpfs - rw\n"), "line 1"));
    EXPECT_TRUE(refused(parse_mountinfo("36 35 0:45 / / rw\n"), "line 1"));
    EXPECT_TRUE(refused(parse_mountinfo("x 35 0:45 / / rw - tmpfs - rw\n"), "line 1"));
    EXPECT_TRUE(refused(parse_mountinfo("36 x 0:45 / / rw - tmpfs - rw\n"), "line 1"));
}

TEST(ParseCgroup, FindsTheUnifiedHierarchy) {
    EXPECT_EQ(parse_cgroup("3:cpu:/old\n0::/system.slice/x:y\n"), "/system.slice/x:y");
    EXPECT_EQ(parse_cgroup("3:cpu:/old\n"), std::nullopt);
}

}  // namespace
}  // namespace rsslag::procfs
