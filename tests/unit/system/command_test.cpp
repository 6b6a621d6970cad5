// SPDX-License-Identifier: BSD-2-Clause
// CMD of `rsslag … -- CMD`, and the user that it runs as.
#include "system/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "signal_mask.h"

namespace rsslag::system {
namespace {

using core::Kind;

/// Restores the variables in its destructor.
class Environment {
  public:
    Environment() {
        for (const char *name : kNames) {
            const char *const value = std::getenv(name);
            kept_.emplace_back(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
            unsetenv(name);
        }
    }
    ~Environment() {
        for (const auto &[name, value] : kept_)
            value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    }
    Environment(const Environment &) = delete;
    Environment &operator=(const Environment &) = delete;

  private:
    static constexpr std::array kNames{"SUDO_UID", "SUDO_GID", "PKEXEC_UID", "DOAS_USER"};
    std::vector<std::pair<const char *, std::optional<std::string>>> kept_;
};

class CommandTest : public testing::Test {
  protected:
    int status_of(const std::vector<std::string> &argv) {
        auto command = Command::prepare(argv, true);
        EXPECT_TRUE(command);
        const core::Status started = command->release();
        if (!started) return shell_status(started.error());
        StopSignals stop;
        return command->wait(std::nullopt, stop).value_or(-1);
    }

    test::SignalMask mask_;
    Environment environment_;
};

TEST_F(CommandTest, EndsWithTheStatusThatAShellWouldGive) {
    EXPECT_EQ(status_of({"true"}), 0);
    EXPECT_EQ(status_of({"sh", "-c", "exit 42"}), 42);
    EXPECT_EQ(status_of({"sh", "-c", "kill -USR1 $$"}), 128 + SIGUSR1);
    EXPECT_EQ(status_of({"/no/such/command"}), 127);
    EXPECT_EQ(status_of({"/"}), 126);
}

TEST_F(CommandTest, IsNamedIfItCannotBeRun) {
    const auto error_of = [](const std::string &name) {
        auto command = Command::prepare({name, "argument"}, true);
        EXPECT_TRUE(command);
        const core::Status started = command->release();
        EXPECT_FALSE(started);
        return started ? "" : started.error().what;
    };
    EXPECT_EQ(error_of("/no/such/command"), "cannot run '/no/such/command': No such file or directory");
    EXPECT_EQ(error_of("no-such\x1b"), "cannot run 'no-such\\x1b': No such file or directory");
    EXPECT_EQ(error_of("/"), "cannot run '/': Permission denied");
}

TEST_F(CommandTest, RunsOnlyOnceItIsReleased) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
    const procfs::Fd out(ends[0]);
    procfs::Fd in(ends[1]);
    // Not >&N, which a shell may take for one digit.
    auto command = Command::prepare({"sh", "-c", "echo x >/proc/self/fd/" + std::to_string(in.get())}, true);
    ASSERT_TRUE(command);
    char byte = 0;
    EXPECT_EQ(read(out.get(), &byte, 1), -1);
    EXPECT_EQ(errno, EAGAIN);
    ASSERT_TRUE(command->release());
    StopSignals stop;
    EXPECT_EQ(command->wait(std::nullopt, stop), 0);
    EXPECT_EQ(read(out.get(), &byte, 1), 1);
}

TEST_F(CommandTest, NeverRunsWhereItIsNotReleased) {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / ("rsslag-" + std::to_string(getpid()));
    pid_t pid = 0;
    {
        auto command = Command::prepare({"touch", file.string()}, true);
        ASSERT_TRUE(command);
        pid = command->pid();
    }
    EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), -1) << "the process was already reaped";
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(CommandTest, LivesOnWhileItIsWaitedForAndEndsWithTerm) {
    auto command = Command::prepare({"sleep", "1000"}, true);
    ASSERT_TRUE(command);
    ASSERT_TRUE(command->release());
    StopSignals stop;
    EXPECT_EQ(command->wait(std::chrono::milliseconds{0}, stop), std::nullopt);
    ASSERT_TRUE(command->terminate());
    EXPECT_EQ(command->wait(std::nullopt, stop), 128 + SIGTERM);
}

TEST_F(CommandTest, IsNotWaitedForOnceAStopIsRequested) {
    auto command = Command::prepare({"sleep", "1000"}, true);
    ASSERT_TRUE(command);
    ASSERT_TRUE(command->release());
    StopSignals stop;
    raise(SIGTERM);
    EXPECT_EQ(command->wait(std::nullopt, stop), std::nullopt);
    StopSignals other;
    ASSERT_TRUE(command->terminate());
    EXPECT_EQ(command->wait(std::nullopt, other), 128 + SIGTERM);
}

class InvokingUser : public testing::Test {
  protected:
    void SetUp() override {
        if (getuid() != 0) GTEST_SKIP() << "only root can have another invoking user";
    }
    Environment environment_;
};

TEST_F(InvokingUser, IsNoOtherUserWithoutSudo) {
    const auto user = invoking_user();
    ASSERT_TRUE(user);
    EXPECT_FALSE(*user);
}

TEST_F(InvokingUser, IsWhomSudoNamesAlsoWhereNoDirectoryKnowsThem) {
    uid_t nobody_has_it = 4242;
    while (getpwuid(nobody_has_it) != nullptr)
        ++nobody_has_it;
    setenv("SUDO_UID", std::to_string(nobody_has_it).c_str(), 1);
    setenv("SUDO_GID", "4343", 1);
    const auto user = invoking_user();
    ASSERT_TRUE(user && *user);
    EXPECT_EQ((*user)->uid, nobody_has_it);
    EXPECT_EQ((*user)->gid, 4343U);
    EXPECT_EQ((*user)->home, "/");
}

TEST_F(InvokingUser, IsNoOtherUserIfRootCalledSudo) {
    setenv("SUDO_UID", "0", 1);
    const auto user = invoking_user();
    ASSERT_TRUE(user);
    EXPECT_FALSE(*user);
}

TEST_F(InvokingUser, IsRefusedRatherThanTakenForRootWhereItCannotBeUnderstood) {
    for (const char *word : {"", "12x", "-1", "root"}) {
        setenv("SUDO_UID", word, 1);
        const auto user = invoking_user();
        ASSERT_FALSE(user) << word;
        EXPECT_EQ(user.error().kind, Kind::BadInput);
    }
    unsetenv("SUDO_UID");
    setenv("DOAS_USER", "no such user", 1);
    EXPECT_FALSE(invoking_user());
}

}  // namespace
}  // namespace rsslag::system
