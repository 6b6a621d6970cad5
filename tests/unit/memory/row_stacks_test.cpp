// SPDX-License-Identifier: BSD-2-Clause
#include "memory/row_stacks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "memory/mapped_process.h"

namespace rsslag::memory {
namespace {

procfs::Mapping mapping(const char *name, const char *perms = "rw-p", const char *recognised = "") {
    procfs::Mapping mapping;
    mapping.start = 0x10000;
    mapping.end = 0x20000;
    mapping.perms = perms;
    mapping.name = name;
    mapping.recognised = recognised;
    if (std::strchr(name, '/') != nullptr) mapping.inode = 42;
    return mapping;
}

TEST(RowStacks, AMappingMayBeTheOneOfTheFaultIfItHasTheSameName) {
    EXPECT_TRUE(may_be(mapping("/lib/x"), "/lib/x"));
    EXPECT_TRUE(may_be(mapping("/lib/x (deleted)"), "/lib/x"));
    EXPECT_FALSE(may_be(mapping("/lib/y"), "/lib/x"));
    EXPECT_FALSE(may_be(mapping("/lib/x"), "[heap]"));
    EXPECT_FALSE(may_be(mapping(""), "/lib/x"));
    EXPECT_TRUE(may_be(mapping("/memfd:m (deleted)", "rw-s"), "shmem /memfd:m"));
    EXPECT_TRUE(may_be(mapping("/lib/x"), "(unknown)"));
    EXPECT_TRUE(may_be(mapping("/lib/x"), ""));
}

TEST(RowStacks, GuessesFromTheShapeAreTheSame) {
    EXPECT_TRUE(may_be(mapping("", "rw-p", "glibc arena ~"), "(anonymous)"));
    EXPECT_TRUE(may_be(mapping("[anon:malloc]"), "(anonymous)"));
    EXPECT_TRUE(may_be(mapping("", "rw-p", "stack of thread 12 worker ~"), "stack of thread 12"));
    EXPECT_FALSE(may_be(mapping("[heap]"), "(anonymous)"));
}

class OfThisProcess : public testing::Test {
  protected:
    void SetUp() override {
        page_ = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
        void *const memory = mmap(nullptr, 64 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        memory_ = static_cast<char *>(memory);
        start_ = reinterpret_cast<std::uint64_t>(memory_);
        mapped_.pid = getpid();
        mapped_.start_ticks = 7;
        procfs::Mapping here = mapping("");
        here.start = start_;
        here.end = start_ + 64 * page_;
        mapped_.mappings = {here};
        mapped_.groups = procfs::groups(mapped_.mappings, {});
    }
    void TearDown() override { munmap(memory_, 64 * page_); }

    core::Result<RowStacks> samples(std::uint64_t start_ticks, std::vector<SampledPage> pages) {
        auto recording = std::make_shared<SampledRecording>();
        recording->stacks = {{"touch", "main"}, {"other"}};
        recording->processes[getpid()] = {start_ticks, std::move(pages)};
        return resident_samples(*procfs::Process::open(getpid()), mapped_, std::move(recording));
    }

    std::uint64_t page_ = 0, start_ = 0;
    char *memory_ = nullptr;
    MappedProcess mapped_;
};

TEST_F(OfThisProcess, CountsTheSampledPagesThatArePresent) {
    memory_[40 * page_] = memory_[50 * page_] = 1;
    auto stacks = samples(7, {{start_ + 40 * page_, 64, 0, ""},
                              {start_ + 45 * page_, 640, 1, ""},  // never touched
                              {start_ + 50 * page_, 16, 1, ""},
                              {start_ + 50 * page_ + 8, 640, 1, "/lib/x"},  // of another mapping there
                              {start_ + 100 * page_, 640, 1, ""}});         // of none
    ASSERT_TRUE(stacks) << stacks.error().what;
    EXPECT_EQ(stacks->resident.size(), 2U);
    find_top_stacks(*stacks, mapped_.groups, mapped_.mappings);
    ASSERT_TRUE(stacks->groups.at(0));
    EXPECT_DOUBLE_EQ(stacks->groups[0]->share, 0.8);
    EXPECT_EQ(most_by(*stacks, *stacks->mappings.at(0)), "80 % by touch < main");
}

TEST_F(OfThisProcess, TellsAnotherProcessWithItsPidApart) {
    const auto of_another = samples(8, {});
    ASSERT_FALSE(of_another);
    EXPECT_NE(of_another.error().what.find("another process that had this PID"), std::string::npos);
    auto stacks = samples(7, {});
    ASSERT_TRUE(stacks);
    find_top_stacks(*stacks, mapped_.groups, mapped_.mappings);
    EXPECT_FALSE(stacks->groups.at(0));
    mapped_.pid = 1;
    EXPECT_FALSE(samples(7, {})) << "not recorded";
}

}  // namespace
}  // namespace rsslag::memory
