// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <sstream>

#include "held.h"

namespace rsslag::workload::test {
namespace {

TEST(ForkCow, HasHalfOfItsMemoryStillSharedByParentAndChild) {
    const HeldWorkload held("fork-cow");
    SKIP_WHERE_REFUSED(held);
    const auto child = static_cast<pid_t>(held.fact("child"));
    for (const pid_t pid : {held.pid(), child}) {
        EXPECT_EQ(held.mapping_kb("Rss:", pid), 8'192);
        // A private quarter, a quarter that the other process has copied, and half shared by the two.
        EXPECT_EQ(held.mapping_kb("Pss:", pid), 8'192 / 2 + 8'192 / 4);
    }
}

TEST(AfterExec, RunsAnotherProgram) {
    const HeldWorkload held("after-exec");
    SKIP_WHERE_REFUSED(held);
    const auto child = static_cast<pid_t>(held.fact("child"));
    EXPECT_NE(proc(child, "cmdline").find("1000000000"), std::string::npos);
    EXPECT_GT(labelled(proc(child, "smaps_rollup"), "Rss:"), 0);
}

TEST(CloneVm, SharesTheMemoryWithoutBeingAThread) {
    const HeldWorkload held("clone-vm");
    SKIP_WHERE_REFUSED(held);
    const auto child = static_cast<pid_t>(held.fact("child"));
    EXPECT_EQ(stat_field(proc(child, "stat"), 4), std::to_string(held.pid()));  // a child with its own tgid
    EXPECT_EQ(labelled(proc(child, "status"), "Tgid:"), child);
    EXPECT_EQ(proc(child, "maps"), proc(held.pid(), "maps"));
    EXPECT_EQ(held.mapping_kb("Rss:"), 392);
    EXPECT_EQ(held.mapping_kb("Rss:", child), 392);
    // The child has made those faults.
    EXPECT_GE(std::stoll(stat_field(proc(child, "stat"), 10)), 98);
}

TEST(RemoteWrite, HasMemoryThatItNeverTouched) {
    const HeldWorkload held("remote-write");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 1'200);
    EXPECT_EQ(held.mapping_kb("Rss:", static_cast<pid_t>(held.fact("writer"))), 0);
}

std::int64_t resident_pages(pid_t pid) {
    std::int64_t size = 0, resident = 0;
    std::istringstream(proc(pid, "statm")) >> size >> resident;
    return resident;
}

/// Whether touched pages show immediately; they are fewer than a thread or a CPU may cache.
bool statm_is_exact() {
    constexpr std::size_t kPages = 24;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *const at = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    madvise(at, kPages * page, MADV_NOHUGEPAGE);
    resident_pages(getpid());  // the first reading allocates what reading needs
    std::size_t shown = 0;
    for (std::size_t i = 0; i < kPages; ++i) {
        const std::int64_t before = resident_pages(getpid());
        static_cast<volatile char *>(at)[i * page] = 1;
        shown += resident_pages(getpid()) == before + 1 ? 1U : 0U;
    }
    munmap(at, kPages * page);
    return shown > kPages * 3 / 4;
}

TEST(ExecArgs, AreChargedToTheOldMemoryAndNoPageTableHasThem) {
    const HeldWorkload held("exec-args");
    SKIP_WHERE_REFUSED(held);
    const auto child = static_cast<pid_t>(held.fact("child"));
    EXPECT_EQ(held.fact("argument_kb"), 400);
    const std::int64_t page_kb = sysconf(_SC_PAGESIZE) / 1024;
    const std::int64_t walked = labelled(proc(child, "smaps_rollup"), "Rss:") / page_kb;
    const std::int64_t resident = resident_pages(child);
    const std::int64_t arguments = 400 / page_kb;
    RecordProperty("charged_pages", std::to_string(resident - walked));
    // If statm is exact: the arguments, and the page in which the file's name and the pointers start.
    if (!statm_is_exact()) GTEST_SKIP() << "statm is not exact on this kernel";
    EXPECT_GE(resident - walked, arguments);
    EXPECT_LE(resident - walked, arguments + 3);
}

TEST(Children, DieWithTheWorkload) {
    for (const char *name : {"fork-cow", "after-exec", "clone-vm", "leader-gone", "exec-args"}) {
        auto held = std::make_unique<HeldWorkload>(name);
        if (held->refused()) continue;
        ASSERT_TRUE(held->ok()) << held->error().what;
        const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, held->fact("child"), 0));
        ASSERT_GE(pidfd, 0);
        held.reset();
        pollfd gone{pidfd, POLLIN, 0};
        EXPECT_EQ(poll(&gone, 1, -1), 1) << name;  // ctest's timeout limits the wait
        close(pidfd);
    }
}

}  // namespace
}  // namespace rsslag::workload::test
