// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "held.h"

namespace rsslag::workload::test {
namespace {

/// A test may depend on the version, unlike the product: at worst it skips on a vendor's kernel.
bool caches_by_cpu() {
    utsname name{};
    uname(&name);
    int major = 0, minor = 0;
    std::sscanf(name.release, "%d.%d", &major, &minor);
    return major > 6 || (major == 6 && minor >= 2);
}

TEST(Classic, HasAHundredNamedThreadsAndAllTheirMemoryResident) {
    const HeldWorkload held("classic");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.fact("threads"), 100);
    EXPECT_EQ(held.fact("touched_kb"), 102'400);
    EXPECT_EQ(tasks_of(held.pid()).size(), 101U);
    EXPECT_EQ(stat_field(proc(held.pid(), "stat"), 20), "101");
    EXPECT_EQ(held.mapping_kb("Rss:"), 102'400);
    EXPECT_EQ(held.mapping_kb("AnonHugePages:"), 0);
    std::size_t named = 0;
    for (const pid_t task : tasks_of(held.pid())) {
        named += proc(held.pid(), "task/" + std::to_string(task) + "/comm").starts_with("worker-");
    }
    EXPECT_EQ(named, 100U);
}

TEST(FewPages, StaysBelowTheFaultsThatMakeAThreadFlush) {
    const HeldWorkload held("few-pages");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.mapping_kb("Rss:"), 32 * 240);
#ifdef RSSLAG_SANITIZED
    GTEST_SKIP() << "AddressSanitizer's own pages are faulted in by the threads";
#endif
    for (const pid_t task : tasks_of(held.pid())) {
        if (task == held.pid()) continue;
        // mm/memory.c flushes when more than 64 faults were counted before the present one.
        const std::string stat = proc(held.pid(), "task/" + std::to_string(task) + "/stat");
        EXPECT_GE(std::stoll(stat_field(stat, 10)), 60);
        EXPECT_LE(std::stoll(stat_field(stat, 10)), 65);
    }
}

TEST(Threads, TakeTheNumberAndTheSizeThatAreAskedFor) {
    const HeldWorkload held("classic", {.threads = 3, .kb = 40});
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(tasks_of(held.pid()).size(), 4U);
    EXPECT_EQ(held.mapping_kb("Rss:"), 120);
}

TEST(ManyThreads, NeedHardlyMoreMappingsThanOne) {
    const HeldWorkload held("many-threads", {.threads = 1'000});
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(tasks_of(held.pid()).size(), 1'001U);
    EXPECT_EQ(held.mapping_kb("Rss:"), 4'000);
#ifndef RSSLAG_SANITIZED
    EXPECT_LT(std::ranges::count(proc(held.pid(), "maps"), '\n'), 200);
#endif
}

TEST(HalfGone, KeepsTheMemoryOfThreadsThatHaveEnded) {
    const HeldWorkload held("half-gone");
    SKIP_WHERE_REFUSED(held);
    EXPECT_EQ(held.fact("threads"), 32);
    EXPECT_EQ(held.fact("gone"), 32);
    EXPECT_EQ(tasks_of(held.pid()).size(), 33U);
    EXPECT_EQ(held.mapping_kb("Rss:"), 64 * 64);
}

TEST(LeaderGone, LivesOnWithoutItsLeader) {
    const HeldWorkload held("leader-gone");
    SKIP_WHERE_REFUSED(held);
    const auto child = static_cast<pid_t>(held.fact("child"));
    EXPECT_EQ(states_of(child), "SSSSZ");
    EXPECT_EQ(stat_field(proc(child, "stat"), 3), "Z");
}

TEST(PerCpu, LeavesEachMemberJustUnderTheBatchOnEachCpu) {
    const HeldWorkload held("per-cpu");
    SKIP_WHERE_REFUSED(held);
    const std::int64_t cpus = held.fact("cpus"), batch = held.fact("batch");
    EXPECT_GE(cpus, 1);
    EXPECT_GE(batch, 32);
    // May run on any CPU again.
    EXPECT_EQ(labelled(proc(held.pid(), "status"), "Threads:"), 1);
    const std::int64_t page_kb = sysconf(_SC_PAGESIZE) / 1024;
    const std::int64_t walked = labelled(proc(held.pid(), "smaps_rollup"), "Rss:") / page_kb;
    const std::int64_t lag = walked - std::stoll(stat_field(proc(held.pid(), "stat"), 24));
    const int members = held.text("file") == "yes" ? 3 : 2;
    RecordProperty("lag_pages", std::to_string(lag));
    if (!caches_by_cpu()) GTEST_SKIP() << "this kernel does not cache on CPUs: the lag is " << lag << " pages";
    // stat shows the flushed pages. The report of the workload's process may have folded the cache of one CPU.
    EXPECT_GE(lag, (cpus - 1) * members * (batch - 1));
    EXPECT_LE(lag, cpus * members * (batch - 1));
}

}  // namespace
}  // namespace rsslag::workload::test
