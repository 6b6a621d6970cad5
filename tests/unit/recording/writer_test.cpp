// SPDX-License-Identifier: BSD-2-Clause
#include "recording/writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "../../long_only.h"
#include "recording/reader.h"
#include "traces.h"

namespace rsslag::recording {
namespace {

class WriterTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "rsslag-writer-XXXXXX").string();
        directory_ = mkdtemp(name.data());
        path_ = (directory_ / "trace.rsslag").string();
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    Bytes written() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    struct Counted {
        std::uint64_t read = 0;
        std::uint64_t missing = 0;  ///< as reported
    };
    Counted count() const {
        Counted counted;
        Input input = *open_file(path_);
        auto reader = Reader::open(std::move(input), "it");
        while (auto next = reader ? reader->next() : std::nullopt) {
            if (const auto *const missing = std::get_if<Missing>(&*next)) {
                counted.missing += missing->records.value_or(0);
            } else if (const auto *const some = std::get_if<event::Records>(&std::get<event::Event>(*next))) {
                counted.read += some->bytes.size() / sizeof(rsslag_update);
            }
        }
        return counted;
    }

    std::filesystem::path directory_;
    std::string path_;
};

TEST_F(WriterTest, WritesWhatAReaderReturns) {
    const auto records = test::storm(0, 50'000, 1);
    {
        auto writer = Writer::create(path_, {});
        ASSERT_TRUE(writer);
        writer->begin(test::header());
        for (int i = 0; i < 3; ++i)
            writer->put(event::Records{0, records});
        EXPECT_TRUE(writer->finish());
        EXPECT_EQ(writer->progress().records, 150'000U);
        EXPECT_EQ(writer->progress().bytes, std::filesystem::file_size(path_));
        EXPECT_EQ(writer->progress().events_lost, 0U);
    }
    const test::Reported reported = test::read_all(written());
    EXPECT_TRUE(reported.complete);
    EXPECT_EQ(reported.records.size(), 3 * records.size());
}

TEST_F(WriterTest, CreatesAFileThatNoOtherUserMayRead) {
    auto writer = Writer::create(path_, {});
    ASSERT_TRUE(writer);
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(WriterTest, TakesAFileAwayThatNeverBegan) {
    { ASSERT_TRUE(Writer::create(path_, {})); }
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WriterTest, RefusesAFileThatIsThereUnlessForced) {
    std::ofstream(path_) << "mine";
    const auto refused = Writer::create(path_, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, core::Kind::BadInput);
    EXPECT_EQ(written(), "mine");
    Writer::Options force;
    force.force = true;
    auto writer = Writer::create(path_, force);
    ASSERT_TRUE(writer);
    writer->begin(test::header());
    EXPECT_TRUE(writer->finish());
    EXPECT_TRUE(test::read_all(written()).complete);
}

TEST_F(WriterTest, HoldsBackAFileUntilTheTraceHasStarted) {
    Writer::Options held;
    held.hold = true;
    {
        auto failed = Writer::create(path_, held);
        ASSERT_TRUE(failed);
        failed->begin(test::header());
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
    std::ofstream(path_) << "mine";
    held.force = true;
    {
        auto failed = Writer::create(path_, held);
        ASSERT_TRUE(failed);
        failed->begin(test::header());
        failed->put(event::Records{0, test::storm(0, 10, 1)});
    }
    EXPECT_EQ(written(), "mine");
    auto writer = Writer::create(path_, held);
    ASSERT_TRUE(writer);
    writer->begin(test::header());
    writer->keep();
    EXPECT_TRUE(writer->finish());
    EXPECT_TRUE(test::read_all(written()).complete);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(WriterTest, RefusesADirectoryAndWhatIsNoFileAlsoWithForce) {
    Writer::Options force;
    force.force = true;
    EXPECT_FALSE(Writer::create(directory_.string(), force));
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_FALSE(Writer::create(path_, force));
    EXPECT_FALSE(Writer::create((directory_ / "none" / "trace").string(), force));
}

TEST_F(WriterTest, KeepsARecordingInMemoryUntilItIsSaved) {
    const auto records = test::storm(0, 50'000, 1);
    Writer writer = Writer::in_memory({});
    writer.begin(test::header());
    // More than a chunk: some of it is packed already.
    for (int i = 0; i < 3; ++i)
        writer.put(event::Records{0, records});
    EXPECT_FALSE(std::filesystem::exists(path_));
    ASSERT_TRUE(writer.save(path_));
    writer.put(event::Records{0, records});
    EXPECT_TRUE(writer.finish());
    EXPECT_EQ(writer.progress().records, 200'000U);
    EXPECT_EQ(writer.progress().bytes, std::filesystem::file_size(path_));
    const test::Reported reported = test::read_all(written());
    EXPECT_TRUE(reported.complete);
    EXPECT_EQ(reported.records.size(), 4 * records.size());
}

TEST_F(WriterTest, LeavesNothingOfARecordingThatIsNotSaved) {
    std::ofstream(path_) << "mine";
    {
        Writer writer = Writer::in_memory({});
        writer.begin(test::header());
        writer.put(event::Records{0, test::storm(0, 1'000, 1)});
        const core::Status refused = writer.save(path_);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, core::Kind::BadInput);
    }
    EXPECT_EQ(written(), "mine");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(WriterTest, CountsWhatDoesNotFitAndRecordsTheNumber) {
    constexpr std::size_t kSome = 1'000;
    // More than the queue ever holds.
    constexpr std::size_t kMany = (std::size_t{64} << 20) / sizeof(rsslag_update) + 1;
    const auto some = test::storm(0, kSome, 1);
    {
        auto writer = Writer::create(path_, {});
        ASSERT_TRUE(writer);
        writer->begin(test::header());
        writer->put(event::Records{0, some});
        writer->put(event::Records{0, test::storm(0, kMany, 1)});
        EXPECT_EQ(writer->progress().records_lost, kMany);
        writer->put(event::Records{0, some});
        EXPECT_TRUE(writer->finish());
        EXPECT_EQ(writer->progress().records_lost, kMany);
        EXPECT_EQ(writer->progress().events_lost, 1U);
    }
    const Counted counted = count();
    EXPECT_EQ(counted.missing, kMany);
    EXPECT_EQ(counted.read, 2 * kSome);
}

TEST_F(WriterTest, CountsWhatDoesNotFitWhenItFallsBehind) {
    RSSLAG_LONG_ONLY("the scheduler determines how far a thread falls behind");
    constexpr std::size_t kEach = 100'000;
    const auto records = test::storm(0, kEach, 1);
    std::uint64_t lost = 0;
    std::size_t puts = 0;
    {
        auto writer = Writer::create(path_, {});
        ASSERT_TRUE(writer);
        writer->begin(test::header());
        for (; puts < 2'000 && lost == 0; ++puts) {
            writer->put(event::Records{0, records});
            lost = writer->progress().records_lost;
        }
        EXPECT_TRUE(writer->finish());
        lost = writer->progress().records_lost;
    }
    if (lost == 0) GTEST_SKIP() << "the writer is as fast as this test";
    const Counted counted = count();
    EXPECT_EQ(counted.missing, lost);
    EXPECT_EQ(counted.read + lost, puts * kEach);
}

/// Updates with incompressible addresses.
std::vector<std::byte> scattered(std::size_t records, std::mt19937_64 &dice) {
    std::vector<std::byte> bytes;
    rsslag_update update{};
    update.kind = RSSLAG_UPDATE;
    for (std::size_t i = 0; i < records; ++i) {
        update.t_ns = 1 + i;
        update.address = dice();
        test::append(bytes, update);
    }
    return bytes;
}

class WriterLeavesOut : public WriterTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(WriterLeavesOut, WhatMayNotBeKept) {
    constexpr std::size_t kRecords = 100'000;
    constexpr std::uint64_t kMost = std::uint64_t{256} << 10;
    const std::size_t each = kRecords / GetParam();
    Writer::Options options;
    options.max_bytes = kMost;
    auto writer = Writer::create(path_, options);
    ASSERT_TRUE(writer);
    writer->begin(test::header());
    // The next segment is never started.
    std::mt19937_64 dice(1);
    for (std::size_t i = 0; i < GetParam(); ++i)
        writer->put(event::Records{0, scattered(each, dice)});
    EXPECT_TRUE(writer->finish());
    const Writer::Progress progress = writer->progress();
    EXPECT_TRUE(progress.full);
    EXPECT_GT(progress.records_lost, 0U);
    EXPECT_LE(std::filesystem::file_size(path_), kMost);
    EXPECT_GT(std::filesystem::file_size(path_), kMost / 4);
    const Counted counted = count();
    EXPECT_EQ(counted.missing, progress.records_lost);
    EXPECT_EQ(counted.read + progress.records_lost, kRecords);
}

INSTANTIATE_TEST_SUITE_P(InEvents, WriterLeavesOut, testing::Values(1, 4, 100));

}  // namespace
}  // namespace rsslag::recording
