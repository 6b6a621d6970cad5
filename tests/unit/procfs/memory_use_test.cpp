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

TEST(MemoryUse, SwapIsTheShareWhereTheKernelTellsIt) {
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
    EXPECT_FALSE(headroom_for({&idle}, info)) << "no cost, no number";
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
