// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/perf_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rsslag::unwind {
namespace {

class PerfMaps : public testing::Test {
  protected:
    PerfMaps() {
        std::string pattern = testing::TempDir() + "rsslag-XXXXXX";
        root_ = mkdtemp(pattern.data());
        std::filesystem::create_directory(root_ + "/tmp");
    }
    ~PerfMaps() override { std::filesystem::remove_all(root_); }

    void append(const std::string &text) { std::ofstream(path(), std::ios::app) << text; }
    std::string path() const { return root_ + "/tmp/perf-7.map"; }
    PerfMap map() const { return {root_, "/tmp/perf-7.map", geteuid()}; }
    std::string function_at(std::uint64_t address) const {
        PerfMap map = this->map();
        map.update();
        return map.function_at(address);
    }

    std::string root_;
};

TEST_F(PerfMaps, NamesOfFunctions) {
    append("7f0000001000 20 LazyCompile:*grow app.js:1:2\n0x7f0000002000 10 b\n");
    EXPECT_EQ(function_at(0x7f0000001000), "LazyCompile:*grow app.js:1:2");
    EXPECT_EQ(function_at(0x7f000000101f), "LazyCompile:*grow app.js:1:2");
    EXPECT_EQ(function_at(0x7f0000001020), "");
    EXPECT_EQ(function_at(0x7f0000000fff), "");
    EXPECT_EQ(function_at(0x7f0000002001), "b");
}

TEST_F(PerfMaps, WhatIsAppendedLaterCounts) {
    PerfMap map = this->map();
    map.update();
    EXPECT_EQ(map.function_at(0x1000), "");
    append("1000 10 old\n1008 4 ne");
    map.update();
    EXPECT_EQ(map.function_at(0x1008), "old");
    append("w\n");
    map.update();
    EXPECT_EQ(map.function_at(0x1008), "new");
    EXPECT_EQ(map.function_at(0x1000), "") << "the old function is no longer whole";
}

TEST_F(PerfMaps, AFileThatIsWrittenAnewIsReadAgain) {
    PerfMap map = this->map();
    append("1000 10 old\n2000 10 same\n");
    map.update();
    std::ofstream(path()) << "1000 10 new\n2000 10 more\n3000 10 third\n";  // longer
    map.update();
    EXPECT_EQ(map.function_at(0x1000), "new");
    EXPECT_EQ(map.function_at(0x3000), "third");
    std::ofstream(path()) << "4000 10 fou";  // shorter
    map.update();
    append("rth\n");
    map.update();
    EXPECT_EQ(map.function_at(0x4000), "fourth");
    EXPECT_EQ(map.function_at(0x1000), "new") << "it may have been there when a stack was sampled";
}

TEST_F(PerfMaps, AFileThatReplacesItIsRead) {
    PerfMap map = this->map();
    append("1000 10 old\n");
    map.update();
    std::ofstream(path() + ".new") << "1000 10 new\n";
    std::filesystem::rename(path() + ".new", path());
    map.update();
    EXPECT_EQ(map.function_at(0x1000), "new");
    std::filesystem::remove(path());
    map.update();
    map.update();
    EXPECT_EQ(map.function_at(0x1000), "new");
}

TEST_F(PerfMaps, BrokenLinesHaveNoEffect) {
    append("\n1000\n1000 10\n1000 10 \nx 10 a\n1000 0 a\nffffffffffffffff 10 a\n" + std::string(1 << 20, '1') +
           "\n2000 10 good\n3000 10 " + std::string(5000, 'n') + "\n4000 10 no end of line");
    EXPECT_EQ(function_at(0x1000), "");
    EXPECT_EQ(function_at(0x2000), "good");
    EXPECT_EQ(function_at(0x3000), std::string(PerfMap::kMostName, 'n'));
    EXPECT_EQ(function_at(0x4000), "");
}

TEST_F(PerfMaps, OnlyARegularFile) {
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    EXPECT_EQ(function_at(0x1000), "");  // and it does not block
    std::filesystem::remove(path());
    std::ofstream(root_ + "/other") << "1000 10 a\n";
    ASSERT_EQ(symlink("/other", path().c_str()), 0);
    EXPECT_EQ(function_at(0x1000), "");
}

TEST_F(PerfMaps, NotThatOfAnotherUser) {
    if (geteuid() != 0) GTEST_SKIP() << "changing the owner of a file needs root";
    append("1000 10 a\n");
    ASSERT_EQ(chown(path().c_str(), 4711, 4711), 0);
    EXPECT_EQ(function_at(0x1000), "");
    PerfMap owned(root_, "/tmp/perf-7.map", 4711);
    owned.update();
    EXPECT_EQ(owned.function_at(0x1000), "a");
}

TEST_F(PerfMaps, NotThatOfAnEarlierProcess) {
    append("1000 10 a\n");
    constexpr std::int64_t kMinute = 60'000'000'000;
    const std::int64_t now = time(nullptr) * 1'000'000'000;
    for (const std::int64_t since : {now - kMinute, now + kMinute}) {
        PerfMap map(root_, "/tmp/perf-7.map", geteuid(), since);
        map.update();
        EXPECT_EQ(map.function_at(0x1000), since < now ? "a" : "");
    }
}

/// A line beyond the part that is read may replace each name.
TEST_F(PerfMaps, AFileThatIsTooLargeHasNoNames) {
    append("1000 10 first\n");
    ASSERT_EQ(truncate(path().c_str(), PerfMap::kMostBytes), 0);
    EXPECT_EQ(function_at(0x1000), "first");
    ASSERT_EQ(truncate(path().c_str(), 1LL << 30), 0);
    EXPECT_EQ(function_at(0x1000), "");
}

}  // namespace
}  // namespace rsslag::unwind
