// SPDX-License-Identifier: BSD-2-Clause
#include "memory/mem_document.h"

#include <gtest/gtest.h>

namespace rsslag::memory {
namespace {

using core::Kilobytes;

procfs::User user(int pid, const std::string &program, std::int64_t dirty) {
    procfs::User user;
    user.pids = {pid};
    user.program = program;
    user.cgroup = "/" + program;
    user.use.private_dirty = user.use.pss = {dirty};
    return user;
}

TEST(MemRows, OnlyAProgramHasACostOfOneMore) {
    AllProcesses all;
    all.users = {user(1, "a", 10), user(2, "b", 100), user(3, "a", 30)};
    procfs::MemInfo info;
    info.available = Kilobytes{2000};
    const auto programs = mem_rows(MemBy::Program, all, info);
    ASSERT_EQ(programs.size(), 2U);
    EXPECT_EQ(programs[0].name, "b");
    EXPECT_EQ(programs[1].pids, (std::vector<int>{1, 3}));
    ASSERT_TRUE(programs[1].room);
    EXPECT_EQ(programs[1].room->each, Kilobytes{20});
    EXPECT_EQ(programs[1].room->more, 100);
    EXPECT_FALSE(programs[1].mappings);
    EXPECT_FALSE(mem_rows(MemBy::Cgroup, all, info)[0].room);
}

TEST(MemRows, AFileCountsEachProcessThatMapsIt) {
    AllProcesses all;
    procfs::FileUse &file = all.files["/lib/x.so"];
    file.mappings = 5;
    file.by_pid = {{2, {}}, {7, {}}};
    const auto rows = mem_rows(MemBy::File, all, {});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].name, "/lib/x.so");
    EXPECT_EQ(rows[0].processes, 2U);
    EXPECT_EQ(rows[0].pids, (std::vector<int>{2, 7}));
    EXPECT_EQ(rows[0].mappings, 5U);
}

}  // namespace
}  // namespace rsslag::memory
