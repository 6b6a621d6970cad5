// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/recording/writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "rsslag/recording/reader.h"
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

    std::filesystem::path directory_;
    std::string path_;
};

TEST_F(WriterTest, WritesWhatAReaderTells) {
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

TEST_F(WriterTest, LetsNobodyElseRead) {
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

TEST_F(WriterTest, RefusesADirectoryAndWhatIsNoFileAlsoWithForce) {
    Writer::Options force;
    force.force = true;
    EXPECT_FALSE(Writer::create(directory_.string(), force));
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_FALSE(Writer::create(path_, force));
    EXPECT_FALSE(Writer::create((directory_ / "none" / "trace").string(), force));
}

TEST_F(WriterTest, CountsWhatFindsNoRoomAndSaysSoInTheRecording) {
    constexpr std::size_t kEach = 100'000;
    const auto records = test::storm(0, kEach, 1);
    std::uint64_t lost = 0;
    std::size_t puts = 0;
    {
        auto writer = Writer::create(path_, {});
        ASSERT_TRUE(writer);
        writer->begin(test::header());
        // Far more at once than any writer takes in.
        for (; puts < 100'000 && lost == 0; ++puts) {
            writer->put(event::Records{0, records});
            lost = writer->progress().records_lost;
        }
        EXPECT_TRUE(writer->finish());
        lost = writer->progress().records_lost;
    }
    ASSERT_GT(lost, 0U);
    Input input = *open_file(path_);
    auto reader = Reader::open(std::move(input), "it");
    ASSERT_TRUE(reader);
    std::uint64_t said = 0, read = 0;
    while (auto next = reader->next()) {
        if (const auto *const missing = std::get_if<Missing>(&*next)) {
            said += missing->records.value_or(0);
        } else if (const auto *const some = std::get_if<event::Records>(&std::get<event::Event>(*next))) {
            read += some->bytes.size() / sizeof(rsslag_update);
        }
    }
    EXPECT_EQ(said, lost);
    EXPECT_EQ(read + lost, puts * kEach);
}

}  // namespace
}  // namespace rsslag::recording
