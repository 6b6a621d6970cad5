// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rsslag::exporters {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/rsslag-output-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        directory_ = name;
    }
    void TearDown() override { fs::remove_all(directory_); }

    std::string at(const std::string &name) const { return directory_ + "/" + name; }
    std::string text(const std::string &name) const {
        std::ifstream file(at(name));
        std::ostringstream all;
        all << file.rdbuf();
        return all.str();
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
    }
    void make(const std::string &name) const { std::ofstream(at(name)) << "old"; }

    static core::Error refused(const std::string &path, bool force, const std::vector<std::string> &inputs = {}) {
        const auto file = OutputFile::open(path, force, inputs);
        EXPECT_FALSE(file.ok()) << path;
        return file.ok() ? core::Error{} : file.error();
    }

    std::string directory_;
};

TEST_F(OutputFileTest, IsThereOnlyWhenItIsWhole) {
    {
        auto file = OutputFile::open(at("x"), false);
        ASSERT_TRUE(file.ok());
        ASSERT_TRUE(file->write("half").ok());
        EXPECT_FALSE(fs::exists(at("x")));
        ASSERT_TRUE(file->write(" and half").ok());
        ASSERT_TRUE(file->commit().ok());
    }
    EXPECT_EQ(text("x"), "half and half");
    EXPECT_EQ(files(), 1U);
    struct stat there {};
    ASSERT_EQ(stat(at("x").c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 07777, 0600U);
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
    {
        auto file = OutputFile::open(at("x"), false);
        ASSERT_TRUE(file.ok());
        ASSERT_TRUE(file->write("half").ok());
    }
    EXPECT_EQ(files(), 0U);
}

TEST_F(OutputFileTest, RefusesWhatIsThere) {
    make("old");
    EXPECT_EQ(refused(at("old"), false).kind, core::Kind::BadInput);
    EXPECT_NE(refused(at("old"), false).remedy.find("--force"), std::string::npos);
    EXPECT_EQ(text("old"), "old");
    EXPECT_EQ(refused(directory_, true).kind, core::Kind::BadInput);
    EXPECT_EQ(refused("", false).kind, core::Kind::BadInput);
    EXPECT_EQ(refused(at("no/such"), true).kind, core::Kind::Io);
    EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, RefusesItsOwnInputEvenByForce) {
    make("in");
    fs::create_symlink(at("in"), at("link"));
    EXPECT_EQ(refused(at("in"), true, {at("other"), at("in")}).kind, core::Kind::BadInput);
    EXPECT_EQ(refused(at("link"), true, {at("other"), at("in")}).kind, core::Kind::BadInput);
    EXPECT_EQ(text("in"), "old");
}

TEST_F(OutputFileTest, ByForceKeepsTheOldOneUntilTheNewIsWhole) {
    make("old");
    fs::create_symlink("old", at("link"));
    {
        auto file = OutputFile::open(at("link"), true);
        ASSERT_TRUE(file.ok());
        ASSERT_TRUE(file->write("half").ok());
    }
    EXPECT_EQ(text("old"), "old");
    auto file = OutputFile::open(at("link"), true);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(text("old"), "new");
    EXPECT_TRUE(fs::is_symlink(at("link")));
}

TEST_F(OutputFileTest, DoesNotReplaceWhatCameMeanwhile) {
    auto file = OutputFile::open(at("x"), false);
    ASSERT_TRUE(file.ok());
    make("x");
    const core::Status committed = file->commit();
    ASSERT_FALSE(committed.ok());
    EXPECT_EQ(committed.error().kind, core::Kind::BadInput);
    EXPECT_EQ(text("x"), "old");
}

TEST_F(OutputFileTest, WritesToDevicesAsTheyAre) {
    auto file = OutputFile::open("/dev/null", false);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->path().empty());
    EXPECT_TRUE(file->write("x").ok());
    EXPECT_TRUE(file->commit().ok());
    if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
    auto full = OutputFile::open("/dev/full", false);
    ASSERT_TRUE(full.ok());
    const core::Status written = full->write("x");
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().kind, core::Kind::Io);
}

}  // namespace
}  // namespace rsslag::exporters
