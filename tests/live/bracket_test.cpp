// SPDX-License-Identifier: BSD-2-Clause
// Equal counters on both sides of a walk prove nothing: the target may map, touch and unmap between them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/reconcile.h"
#include "probe/snapshot.h"
#include "probe/traits.h"
#include "procfs/process.h"
#include "system/machine.h"

namespace rsslag::live {
namespace {

constexpr std::size_t kBytes = 200 * 4096;

/// Does one thing for each received byte, and sends a byte back: 't' maps and touches, 'u' unmaps, 'd' drops the pages.
[[noreturn]] void obey(int fd) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // khugepaged would change its counters, too
    char *memory = nullptr;
    char order = 0;
    while (read(fd, &order, 1) == 1) {
        if (order == 't') {
            memory =
                static_cast<char *>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            madvise(memory, kBytes, MADV_NOHUGEPAGE);
            for (std::size_t i = 0; i < kBytes; i += 4096)
                memory[i] = 1;
        }
        if (order == 'u') munmap(memory, kBytes);
        if (order == 'd') madvise(memory, kBytes, MADV_DONTNEED);
        if (write(fd, &order, 1) != 1) break;
    }
    _exit(0);
}

class Bracket : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0);
        child_ = fork();
        if (child_ == 0) obey(fds_[1]);
        close(fds_[1]);  // so that read() returns 0 after the child's end
        auto traits = probe::running_kernel_traits();
        ASSERT_TRUE(traits);
        core::Machine machine = system::this_host().machine;
        machine.scheme = std::get<core::Scheme>(traits->scheme);
        auto probe = probe::SnapshotProbe::open(*traits, machine);
        ASSERT_TRUE(probe) << probe.error().what;
        probe_ = std::make_unique<probe::SnapshotProbe>(std::move(*probe));
    }
    void TearDown() override {
        close(fds_[0]);
        if (child_ <= 0) return;
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }

    void order(char what) {
        ASSERT_EQ(write(fds_[0], &what, 1), 1);
        ASSERT_EQ(read(fds_[0], &what, 1), 1);
    }
    core::CounterReading counters() {
        auto reading = probe_->read(child_);
        EXPECT_TRUE(reading);
        return reading ? *reading : core::CounterReading{};
    }
    core::Walk walk() {
        const auto process = procfs::Process::open(child_);
        const auto text = process->smaps_rollup_text();
        const auto rollup = procfs::parse_smaps_rollup(text->bytes);
        core::Walk walk;
        walk.rss = *rollup->sums.rss;
        return walk;
    }
    /// The reconciliation of two readings with a walk between them.
    core::Reconciliation reconciled(core::CounterReading before, core::CounterReading after, const core::Walk &seen) {
        core::Bracket bracket;
        bracket.readings = {std::move(before), std::move(after)};
        bracket.walk_state = core::WalkState::Done;
        bracket.walk = seen;
        return core::reconcile(bracket, core::PageSize{});
    }

    int fds_[2] = {-1, -1};
    pid_t child_ = 0;
    std::unique_ptr<probe::SnapshotProbe> probe_;
};

/// The kernel may reclaim pages of the child at any time, but not in every attempt.
constexpr int kTries = 3;

TEST_F(Bracket, WithNothingBetweenAgrees) {
    order('t');
    auto verdict = core::Verdict::Moving;
    for (int tries = 0; tries < kTries && verdict == core::Verdict::Moving; ++tries) {
        const auto before = counters();
        const auto seen = walk();
        verdict = reconciled(before, counters(), seen).verdict;
    }
    EXPECT_EQ(verdict, core::Verdict::Agrees);
}

TEST_F(Bracket, CallsItMovingWhenTheWalkSawWhatBothReadingsDidNot) {
    order('t');
    order('u');  // a first round, so that the page tables exist
    core::CounterReading before, after;
    core::Walk seen;
    for (int tries = 0; tries < kTries && (tries == 0 || before.exact().rss() != after.exact().rss()); ++tries) {
        before = counters();
        order('t');
        seen = walk();
        order('u');
        after = counters();
    }
    // The counters do not show it: the same exact value on both sides, and a walk that saw 200 pages more.
    EXPECT_EQ(before.exact().rss(), after.exact().rss());
    EXPECT_GE(seen.rss.n, 4 * (after.exact().rss().n + 190));
    const auto verdict = reconciled(before, after, seen);
    EXPECT_EQ(verdict.verdict, core::Verdict::Moving);
    EXPECT_GE(verdict.residual->n, 190);
}

TEST_F(Bracket, SeesPagesDroppedWithoutAnUnmap) {
    order('t');
    order('d');
    const auto before = counters();
    order('t');
    const auto seen = walk();
    order('d');
    EXPECT_EQ(reconciled(before, counters(), seen).verdict, core::Verdict::Moving);
}

}  // namespace
}  // namespace rsslag::live
