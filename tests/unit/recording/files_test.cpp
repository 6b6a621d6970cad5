// SPDX-License-Identifier: BSD-2-Clause
#include "recording/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "traces.h"

namespace rsslag::recording {
namespace {

class FilesTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "rsslag-files-XXXXXX").string();
        directory_ = mkdtemp(name.data());
        path_ = (directory_ / "trace").string();
        limited_.max_bytes = 1000;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string content(const std::string &name) const {
        std::ifstream file(directory_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void put_there(const std::string &name) const { std::ofstream(directory_ / name) << "mine"; }
    std::set<std::string> names() const {
        std::set<std::string> names;
        for (const auto &each : std::filesystem::directory_iterator(directory_))
            names.insert(each.path().filename().string());
        return names;
    }

    std::filesystem::path directory_;
    std::string path_;
    Writer::Options limited_;
};

using Names = std::set<std::string>;

TEST_F(FilesTest, TheFileIsTheNewestAndThoseBeforeItAreNumbered) {
    auto files = Files::create(path_, limited_);
    ASSERT_TRUE(files);
    ASSERT_EQ(files->write("first"), 0);
    ASSERT_EQ(files->next(), 0);
    ASSERT_EQ(files->write("second"), 0);
    ASSERT_EQ(files->next(), 0);
    ASSERT_EQ(files->write("third"), 0);
    EXPECT_EQ(names(), (Names{"trace", "trace.0000", "trace.0001"}));
    EXPECT_EQ(content("trace.0000"), "first");
    EXPECT_EQ(content("trace.0001"), "second");
    EXPECT_EQ(content("trace"), "third");
    EXPECT_EQ(files->written(), 5U);
    EXPECT_EQ(files->kept(), 16U);
    for (const std::string &name : names()) {
        struct stat status {};
        ASSERT_EQ(stat((directory_ / name).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0600U) << name;
    }
}

TEST_F(FilesTest, TheOldestGoBeforeMoreThanTheLimitIsThere) {
    auto files = Files::create(path_, limited_);
    ASSERT_TRUE(files);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(files->write(std::string(300, 'x')), 0);
        EXPECT_LE(files->kept(), 1000U);
        ASSERT_EQ(files->next(), 0);
    }
    EXPECT_EQ(names(), (Names{"trace", "trace.0002", "trace.0003", "trace.0004"}));
    ASSERT_EQ(files->write(std::string(100, 'x')), 0);
    EXPECT_EQ(names().count("trace.0002"), 1U);
    ASSERT_EQ(files->write("x"), 0);
    EXPECT_EQ(names().count("trace.0002"), 0U);
    EXPECT_EQ(files->kept(), 701U);
}

TEST_F(FilesTest, RefusesAtTheStartAFileWithTheNameOfASegment) {
    put_there("trace.0007");
    const auto refused = Files::create(path_, limited_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, core::Kind::BadInput);
    EXPECT_NE(refused.error().what.find("trace.0007"), std::string::npos);
    EXPECT_EQ(names(), Names{"trace.0007"});
    EXPECT_TRUE(Files::create(path_, {}));
}

TEST_F(FilesTest, OnlyDigitsAreASegmentsName) {
    for (const char *const other : {"trace.007", "trace.0007.gz", "trace-0007", "other.0007", "trace.", "trace.00x7"})
        put_there(other);
    EXPECT_TRUE(Files::create(path_, limited_));
}

TEST_F(FilesTest, WhatCameInTheWayMeanwhileStaysUnlessForced) {
    for (const bool force : {false, true}) {
        limited_.force = force;
        {
            auto files = Files::create(path_, limited_);
            ASSERT_TRUE(files);
            put_there("trace.0000");
            ASSERT_EQ(files->write("ours"), 0);
            EXPECT_EQ(files->next(), force ? 0 : EEXIST);
        }
        EXPECT_EQ(content("trace.0000"), force ? "ours" : "mine");
        EXPECT_EQ(content("trace"), force ? "" : "ours");
    }
}

TEST_F(FilesTest, AFileOfAnotherProcessIsNeitherRenamedNorDeleted) {
    auto files = Files::create(path_, limited_);
    ASSERT_TRUE(files);
    ASSERT_EQ(files->write(std::string(600, 'x')), 0);
    ASSERT_EQ(files->next(), 0);
    std::filesystem::rename(directory_ / "trace.0000", directory_ / "kept");
    put_there("trace.0000");
    ASSERT_EQ(files->write(std::string(600, 'x')), 0);
    EXPECT_EQ(content("trace.0000"), "mine");
    EXPECT_EQ(content("kept").size(), 600U);
    std::filesystem::rename(directory_ / "trace", directory_ / "moved");
    put_there("trace");
    EXPECT_EQ(files->next(), EEXIST);
    EXPECT_EQ(content("trace"), "mine");
    EXPECT_EQ(content("moved").size(), 600U);
}

TEST_F(FilesTest, TheOldFileStaysIfItCannotBeReplaced) {
    const std::string longest(NAME_MAX, 'x');  // so the name of the new file, which is longer, is refused
    put_there(longest);
    limited_.force = true;
    const auto refused = Files::create((directory_ / longest).string(), limited_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().err, ENAMETOOLONG);
    EXPECT_EQ(content(longest), "mine");
    EXPECT_EQ(names(), Names{longest});
}

TEST_F(FilesTest, AFileThatIsReplacedLeavesNoOtherName) {
    put_there("trace");
    limited_.force = true;
    auto files = Files::create(path_, limited_);
    ASSERT_TRUE(files);
    EXPECT_EQ(content("trace"), "mine") << "until the recording has begun";
    ASSERT_EQ(files->write("ours"), 0);
    EXPECT_EQ(content("trace"), "ours");
    EXPECT_EQ(names(), Names{"trace"});
}

TEST_F(FilesTest, TheOldFileStaysIfTheRecordingDoesNotBegin) {
    put_there("trace");
    limited_.force = true;
    const auto files = Files::create(path_, limited_);
    ASSERT_TRUE(files);
    files->remove();
    EXPECT_EQ(content("trace"), "mine");
    EXPECT_EQ(names(), Names{"trace"});
}

class SegmentsTest : public FilesTest {};

TEST_F(SegmentsTest, EachIsARecordingOfItsOwn) {
    limited_.max_bytes = 1 << 20;
    const auto records = test::storm(0, 1000, 1);
    {
        auto writer = Writer::create(path_, limited_);
        ASSERT_TRUE(writer);
        Header header = test::header();
        writer->begin(header);
        writer->put(event::Records{0, records});
        for (header.segment = 1; header.segment < 3; ++header.segment) {
            writer->next(header);
            writer->put(event::Records{0, records});
        }
        ASSERT_TRUE(writer->finish());
        EXPECT_EQ(writer->progress().records, 3000U);
    }
    EXPECT_EQ(names(), (Names{"trace", "trace.0000", "trace.0001"}));
    std::uint64_t number = 0;
    for (const char *const name : {"trace.0000", "trace.0001", "trace"}) {
        const Bytes bytes = content(name);
        const test::Reported reported = test::read_all(bytes);
        EXPECT_TRUE(reported.complete) << name;
        EXPECT_EQ(reported.records, records) << name;
        EXPECT_EQ(Reader::open(test::input_of(bytes), name)->header().segment, number++);
    }
}

/// Updates with incompressible addresses.
std::vector<std::byte> noise(std::size_t records, std::mt19937_64 &dice) {
    std::vector<std::byte> bytes;
    rsslag_update update{};
    update.kind = RSSLAG_UPDATE;
    update.flags = RSSLAG_OF_USER_FAULT;
    for (std::size_t i = 0; i < records; ++i) {
        update.address = dice();
        test::append(bytes, update);
    }
    return bytes;
}

TEST_F(SegmentsTest, ReportsAFullSegmentAndKeepsTheLimit) {
    limited_.max_bytes = 256 << 10;
    auto writer = Writer::create(path_, limited_);
    ASSERT_TRUE(writer);
    Header header = test::header();
    writer->begin(header);
    const auto there = [this] {
        std::uint64_t bytes = 0;
        for (const std::string &name : names()) {
            std::error_code gone;
            const auto size = std::filesystem::file_size(directory_ / name, gone);
            bytes += gone ? 0 : size;
        }
        return bytes;
    };
    // As a trace does: it puts, looks, and goes on in the next segment when it is time. How much is in each depends on
    // a clock: until the oldest has gone.
    constexpr std::uint64_t kEach = 6000;
    std::mt19937_64 dice;
    for (std::uint64_t puts = 1; header.segment < 5 || names().count("trace.0000") != 0; ++puts) {
        ASSERT_LT(puts, 100U);
        writer->put(event::Records{0, noise(kEach, dice)});
        while (writer->progress().records < kEach * puts) {
            ASSERT_FALSE(writer->progress().failed) << writer->progress().failed->what;
            ASSERT_EQ(writer->progress().records_lost, 0U);
            std::this_thread::yield();
        }
        if (writer->progress().full) {
            header.segment++;
            writer->next(header);
        }
        EXPECT_LE(there(), *limited_.max_bytes);
    }
    EXPECT_TRUE(writer->finish());
    EXPECT_GE(names().size(), 2U);
    EXPECT_EQ(names().count("trace.0000"), 0U);
    EXPECT_EQ(names().count("trace.000" + std::to_string(header.segment - 1)), 1U);
    EXPECT_EQ(writer->progress().bytes, there());
}

}  // namespace
}  // namespace rsslag::recording
