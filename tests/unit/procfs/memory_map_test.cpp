// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/memory_map.h"

#include <gtest/gtest.h>

#include <map>

#include "golden.h"

namespace rsslag::procfs {
namespace {

using core::Kilobytes;

struct Like {
    std::string name;
    std::string perms = "rw-p";
    std::string device = "00:00";
    std::uint64_t inode = 0;
    std::string flags = "rd wr mr mw me ac";
};

Mapping mapping(const Like &like, std::int64_t size, std::int64_t rss, std::int64_t anon) {
    Mapping mapping;
    mapping.name = like.name;
    mapping.perms = like.perms;
    mapping.device = like.device;
    mapping.inode = like.inode;
    mapping.vm_flags = like.flags;
    mapping.size = {size};
    mapping.fields.rss = Kilobytes{rss};
    mapping.fields.anonymous = Kilobytes{anon};
    mapping.fields.private_dirty = Kilobytes{anon};
    mapping.fields.private_clean = Kilobytes{rss - anon};
    return mapping;
}

const Devices kDevices{"00:01", {"00:2d"}, {"08:01"}};

TEST(Backing, FollowsFromTheDeviceNotFromTheName) {
    const auto backing = [](const Like &like) { return backing_of(mapping(like, 4, 0, 0), kDevices); };
    EXPECT_EQ(backing({""}), Backing::Anonymous);
    EXPECT_EQ(backing({"[heap]"}), Backing::Anonymous);
    EXPECT_EQ(backing({"[anon:/dev/zero]"}), Backing::Anonymous);
    EXPECT_EQ(backing({"[vdso]", "r-xp"}), Backing::Kernel);
    EXPECT_EQ(backing({"/dev/zero (deleted)", "rw-s", "00:01", 12}), Backing::Shmem);
    EXPECT_EQ(backing({"/SYSV00000000 (deleted)", "rw-s", "00:01", 0}), Backing::Shmem);
    EXPECT_EQ(backing({"/dev/zero (deleted)", "rw-s", "08:01", 12}), Backing::File);
    EXPECT_EQ(backing({"/dev/shm/x", "rw-s", "00:2d", 12}), Backing::Shmem);
    EXPECT_EQ(backing({"[vdso]", "r-xp", "08:01", 7}), Backing::File) << "a file may have this name";
    EXPECT_EQ(backing({"/elsewhere", "rw-s", "00:99", 12}), Backing::Unknown);
    EXPECT_EQ(backing({"/anon_hugepage (deleted)", "rw-p", "00:0e", 12, "rd wr ht"}), Backing::Hugetlb);
    EXPECT_EQ(backing({"/x", "rw-p", "08:01", 12, "rd sh tx"}), Backing::File)
        << "flags must be compared as whole words";
}

TEST(Backing, OfADeviceFileIsNotThatOfItsFileSystem) {
    Devices devices = kDevices;
    devices.block_nodes.emplace("00:2d", 94);
    devices.character_nodes.emplace("00:2d", 95);
    const auto backing = [&](std::uint64_t inode) {
        return backing_of(mapping({"/dev/x", "r--s", "00:2d", inode}, 4, 0, 0), devices);
    };
    EXPECT_EQ(backing(94), Backing::File);
    EXPECT_EQ(backing(95), Backing::File);
    EXPECT_EQ(backing(96), Backing::Shmem);
    const auto all = quadrants({mapping({"/dev/loop0", "r--s", "00:2d", 94}, 8192, 8192, 0)}, devices);
    EXPECT_EQ(all[Quadrant::SharedFile].file, Kilobytes{8192});
    EXPECT_EQ(all[Quadrant::SharedFile].shmem, Kilobytes{0});
}

TEST(Quadrants, PutEachPageWhereItsMemberIs) {
    const std::vector<Mapping> mappings{
        mapping({"[heap]"}, 100, 40, 40),
        mapping({"/lib/x.so", "rw-p", "08:01", 12}, 60, 50, 20),
        mapping({"/dev/zero (deleted)", "rw-s", "00:01", 13}, 512, 300, 0),
        mapping({"/dev/shm/x", "rw-s", "00:2d", 14}, 16, 8, 0),
        mapping({"/data", "r--s", "08:01", 15}, 24, 12, 0),
        mapping({"[vdso]", "r-xp"}, 8, 4, 0),
        mapping({"/gone", "r--p", "00:99", 16}, 8, 6, 2),
        mapping({"[vsyscall]", "--xp"}, 4, 0, 0),
    };
    const Quadrants all = quadrants(mappings, kDevices);
    EXPECT_EQ(all[Quadrant::PrivateAnonymous].anon, Kilobytes{40});
    EXPECT_EQ(all[Quadrant::PrivateFile].anon, Kilobytes{22});
    EXPECT_EQ(all[Quadrant::PrivateFile].file, Kilobytes{30});
    EXPECT_EQ(all[Quadrant::PrivateFile].unplaced, Kilobytes{4});
    EXPECT_EQ(all[Quadrant::SharedAnonymous].shmem, Kilobytes{300});
    EXPECT_EQ(all[Quadrant::SharedFile].shmem, Kilobytes{8});
    EXPECT_EQ(all[Quadrant::SharedFile].file, Kilobytes{12});
    EXPECT_EQ(all[Quadrant::Kernel].file, Kilobytes{4});
    ASSERT_EQ(all.unplaced.size(), 1U);
    EXPECT_EQ(all.unplaced[0].name, "/gone");
    const QuadrantSum total = all.total();
    EXPECT_EQ(total.mappings, 7U);
    EXPECT_EQ(total.resident, total.anon + total.file + total.shmem + total.unplaced);
    EXPECT_EQ(total.resident, Kilobytes{420});
}

TEST(Quadrants, LearnOfADeviceOutOfSightWhatTheCounterLeavesOpen) {
    const std::vector<Mapping> mappings{mapping({"/dev/shm/x", "rw-s", "00:2d", 14}, 16, 8, 0),
                                        mapping({"/lower/x", "r--p", "00:99", 16}, 8, 6, 2)};
    Devices devices = kDevices;
    learn(devices, mappings, Kilobytes{10});
    EXPECT_EQ(quadrants(mappings, devices).unplaced.size(), 1U)
        << "the remaining 2 kB may be part of any unplaced pages";
    learn(devices, mappings, Kilobytes{8});
    EXPECT_EQ(quadrants(mappings, devices)[Quadrant::PrivateFile].file, Kilobytes{4});
    devices = kDevices;
    learn(devices, mappings, Kilobytes{12});
    EXPECT_EQ(quadrants(mappings, devices)[Quadrant::PrivateFile].shmem, Kilobytes{4});
}

TEST(Quadrants, LearnOfAnOverlayThatItsPagesAreThoseOfATmpfs) {
    const std::vector<Mapping> mappings{mapping({"/dev/shm/x", "rw-s", "00:2d", 14}, 16, 8, 0),
                                        mapping({"/merged/x", "r--s", "00:98", 16}, 100, 60, 0),
                                        mapping({"/merged2/x", "r--s", "00:99", 17}, 100, 40, 0)};
    Devices devices = kDevices;
    for (const char *const overlay : {"00:98", "00:99"}) {
        devices.others.insert(overlay);
        devices.stacked.insert(overlay);
    }
    Devices disk = devices;
    learn(disk, mappings, Kilobytes{8});
    EXPECT_EQ(quadrants(mappings, disk)[Quadrant::SharedFile].file, Kilobytes{100});
    Devices one = devices;
    learn(one, mappings, Kilobytes{68});
    EXPECT_EQ(quadrants(mappings, one)[Quadrant::SharedFile].shmem, Kilobytes{68});
    EXPECT_EQ(sums(mappings, one).droppable_file, Kilobytes{40});
    learn(devices, mappings, Kilobytes{108});
    EXPECT_EQ(quadrants(mappings, devices)[Quadrant::SharedFile].shmem, Kilobytes{108});
    EXPECT_EQ(sums(mappings, devices).droppable_file, Kilobytes{0});
}

TEST(MapSums, TellWhatReclaimCanTakeAndWhatIsBesideRss) {
    std::vector<Mapping> mappings{mapping({"/lib/x.so", "r-xp", "08:01", 12}, 60, 50, 20),
                                  mapping({"/lib/locked", "r-xp", "08:01", 13, "rd ex lo"}, 60, 50, 0),
                                  mapping({"/dev/shm/x", "r--p", "00:2d", 14}, 16, 8, 0), mapping({""}, 100, 40, 30)};
    mappings.back().fields.lazy_free = Kilobytes{5};
    const MapSums all = sums(mappings, kDevices);
    EXPECT_EQ(all.droppable_file, Kilobytes{30});
    EXPECT_EQ(all.droppable_anon, Kilobytes{5});
    EXPECT_EQ(all.droppable, Kilobytes{35});
    EXPECT_EQ(all.rss, all.shared_total() + all.private_total());
    EXPECT_EQ(all.data_rss, Kilobytes{40});
}

TEST(MapSums, SetHugetlbPagesBesideRss) {
    const auto mappings = parse_smaps(
        "7f0000000000-7f0000400000 rw-p 00000000 00:0f 4711                       /anon_hugepage (deleted)\n"
        "Size:               4096 kB\nRss:                   0 kB\nShared_Hugetlb:        0 kB\n"
        "Private_Hugetlb:    4096 kB\nVmFlags: rd wr mr mw me de ht\n"
        "7f0001000000-7f0001200000 rw-s 00000000 00:31 4712                       /dev/hugepages/x\n"
        "Size:               2048 kB\nRss:                   0 kB\nShared_Hugetlb:     2048 kB\n"
        "Private_Hugetlb:       0 kB\nVmFlags: rd wr sh mr mw me ms de ht\n");
    ASSERT_TRUE(mappings.ok()) << mappings.error().what;
    const MapSums all = sums(*mappings, kDevices);
    EXPECT_EQ(all.private_hugetlb, Kilobytes{4096});
    EXPECT_EQ(all.shared_hugetlb, Kilobytes{2048});
    EXPECT_EQ(all.hugetlb, Kilobytes{6144});
    EXPECT_EQ(all.rss, Kilobytes{0});
    EXPECT_EQ(all.droppable, Kilobytes{0});
}

TEST(Groups, SetWritableSegmentsOfAFileApart) {
    const std::vector<Mapping> mappings{mapping({"/lib/x.so", "r--p", "08:01", 12}, 8, 8, 0),
                                        mapping({"/lib/x.so", "r-xp", "08:01", 12}, 60, 50, 0),
                                        mapping({"/lib/x.so", "rw-p", "08:01", 12}, 4, 4, 4),
                                        mapping({"/lib/x.so", "rw-s", "08:01", 12}, 4, 4, 0),
                                        mapping({""}, 80, 70, 70),
                                        mapping({""}, 8, 8, 8)};
    const auto all = groups(mappings, kDevices);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].name, "");
    EXPECT_EQ(all[0].mappings, 2U);
    EXPECT_EQ(all[0].rss, Kilobytes{78});
    EXPECT_EQ(all[1].perms, "r-xp");
    EXPECT_FALSE(all[1].written_file);
    EXPECT_TRUE(all[2].written_file);
    EXPECT_EQ(all[2].dirty, Kilobytes{4});
    EXPECT_TRUE(all[3].shared);
}

TEST(Groups, SplitAnonymousMemoryByWhatItIsLikelyToBe) {
    constexpr std::uint64_t kArena = std::uint64_t{64} << 20;
    std::vector<Mapping> mappings{mapping({""}, 132, 8, 8),    mapping({"", "---p"}, 65404, 0, 0),
                                  mapping({""}, 8192, 20, 20), mapping({"", "rwxp"}, 64, 4, 4),
                                  mapping({""}, 40, 40, 40),   mapping({""}, 16, 16, 16)};
    std::uint64_t at = kArena;
    for (Mapping &each : mappings) {
        each.start = at;
        each.end = at += static_cast<std::uint64_t>(each.size.n) * 1024;
    }
    recognise(mappings, {{7, mappings[2].end - 4096}, {8, mappings[4].end - 64}, {9, mappings[4].end - 128}});
    std::map<std::string, Kilobytes> rss;
    for (const MapGroup &group : groups(mappings, kDevices))
        rss[group.name] = group.rss;
    EXPECT_EQ(rss, (std::map<std::string, Kilobytes>{{"glibc arena ~", Kilobytes{8}},
                                                     {"stack of thread 7 ~", Kilobytes{20}},
                                                     {"JIT ~", Kilobytes{4}},
                                                     {"", Kilobytes{56}}}));
    EXPECT_EQ(mappings[4].recognised, "") << "two stack pointers are in the mapping";
}

TEST(Changes, NameWhatGrewCameAndWent) {
    const auto before =
        groups({mapping({"[heap]"}, 100, 40, 40), mapping({"same"}, 8, 8, 8), mapping({"old"}, 8, 4, 4)}, kDevices);
    const auto after =
        groups({mapping({"[heap]"}, 100, 90, 90), mapping({"same"}, 8, 8, 8), mapping({"new"}, 8, 8, 8)}, kDevices);
    const auto changed = changes(before, after);
    ASSERT_EQ(changed.size(), 3U);
    EXPECT_EQ(changed[0].either().name, "[heap]");
    EXPECT_EQ(changed[0].grown(&MapGroup::rss), Kilobytes{50});
    EXPECT_EQ(changed[1].either().name, "new");
    EXPECT_FALSE(changed[1].before);
    EXPECT_EQ(changed[2].grown(&MapGroup::rss), Kilobytes{-4});
    EXPECT_FALSE(changed[2].after);
    EXPECT_TRUE(changes(after, after).empty());
}

TEST(Quadrants, SumUpToWhatEveryKernelPrinted) {
    for (const char *kernel : {"5.10", "6.1", "6.12", "6.18", "7.x"}) {
        const auto mappings = parse_smaps(test::golden(std::string(kernel) + "/smaps"));
        ASSERT_TRUE(mappings.ok()) << kernel;
        const QuadrantSum total = quadrants(*mappings, kDevices).total();
        EXPECT_EQ(total.resident, sum(*mappings).rss) << kernel;
        EXPECT_EQ(total.anon, sum(*mappings).anonymous) << kernel;
    }
}

}  // namespace
}  // namespace rsslag::procfs
