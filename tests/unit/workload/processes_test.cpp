// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <poll.h>
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
        // A quarter of its own, a quarter that the other has copied away from, half shared by two.
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
    EXPECT_EQ(stat_field(proc(child, "stat"), 4), std::to_string(held.pid()));  // a child, of a tgid of its own
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

TEST(ExecArgs, AreChargedToTheOldMemoryAndNoPageTableHasThem) {
    const HeldWorkload held("exec-args");
    SKIP_WHERE_REFUSED(held);
    const auto child = static_cast<pid_t>(held.fact("child"));
    EXPECT_EQ(held.fact("argument_kb"), 400);
    const std::int64_t page_kb = sysconf(_SC_PAGESIZE) / 1024;
    const std::int64_t walked = labelled(proc(child, "smaps_rollup"), "Rss:") / page_kb;
    std::int64_t resident = 0;
    std::string size;
    std::istringstream(proc(child, "statm")) >> size >> resident;
    const std::int64_t arguments = 400 / page_kb;
    RecordProperty("charged_pages", std::to_string(resident - walked));
    // Where statm is exact: the arguments, and the page in which the file's name and the pointers begin.
    if (resident <= walked) GTEST_SKIP() << "statm is not exact on this kernel";
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
        EXPECT_EQ(poll(&gone, 1, 20'000), 1) << name;
        close(pidfd);
    }
}

}  // namespace
}  // namespace rsslag::workload::test
