// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/memory_use.h"

#include <gtest/gtest.h>

#include <utility>

namespace rsslag::procfs {
namespace {

using core::Kilobytes;

User user(int pid, const std::string &program, std::int64_t dirty, std::int64_t pss) {
    User user;
    user.pids = {pid};
    user.program = program;
    user.use.private_dirty = {dirty};
    user.use.pss = {pss};
    return user;
}

std::string program(const User &user) {
    return user.program;
}

TEST(MemoryUse, GroupsCountEachProcessOnce) {
    const std::vector<User> users{user(3, "/a", 10, 15), user(1, "/b", 100, 120), user(2, "/a", 30, 40)};
    const auto all = grouped(users, program);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].name, "/b");
    EXPECT_EQ(all[1].processes, 2U);
    EXPECT_EQ(all[1].pids, (std::vector<int>{2, 3}));
    EXPECT_EQ(all[1].use.pss, Kilobytes{55});
    EXPECT_EQ(all[1].use.shared(), Kilobytes{15});
    EXPECT_EQ(total(users).pss, Kilobytes{175});
}

TEST(MemoryUse, SwapIsTheShareIfTheKernelReportsIt) {
    SmapsFields sums;
    sums.swap = Kilobytes{100};
    EXPECT_EQ(use_of(sums).swap, Kilobytes{100});
    sums.swap_pss = Kilobytes{25};
    EXPECT_EQ(use_of(sums).swap, Kilobytes{25});
}

TEST(MemoryUse, PartsThatOneDoesNotTellTheSumDoesNotTell) {
    User result = user(1, "/a", 10, 15);
    result.parts = {Kilobytes{10}, Kilobytes{4}, Kilobytes{1}, {2048}, {4096}};
    EXPECT_EQ(total_parts({result, result}).anon, Kilobytes{20});
    EXPECT_EQ(total_parts({result, result}).shared_hugetlb, Kilobytes{8192});
    EXPECT_EQ(total_parts({result, user(2, "/a", 1, 1)}).anon, std::nullopt);
    EXPECT_EQ(total_parts({}).file, Kilobytes{0});
}

Mapping inserted(const std::string &name, const std::string &flags, std::int64_t pss, std::uint64_t offset = 0) {
    Mapping mapping;
    mapping.name = name;
    mapping.device = "00:09";
    mapping.inode = 12;
    mapping.offset = offset;
    mapping.vm_flags = flags;
    mapping.fields.pss = Kilobytes{pss};
    return mapping;
}

TEST(MemoryUse, PagesOfDriversAreNotFiles) {
    const auto parts_with = [](const std::vector<Mapping> &mappings) {
        Parts parts{Kilobytes{10}, Kilobytes{1000}, Kilobytes{1}, {}, {}};
        separate_drivers(parts, mappings);
        EXPECT_EQ(*parts.file + parts.drivers, Kilobytes{1000});
        return parts;
    };
    for (const char *const name :
         {"socket:[983068]", "anon_inode:[io_uring]", "anon_inode:kvm-vcpu:0", "anon_inode:bpf-map", "/dev/video0",
          "/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw"}) {
        EXPECT_TRUE(may_be_of_driver(inserted(name, "", 1))) << "maps has no flags: " << name;
        EXPECT_EQ(parts_with({inserted(name, "rd wr sh de mm", 500)}).drivers, Kilobytes{500}) << name;
    }
    for (const char *const name : {"/lib/x.so", "/dev/shm/x", "/dev/zero (deleted)", "/memfd:x (deleted)",
                                   "/[aio] (deleted)", "anon_inode:[kvm-gmem]", "[anon_shmem:x]", "/dev/plain", ""})
        EXPECT_EQ(parts_with({inserted(name, "rd wr sh", 500)}).drivers, Kilobytes{}) << name;
    Mapping copied = inserted("/dev/x", "rd wr mm", 500);
    copied.fields.anonymous = Kilobytes{200};
    EXPECT_EQ(parts_with({copied}).drivers, Kilobytes{300});
    EXPECT_EQ(parts_with({inserted("socket:[1]", "mm", 5000)}).drivers, Kilobytes{1000}) << "mapped after the sum";
}

TEST(MemoryUse, OfBpfMapsOnlyArraysAreInVmalloc) {
    Parts parts{Kilobytes{10}, Kilobytes{1000}, Kilobytes{1}, {}, {}};
    separate_drivers(parts, {inserted("anon_inode:bpf-map", "rd sh de dd mm", 400),
                             inserted("anon_inode:bpf-map", "rd sh de dd mm", 100, 4096),
                             inserted("anon_inode:bpf-map", "rd sh de", 50)});
    EXPECT_EQ(parts.drivers, Kilobytes{550});
    EXPECT_EQ(parts.bpf_maps, Kilobytes{400}) << "neither the data of a ring buffer nor an arena";
    User one = user(1, "/a", 10, 15);
    one.parts = parts;
    EXPECT_EQ(total_parts({one, one}).drivers, Kilobytes{1100});
    EXPECT_EQ(total_parts({one, one}).bpf_maps, Kilobytes{800});
}

TEST(MemoryUse, AFurtherOneCostsWhatEachHasWritten) {
    const std::vector<User> users{user(1, "/a", 10, 500), user(2, "/a", 31, 500)};
    MemInfo info;
    EXPECT_FALSE(headroom_for({&users[0], &users[1]}, info)) << "MemAvailable is not known";
    info.available = Kilobytes{2100};
    const auto room = headroom_for({&users[0], &users[1]}, info);
    ASSERT_TRUE(room);
    EXPECT_EQ(room->each, Kilobytes{21});
    EXPECT_EQ(room->largest, Kilobytes{31});
    EXPECT_EQ(room->more, 100);
    const User idle = user(3, "/b", 0, 5);
    EXPECT_FALSE(headroom_for({&idle}, info)) << "an instance without a cost gives no number";
}

TEST(MemoryUse, AFileIsSummedOverAllWhoMapIt) {
    Mapping code;
    code.name = "/lib/x.so";
    code.size = {8};
    code.fields.pss = Kilobytes{4};
    Mapping data = code;
    data.fields.private_dirty = Kilobytes{4};
    std::map<std::string, FileUse> files;
    add(files, 1, {code, data});
    add(files, 2, {code});
    const auto all = sorted(std::move(files));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].mappings, 3U);
    EXPECT_EQ(all[0].size, Kilobytes{16});
    EXPECT_EQ(all[0].by_pid.size(), 2U);
    EXPECT_EQ(all[0].by_pid.at(1).pss, Kilobytes{8});
    EXPECT_EQ(all[0].use.private_dirty, Kilobytes{4});
}

}  // namespace
}  // namespace rsslag::procfs
