// SPDX-License-Identifier: BSD-2-Clause
#include "profile/reason.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace rsslag::profile {
namespace {

constexpr int kPid = 10, kOtherPid = 11;

core::Sample sample(std::int32_t syscall, std::uint64_t address = 0, int pid = kPid) {
    core::Sample sample;
    sample.syscall = syscall;
    sample.address = address;
    sample.pid = pid;
    return sample;
}

TEST(ReasonOf, APageFaultWithinASystemCallIsAPageFault) {
    EXPECT_EQ(reason_of(sample(SYS_read, 0x1000), kPid, false), Reason::PageFault);
    EXPECT_EQ(reason_of(sample(core::kNoSyscall, 0x1000), kPid, true), Reason::PageFault);
}

TEST(ReasonOf, TheSystemCall) {
    EXPECT_EQ(reason_of(sample(SYS_munmap), kPid, true), Reason::Munmap);
    EXPECT_EQ(reason_of(sample(SYS_madvise), kPid, true), Reason::Madvise);
    EXPECT_EQ(reason_of(sample(SYS_mremap), kPid, true), Reason::Mremap);
    EXPECT_EQ(reason_of(sample(SYS_mmap), kPid, false), Reason::Mmap);
    EXPECT_EQ(reason_of(sample(SYS_brk), kPid, true), Reason::Brk);
    EXPECT_EQ(reason_of(sample(SYS_mlock2), kPid, false), Reason::Mlock);
    EXPECT_EQ(reason_of(sample(SYS_execve), kPid, true), Reason::Exec);
    EXPECT_EQ(reason_of(sample(SYS_clone3), kPid, false), Reason::Fork);
    EXPECT_EQ(reason_of(sample(SYS_exit_group), kPid, true), Reason::Exit);
    EXPECT_EQ(reason_of(sample(SYS_ftruncate), kPid, true), Reason::Truncate);
    EXPECT_EQ(reason_of(sample(SYS_read), kPid, true), Reason::Syscall);
    EXPECT_EQ(reason_of(sample(core::kNoSyscall), kPid, true), Reason::Unknown);
}

TEST(ReasonOf, TheStateOfTheThreadComesFirst) {
    EXPECT_EQ(reason_of(sample(core::kExiting), kPid, true), Reason::Exit);
    EXPECT_EQ(reason_of(sample(core::kKernelThread, 0, 0), kPid, true), Reason::KernelThread);
}

TEST(ReasonOf, Reclaim) {
    for (const int pid : {kPid, kOtherPid, 0})
        EXPECT_EQ(reason_of(sample(core::kReclaim, 0, pid), kPid, true), Reason::Reclaim);
}

TEST(ReasonOf, AnotherProcess) {
    EXPECT_EQ(reason_of(sample(core::kNoSyscall, 0x1000, kOtherPid), kPid, true),
              Reason::OtherProcess);  // of an earlier version: it reclaims in a fault
    EXPECT_EQ(reason_of(sample(SYS_read, 0, kOtherPid), kPid, true), Reason::OtherProcess);
    EXPECT_EQ(reason_of(sample(SYS_process_madvise, 0, kOtherPid), kPid, true), Reason::Madvise);
    EXPECT_EQ(reason_of(sample(core::kNoSyscall, 0x1000, kOtherPid), kPid, false), Reason::PageFault);  // after a vfork
}

}  // namespace
}  // namespace rsslag::profile
