// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spdlog/details/log_msg.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>

#include "core/fd.h"
#include "terminal/log_format.h"

namespace rsslag::terminal {
namespace {

/// Redirects stdout until its destructor.
class Redirected {
  public:
    explicit Redirected(int to) : before_(dup(STDOUT_FILENO)) { dup2(to, STDOUT_FILENO); }
    ~Redirected() { dup2(before_.get(), STDOUT_FILENO); }
    Redirected(const Redirected &) = delete;
    Redirected &operator=(const Redirected &) = delete;

  private:
    core::Fd before_;
};

TEST(Print, WritesAllOfIt) {
    const std::string text(300'000, 'x');
    testing::internal::CaptureStdout();
    const core::Status printed = print(text);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), text);
    EXPECT_TRUE(printed);
}

TEST(Print, DistinguishesAClosedPipeFromAFailedWrite) {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    core::Fd out(ends[0]);
    const core::Fd in(ends[1]);
    out.reset();
    core::Status printed = core::success();
    {
        const Redirected redirected(in.get());
        printed = print("x");
    }
    ASSERT_FALSE(printed);
    EXPECT_TRUE(reader_closed(printed.error()));
    {
        const Redirected redirected(-1);
        close(STDOUT_FILENO);
        printed = print("x");
    }
    ASSERT_FALSE(printed);
    EXPECT_EQ(printed.error().kind, core::Kind::Io);
    EXPECT_FALSE(reader_closed(printed.error()));
}

/// Whether writes to the pipe block.
class PrintToPipe : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        std::array<int, 2> ends{};
        ASSERT_EQ(pipe2(ends.data(), GetParam() ? 0 : O_NONBLOCK), 0);
        out_ = core::Fd(ends[0]);
        in_ = core::Fd(ends[1]);
    }

    /// What comes out of the pipe while `text` is printed.
    std::string read_while_printing(const std::string &text) {
        std::string read_text;
        std::thread reader([&] {
            std::array<char, 4096> piece{};
            pollfd waiting{out_.get(), POLLIN, 0};
            while (poll(&waiting, 1, -1) > 0) {
                const ssize_t got = read(out_.get(), piece.data(), piece.size());
                if (got <= 0) break;
                read_text.append(piece.data(), static_cast<std::size_t>(got));
            }
        });
        EXPECT_TRUE(print(text, in_.get()));
        in_.reset();
        reader.join();
        return read_text;
    }

    core::Fd out_, in_;
    const std::string text_ = std::string(300'000, 'x');
};

/// Lets rsslag stop until the destructor.
struct Stopped {
    Stopped() {
        core::must_stop = [] { return true; };
    }
    ~Stopped() { core::must_stop = nullptr; }
    Stopped(const Stopped &) = delete;
    Stopped &operator=(const Stopped &) = delete;
};

INSTANTIATE_TEST_SUITE_P(, PrintToPipe, testing::Bool(),
                         [](const auto &param) { return param.param ? "blocking" : "not_blocking"; });

TEST_P(PrintToPipe, WaitsForTheReader) {
    EXPECT_EQ(read_while_printing(text_), text_);
}

TEST_P(PrintToPipe, WritesAllToAReaderThatReadsAfterAStop) {
    const Stopped stopped;
    EXPECT_EQ(read_while_printing(text_), text_);
}

TEST_P(PrintToPipe, DoesNotWaitForAReaderThatReadsNothingAfterAStop) {
    const Stopped stopped;
    const core::Status printed = print(text_, in_.get());
    ASSERT_FALSE(printed);
    EXPECT_TRUE(reader_closed(printed.error())) << "the command ends without a complaint";
}

TEST(Complain, QuotesNothingThatATerminalObeys) {
    testing::internal::CaptureStderr();
    print_error("no process '\x1b[2J\n'");
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "the message must be one line";
    EXPECT_EQ(text.substr(0, 8), "rsslag: ");
}

TEST(LogFormat, QuotesNothingThatATerminalObeys) {
    const auto format = log_format();
    spdlog::memory_buf_t out;
    format->format({"rsslag", spdlog::level::warn, "gone: \x1b]0;x\x07"}, out);
    const std::string text(out.data(), out.size());
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
    EXPECT_NE(text.find("[rsslag] [warning] gone: "), std::string::npos) << text;
}

}  // namespace
}  // namespace rsslag::terminal
