// SPDX-License-Identifier: BSD-2-Clause
// CMD's terminal; this test acts as CMD.
#include "terminal/command_terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/fd.h"

namespace rsslag::terminal {
namespace {

using Lines = std::vector<std::string>;

class CommandTerminalTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const core::Fd any(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)); !any.open())
            GTEST_SKIP() << "no pseudoterminal is available: " << std::strerror(errno);
        std::string name = (std::filesystem::temp_directory_path() / "rsslag-terminal-XXXXXX").string();
        directory_ = mkdtemp(name.data());
        const char *const before = std::getenv("TMPDIR");
        if (before != nullptr) before_ = before;
        setenv("TMPDIR", directory_.c_str(), 1);
        auto opened = CommandTerminal::open();
        ASSERT_TRUE(opened) << opened.error().what;
        terminal_.emplace(std::move(*opened));
        command_ = core::Fd(dup(terminal_->command_side()));
        terminal_->start();
    }
    void TearDown() override {
        terminal_.reset();
        if (directory_.empty()) return;
        before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR");
        std::filesystem::remove_all(directory_);
    }
    /// The whole output of CMD, after its end.
    Lines shown(const std::string &text) {
        EXPECT_EQ(write(command_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
        command_.reset();
        terminal_->hang_up();
        const auto output = terminal_->take_output();
        return output ? output->lines : Lines{};
    }
    /// Without this the terminal takes any number of bytes, and drops those of a line that is too long.
    void make_raw() {
        termios modes{};
        ASSERT_EQ(tcgetattr(command_.get(), &modes), 0);
        cfmakeraw(&modes);
        ASSERT_EQ(tcsetattr(command_.get(), TCSANOW, &modes), 0);
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
    }

    std::filesystem::path directory_;
    std::optional<std::string> before_;
    std::optional<CommandTerminal> terminal_;
    core::Fd command_;
};

TEST_F(CommandTerminalTest, ShowsTheLastLinesAndKeepsAllOfThem) {
    std::string text;
    for (int i = 0; i < 250; ++i)
        text += std::to_string(i) + "\n";
    const Lines lines = shown(text);
    ASSERT_EQ(lines.size(), 200U);
    EXPECT_EQ(lines.front(), "50");
    EXPECT_EQ(lines.back(), "249");
    ASSERT_EQ(files(), 1U);
    std::ifstream file(std::filesystem::directory_iterator(directory_)->path());
    const std::string kept{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(kept.substr(0, 6), "0\r\n1\r\n");
    EXPECT_NE(terminal_->kept().find("what the command wrote is in"), std::string::npos) << terminal_->kept();
}

TEST_F(CommandTerminalTest, ShowsALineThatIsWrittenOverAsATerminalWould) {
    EXPECT_EQ(shown("10 %\r20 %\rdone\nab\bc\n"), (Lines{"done", "ac"}));
}

TEST_F(CommandTerminalTest, ShowsNoSequenceThatATerminalWouldObey) {
    EXPECT_EQ(shown("\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07plain\x1b]8;;x\x1b\\!\n"), (Lines{"red plain!"}));
}

TEST_F(CommandTerminalTest, ShowsNothingOfASequenceOfThreeBytesOrOfAString) {
    EXPECT_EQ(shown("\x1b(B\x1b[msgr0 \x1b_a\x1b\\apc \x1b^b\x1b\\pm \x1bXc\x1b\\sos \x1b]0;d\x18"
                    "can\n"),
              (Lines{"sgr0 apc pm sos can"}));
}

TEST_F(CommandTerminalTest, ShowsNothingOfASequenceThatAnotherOneInterrupts) {
    EXPECT_EQ(shown("\x1b(\x1b[31ma\x1b[3\x1b[31mb\x1b\x1b[Ac\n"), (Lines{"abc"}));
}

TEST_F(CommandTerminalTest, ShowsALineThatHasNotEndedYet) {
    EXPECT_EQ(shown("first\n$ "), (Lines{"first", "$ "}));
}

TEST_F(CommandTerminalTest, ReportsNewOutputOnce) {
    shown("x\n");
    EXPECT_FALSE(terminal_->take_output());
}

TEST_F(CommandTerminalTest, LeavesNoFileWhereNothingWasWritten) {
    EXPECT_EQ(files(), 1U);
    EXPECT_TRUE(shown("").empty());
    EXPECT_EQ(terminal_->kept(), "");
    terminal_.reset();
    EXPECT_EQ(files(), 0U);
}

TEST_F(CommandTerminalTest, GivesTheCommandWhatWasTyped) {
    terminal_->type("yes\n");
    std::array<char, 16> got{};
    ASSERT_EQ(read(command_.get(), got.data(), got.size()), 4);
    EXPECT_EQ(std::string(got.data(), 4), "yes\n");
}

TEST_F(CommandTerminalTest, KeepsWhatWasTypedUntilTheCommandReads) {
    make_raw();
    constexpr std::size_t kTyped = 300'000;  // more than a terminal holds
    std::string typed;
    for (std::size_t i = 0; i < kTyped; ++i)
        typed += static_cast<char>('a' + i % 26);
    ASSERT_TRUE(terminal_->type(typed));
    std::string got;
    std::array<char, 4096> piece{};
    while (got.size() < typed.size()) {
        const ssize_t size = read(command_.get(), piece.data(), piece.size());
        ASSERT_GT(size, 0);
        got.append(piece.data(), static_cast<std::size_t>(size));
    }
    EXPECT_EQ(got, typed);
}

TEST_F(CommandTerminalTest, KeepsNoMoreThanItCanHold) {
    make_raw();
    bool taken = true;
    for (int i = 0; i < 40 && taken; ++i)
        taken = terminal_->type(std::string(100'000, 'x'));
    EXPECT_FALSE(taken);
}

}  // namespace
}  // namespace rsslag::terminal
