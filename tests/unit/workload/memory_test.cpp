// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "held.h"

namespace rsslag::workload::test {
namespace {

/// The value of a setting while no workload has changed it: a workload holds the lock as long as it uses it.
std::string settled(const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return "";
    EXPECT_EQ(flock(fd, LOCK_EX), 0);
    std::string text = slurp(path);
    close(fd);
    return text;
}

TEST(Single, TouchesItsMemoryInOneThread) {
    const HeldWorkload held("single");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(tasks_of(held.pid()).size(), 1U);
    EXPECT_EQ(held.mapping_kb("Rss:"), 1'024);
    EXPECT_EQ(held.mapping_kb("Anonymous:"), 1'024);
}

TEST(SharedAnon, IsResidentAndSharedWithNoOtherProcess) {
    const HeldWorkload held("shared-anon");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 51'200);
    EXPECT_EQ(held.mapping_kb("Pss:"), 51'200);
    EXPECT_EQ(held.mapping_kb("Anonymous:"), 0);
    EXPECT_GT(labelled(proc(held.pid(), "status"), "RssShmem:"), 40'000);
}

TEST(Memfd, IsResidentAsShmem) {
    const HeldWorkload held("memfd");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 8'192);
    EXPECT_NE(proc(held.pid(), "maps").find("/memfd:rsslag"), std::string::npos);
}

TEST(SysV, LeavesNoSegmentBehindWhenItIsKilled) {
    const HeldWorkload held("sysv");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 8'192);
    EXPECT_NE(proc(held.pid(), "maps").find("/SYSV00000000 (deleted)"), std::string::npos);
}

TEST(FilePrivate, IsReadAndNotWritten) {
    const HeldWorkload held("file-private");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), held.fact("read_kb"));
    EXPECT_EQ(held.mapping_kb("Anonymous:"), 0);
}

TEST(FilePrivateWrite, TurnsHalfOfTheFileIntoAnonymousMemory) {
    const HeldWorkload held("file-private-write");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), held.fact("read_kb"));
    EXPECT_EQ(held.mapping_kb("Anonymous:"), held.fact("written_kb"));
    EXPECT_EQ(held.fact("written_kb"), held.fact("read_kb") / 2);
}

TEST(FileShared, DirtiesTheFileAndStaysAFile) {
    const HeldWorkload held("file-shared");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 4'096);
    EXPECT_EQ(held.mapping_kb("Anonymous:"), 0);
    // From the page tables: status may lag after the attempt to map a file.
    EXPECT_EQ(labelled(proc(held.pid(), "smaps_rollup"), "Pss_Shmem:"), 0);
}

TEST(Populate, HasEveryPageInBasePages) {
    const HeldWorkload held("populate");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 8'192);
    EXPECT_EQ(held.mapping_kb("AnonHugePages:"), 0);
}

TEST(Mlock, LocksWhatTheLimitAllows) {
#ifdef RSSLAG_SANITIZED
    GTEST_SKIP() << "AddressSanitizer makes mlock() a no-op";
#endif
    const HeldWorkload held("mlock");
    SKIP_WHERE_REFUSED(held);
    EXPECT_GT(held.fact("locked_kb"), 0);
    EXPECT_EQ(held.mapping_kb("Rss:"), held.fact("locked_kb"));
    EXPECT_EQ(labelled(proc(held.pid(), "status"), "VmLck:"), held.fact("locked_kb"));
}

TEST(Thp, HasHugePages) {
    const HeldWorkload held("thp");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 8'192);
    // khugepaged may have made more of them in the meantime.
    EXPECT_GE(held.mapping_kb("AnonHugePages:"), held.fact("huge_kb"));
    EXPECT_LE(held.mapping_kb("AnonHugePages:"), 8'192);
}

TEST(Hugetlb, HasPagesThatRssDoesNotCountAndPutsTheSettingBack) {
    const std::string before = settled("/proc/sys/vm/nr_hugepages");
    const HeldWorkload held("hugetlb");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 0);
    EXPECT_EQ(held.mapping_kb("Private_Hugetlb:"), held.fact("hugetlb_kb"));
    EXPECT_EQ(settled("/proc/sys/vm/nr_hugepages"), before);
}

TEST(ZeroPage, HasFaultsAndNothingResident) {
    const HeldWorkload held("zero-page");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Size:"), 8'192);
    EXPECT_EQ(held.mapping_kb("Rss:"), 0);
    EXPECT_GE(std::stoll(stat_field(proc(held.pid(), "stat"), 10)), 2'048);
}

TEST(Dontneed, DropsHalf) {
    const HeldWorkload held("dontneed");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Size:"), 8'192);
    EXPECT_EQ(held.mapping_kb("Rss:"), 4'096);
}

TEST(Free, GivesUpHalfButForWhatIsWrittenAgain) {
    const HeldWorkload held("free");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 8'192);
    // The kernel skips pages that are still in another CPU's LRU batch.
    const std::int64_t given_up = held.fact("freed_kb") - held.fact("written_again_kb");
    EXPECT_LE(held.mapping_kb("LazyFree:"), given_up);
    EXPECT_GE(held.mapping_kb("LazyFree:"), given_up / 2);
}

TEST(Mremap, HasLostAQuarterAndTouchedAnother) {
    const HeldWorkload held("mremap");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Size:"), 8'192 + 2'048);
    EXPECT_EQ(held.mapping_kb("Rss:"), 8'192);
}

TEST(Ksm, MergesAtLeastHalfAndPutsTheSettingsBack) {
    const std::string before = settled("/sys/kernel/mm/ksm/run");
    const HeldWorkload held("ksm");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 4'096);
    EXPECT_GE(held.fact("merged_pages"), 512);
    EXPECT_EQ(settled("/sys/kernel/mm/ksm/run"), before);
}

TEST(Swap, HasSwappedPages) {
    const HeldWorkload held("swap");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Swap:"), held.fact("swapped_kb"));
    EXPECT_GT(labelled(proc(held.pid(), "status"), "VmSwap:"), 0);
    EXPECT_EQ(held.mapping_kb("Rss:") + held.mapping_kb("Swap:"), 16'384);
}

TEST(Hwpoison, LeavesMachinesAloneThatAreNotMeantForIt) {
    if (slurp("/proc/cmdline").find("rsslag.poison") != std::string::npos) {
        const HeldWorkload held("hwpoison");
        SKIP_WHERE_REFUSED(held);
        EXPECT_EQ(held.fact("poisoned_pages"), 3);
        return;
    }
    const HeldWorkload held("hwpoison");
    ASSERT_FALSE(held.ok());
    EXPECT_EQ(held.error().kind, core::Kind::Unsupported);
    EXPECT_NE(held.error().remedy.find("rsslag.poison"), std::string::npos);
}

}  // namespace
}  // namespace rsslag::workload::test
