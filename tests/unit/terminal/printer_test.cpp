// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/printer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/fd.h"
#include "terminal/output.h"

namespace rsslag::terminal {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kPipe = 4096;

bool never() {
    return false;
}
bool at_once() {
    return true;
}

/// A pipe that holds one page.
struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
        out = core::Fd(ends[0]);
        in = core::Fd(ends[1]);
        fcntl(in.get(), F_SETPIPE_SZ, kPipe);
    }
    std::string read_to_end() const {
        std::string text;
        std::array<char, kPipe> buffer{};
        for (ssize_t got = 0; (got = read(out.get(), buffer.data(), buffer.size())) > 0;)
            text.append(buffer.data(), static_cast<std::size_t>(got));
        return text;
    }
    /// Pages may be larger on other kernels.
    bool as_wanted() const { return fcntl(in.get(), F_GETPIPE_SZ) == static_cast<int>(kPipe); }

    core::Fd out, in;
};

Printer::Options options(std::size_t most_bytes) {
    Printer::Options chosen;
    chosen.most_bytes = most_bytes;
    chosen.still = milliseconds{20};
    chosen.gap = [](std::uint64_t lines) { return fmt::format("gap {}\n", lines); };
    return chosen;
}

std::string line(int number) {
    return fmt::format("{:0>99}\n", number);
}

/// Checks that numbers missing between lines are reported there as gaps. Returns how many are in all gaps.
std::uint64_t missing_in(std::string_view text, std::uint64_t most) {
    std::uint64_t next = 0;
    std::uint64_t missing = 0;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find('\n'));
        text.remove_prefix(one.size() + 1);
        const bool gap = one.starts_with("gap ");
        const std::string_view digits = one.substr(gap ? 4 : 0);
        std::uint64_t number = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (gap) {
            missing += number;
            next += number;
        } else {
            EXPECT_EQ(number, next);
            next = number + 1;
        }
    }
    EXPECT_EQ(next, most);
    return missing;
}

TEST(Printer, WritesAllOfItInOrder) {
    Pipe pipe;
    std::string expected;
    std::string got;
    std::thread reader([&] { got = pipe.read_to_end(); });
    {
        Printer printer(pipe.in.get(), options(std::size_t{1} << 20));
        for (int i = 0; i < 1000; ++i) {
            expected += line(i);
            EXPECT_TRUE(printer.put(line(i)));
        }
        EXPECT_TRUE(printer.finish(never));
        EXPECT_EQ(printer.dropped(), 0);
    }
    pipe.in.reset();
    reader.join();
    EXPECT_EQ(got, expected);
}

TEST(Printer, CutsOnlyALineThatIsLongerThanAPipeTakesAsAWhole) {
    const Pipe pipe;
    ASSERT_EQ(fcntl(pipe.in.get(), F_SETFL, O_DIRECT), 0);  // a read returns what one write has written (pipe(7))
    std::string text;
    for (int i = 0; i < 100; ++i)
        text += line(i);
    const std::string longer(kPipe + 50, 'x');
    Printer printer(pipe.in.get(), options(std::size_t{1} << 20));
    EXPECT_TRUE(printer.put(text + longer + '\n' + text));
    std::vector<std::size_t> sizes;
    std::array<char, kPipe> buffer{};
    for (std::size_t left = 2 * text.size() + longer.size() + 1; left > 0; left -= sizes.back()) {
        const ssize_t got = read(pipe.out.get(), buffer.data(), buffer.size());
        ASSERT_GT(got, 0);
        sizes.push_back(static_cast<std::size_t>(got));
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{4000, 4000, 2000, kPipe, 51 + 4000, 4000, 2000}));
}

TEST(Printer, DropsWholeLinesWithoutAReaderAndMarksTheGap) {
    Pipe pipe;
    if (!pipe.as_wanted()) GTEST_SKIP() << "the capacity of a pipe cannot be set to " << kPipe << " bytes";
    std::string got;
    std::uint64_t dropped = 0;
    {
        Printer printer(pipe.in.get(), options(kPipe));
        for (int i = 0; i < 1000; ++i)
            EXPECT_TRUE(printer.put(line(i)));
        dropped = printer.dropped();
        EXPECT_GE(dropped, 1000 - 3 * kPipe / 100);
        std::thread reader([&] { got = pipe.read_to_end(); });
        EXPECT_TRUE(printer.finish(never));
        EXPECT_TRUE(printer.put(line(1000)));
        EXPECT_TRUE(printer.finish(never));
        pipe.in.reset();
        reader.join();
    }
    EXPECT_EQ(missing_in(got, 1001), dropped);
}

TEST(Printer, DropsTheRestOfTextThatFitsInPart) {
    Pipe pipe;
    if (!pipe.as_wanted()) GTEST_SKIP() << "the capacity of a pipe cannot be set to " << kPipe << " bytes";
    std::string got;
    {
        Printer printer(pipe.in.get(), options(10 * kPipe));
        std::string much;
        for (int i = 0; i < 200; ++i)
            much += line(i);
        EXPECT_TRUE(printer.put(much));
        EXPECT_EQ(printer.dropped(), 0);
        much.clear();
        for (int i = 200; i < 900; ++i)
            much += line(i);
        EXPECT_TRUE(printer.put(much));
        EXPECT_GT(printer.dropped(), 0);
        EXPECT_LT(printer.dropped(), 700);
        EXPECT_TRUE(printer.put_last(line(900)));
        std::thread reader([&] { got = pipe.read_to_end(); });
        EXPECT_TRUE(printer.finish(never));
        pipe.in.reset();
        reader.join();
        EXPECT_EQ(missing_in(got, 901), printer.dropped());
    }
}

TEST(Printer, TakesTextLongerThanItsQueueWhereNothingWaits) {
    Pipe pipe;
    std::string got;
    std::thread reader([&] { got = pipe.read_to_end(); });
    {
        Printer printer(pipe.in.get(), options(100));
        EXPECT_TRUE(printer.put(std::string(300'000, 'x') + "\n"));
        EXPECT_TRUE(printer.finish(never));
        EXPECT_EQ(printer.dropped(), 0);
    }
    pipe.in.reset();
    reader.join();
    EXPECT_EQ(got.size(), 300'001);
}

/// The text of a file below /proc/self/task.
std::string task_file(const std::string &tid, const char *name) {
    std::ifstream file("/proc/self/task/" + tid + "/" + name);
    std::string text;
    std::getline(file, text);
    return text;
}

/// Waits until the printer's thread has filled the pipe and sleeps in its next write.
void await_held(const Pipe &pipe) {
    constexpr int kHeld = kPipe / 100 * 100;  // whole lines
    for (;;) {
        int bytes = 0;
        ASSERT_EQ(ioctl(pipe.out.get(), FIONREAD, &bytes), 0);
        for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
            const std::string tid = task.path().filename();
            const std::string stat = task_file(tid, "stat");
            const std::size_t name_end = stat.rfind(')');
            const bool asleep = name_end != std::string::npos && stat.substr(name_end).starts_with(") S");
            if (bytes == kHeld && asleep && task_file(tid, "comm") == "printer") return;
        }
        std::this_thread::yield();
    }
}

TEST(Printer, IsNotHeldByAReaderThatStandsStillOnceItIsStopped) {
    std::signal(SIGPIPE, SIG_IGN);  // its unfinished write ends without a reader
    Pipe pipe;
    if (!pipe.as_wanted()) GTEST_SKIP() << "the capacity of a pipe cannot be set to " << kPipe << " bytes";
    Printer printer(pipe.in.get(), options(std::size_t{1} << 20));
    std::string much;
    for (int i = 0; i < 1000; ++i)
        much += line(i);
    EXPECT_TRUE(printer.put(much));
    await_held(pipe);
    const core::Status done = printer.finish(at_once);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, core::Kind::Io);
    EXPECT_FALSE(reader_closed(done.error()));
    EXPECT_EQ(done.error().what, "cannot write the last 960 lines: the reader stopped reading");
}

TEST(Printer, ReportsThatTheReaderHasClosedThePipe) {
    std::signal(SIGPIPE, SIG_IGN);
    Pipe pipe;
    pipe.out.reset();
    Printer printer(pipe.in.get(), options(kPipe));
    EXPECT_TRUE(printer.put(line(0)));
    core::Status done = printer.finish(never);
    ASSERT_FALSE(done);
    EXPECT_TRUE(reader_closed(done.error()));
    done = printer.put(line(1));
    ASSERT_FALSE(done);
    EXPECT_TRUE(reader_closed(done.error()));
}

}  // namespace
}  // namespace rsslag::terminal
