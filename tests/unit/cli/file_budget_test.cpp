// SPDX-License-Identifier: BSD-2-Clause
#include "cli/file_budget.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/fd.h"
#include "terminal/rescue.h"

namespace rsslag::cli {
namespace {

// Each test runs in a child, since a budget limits the memory of its process.

/// Sends the signal of the timer, instead of using up the CPU time.
void expire() {
    siginfo_t info{};
    info.si_code = SI_TIMER;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGXCPU, &info);
}

TEST(FileBudget, EndsInTheMiddleOfAStepWithARefusal) {
    FileBudget budget({"a.rsslag"});
    EXPECT_EXIT(_exit(budget.run([] {
                    expire();
                    return 0;
                })),
                testing::ExitedWithCode(2),
                "^rsslag: a.rsslag contains far more than its size allows: reading it takes too long; "
                "name a recording that "
                "rsslag wrote, or use a faster machine\n$");
}

TEST(FileBudget, LeavesNoIncompleteFile) {
    std::array<std::string, 2> files{testing::TempDir() + "one.XXXXXX", testing::TempDir() + "two.XXXXXX"};
    for (std::string &file : files)
        const core::Fd made(mkstemp(file.data()));
    FileBudget budget({"a.rsslag"});
    EXPECT_EXIT(_exit(budget.run([&files] {
                    for (const std::string &file : files)
                        terminal::remove_at_death(file);
                    expire();
                    return 0;
                })),
                testing::ExitedWithCode(2), "takes too long");
    for (const std::string &file : files)
        EXPECT_NE(access(file.c_str(), F_OK), 0) << file;
}

TEST(FileBudget, LeavesTheSignalOfOthersAsItIs) {
    FileBudget budget({"a.rsslag"});
    EXPECT_EXIT(_exit(budget.run([] {
                    raise(SIGXCPU);
                    return 0;
                })),
                testing::KilledBySignal(SIGXCPU), "^$");
}

TEST(FileBudget, IsOverOnceTheOutputIsComplete) {
    FileBudget budget({"a.rsslag"});
    EXPECT_EXIT(_exit(budget.run([&budget] {
                    budget.done();
                    expire();
                    return 0;
                })),
                testing::KilledBySignal(SIGXCPU), "^$");
}

/// Under AddressSanitizer there is no limit.
TEST(FileBudget, AllowsTheMemoryOfAnotherFileOnceItIsAdded) {
    constexpr std::size_t kBytes = std::size_t{300} << 20;
    const auto take = [] { const std::vector<char> bytes(kBytes); };
    FileBudget budget({"a.rsslag"});
#ifndef __SANITIZE_ADDRESS__
    EXPECT_EXIT(_exit(budget.run([&take] {
                    take();
                    return 0;
                })),
                testing::ExitedWithCode(2), "reading it takes more than 224 MiB of memory");
#endif
    EXPECT_EXIT(_exit(budget.run([&budget, &take] {
                    budget.add(kBytes);
                    take();
                    return 0;
                })),
                testing::ExitedWithCode(0), "^$");
}

/// A file that is mostly padding gets no more time than its size allows.
TEST(FileBudget, AllowsTimeForTheWorkThatRecordsMake) {
    constexpr off_t kBytes = 10'000'000;
    constexpr double kOfSize = 4 + 0.6 * 10 / 4;
    std::string file = testing::TempDir() + "XXXXXX";
    const core::Fd made(mkstemp(file.data()));
    ASSERT_EQ(ftruncate(made.get(), kBytes), 0);
    FileBudget budget({file});
    unlink(file.c_str());
    EXPECT_FALSE(budget.spent(1'000'000));
    EXPECT_DOUBLE_EQ(budget.seconds(), kOfSize);
    EXPECT_FALSE(budget.spent(60'000'000));
    EXPECT_DOUBLE_EQ(budget.seconds(), 15);
    EXPECT_FALSE(budget.spent(20'000'000)) << "of the next file";
    EXPECT_DOUBLE_EQ(budget.seconds(), 20);
    EXPECT_FALSE(budget.spent(800'000'000));
    EXPECT_DOUBLE_EQ(budget.seconds(), 100) << "at most 10 us a byte";
    EXPECT_FALSE(budget.spent(1'000'000'000));
    EXPECT_DOUBLE_EQ(budget.seconds(), kOfSize) << "denser than recordings of a tracer";
}

}  // namespace
}  // namespace rsslag::cli
