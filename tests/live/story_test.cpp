// SPDX-License-Identifier: BSD-2-Clause
// The cases in which ps is wrong: what each scheme hides, and how much.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdint>
#include <cstdio>

#include "../long_only.h"
#include "run.h"

namespace rsslag::live {
namespace {

using nlohmann::json;

std::string scheme_of(const json &process) {
    return process["document"]["scheme"];
}

std::int64_t kb(const json &process, const char *reader) {
    return process["readers"][reader]["rss_kb"];
}

std::vector<json> workers(const json &process) {
    std::vector<json> found;
    for (const json &cacher : process["cached_by"]) {
        if (cacher.contains("comm") && cacher["comm"].get<std::string>().starts_with("worker-"))
            found.push_back(cacher);
    }
    return found;
}

TEST(Classic, HidesSome61PagesInEachOfAHundredThreads) {
    const HeldProcess held = HeldProcess::workload({"classic"});
    SKIP_WHERE_REFUSED(held);
    const json process = snapshot_at_rest(held.pid());
    const std::int64_t exact_kb = process["exact"]["rss"].get<std::int64_t>() * 4;
    EXPECT_GT(exact_kb, 102'400);
    EXPECT_EQ(process["walked"]["rss_kb"], exact_kb);
    if (scheme_of(process) != "thread") GTEST_SKIP() << "this kernel caches on CPUs: the workload classic lags little";
    EXPECT_GT(kb(process, "stat"), 74'000);
    EXPECT_LT(kb(process, "stat"), 88'000);
    EXPECT_EQ(kb(process, "status"), kb(process, "stat"));
    EXPECT_EQ(kb(process, "statm"), kb(process, "stat"));
    const Outcome ps = run({"ps", "-o", "rss=", "-p", std::to_string(held.pid())});
    if (ps.status != 127) {  // otherwise there is no ps
        EXPECT_EQ(std::stoll(ps.out), kb(process, "stat"));
    }
    const auto threads = workers(process);
    EXPECT_EQ(threads.size(), 100U);
    for (const json &thread : threads) {
        EXPECT_GE(thread["anon"], 50) << thread;
        EXPECT_LE(thread["anon"], 66) << thread;
    }
    std::printf("classic: stat %lld kB, exact %lld kB, cached %lld pages in %zu workers\n",
                static_cast<long long>(kb(process, "stat")), static_cast<long long>(exact_kb),
                process["cached"]["rss"].get<long long>(), threads.size());
}

TEST(FewPages, AreAllHidden) {
    const HeldProcess held = HeldProcess::workload({"few-pages"});
    SKIP_WHERE_REFUSED(held);
    const json process = snapshot_at_rest(held.pid());
    const std::int64_t exact_kb = process["exact"]["rss"].get<std::int64_t>() * 4;
    const json &document = process["document"];
    if (scheme_of(process) == "thread") {
        const auto threads = workers(process);
        EXPECT_EQ(threads.size(), 32U);
        for (const json &thread : threads) {
            EXPECT_GE(thread["anon"], 60) << thread;
            EXPECT_LE(thread["anon"], 66) << thread;
        }
        EXPECT_LT(kb(process, "stat"), exact_kb / 2);
    }
    EXPECT_EQ(process["walked"]["rss_kb"], exact_kb);
    std::printf("few-pages: stat %lld kB, status %lld kB, exact %lld kB, cached by %zu\n",
                static_cast<long long>(kb(process, "stat")), static_cast<long long>(kb(process, "status")),
                static_cast<long long>(exact_kb), process["cached_by"].size());
    if (scheme_of(process) == "thread" || document["cpus_online"].get<int>() < 32) return;
    RSSLAG_LONG_ONLY("the scheduler determines on how many CPUs the threads run");
    EXPECT_LT(kb(process, "stat"), exact_kb / 2);
    EXPECT_GE(process["cached_by"].size(), 16U);
}

/// The number of CPUs on which this process and its children may run.
std::size_t allowed_cpus() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? static_cast<std::size_t>(CPU_COUNT(&cpus)) : 0;
}

TEST(PerCpu, LeavesEachMemberOfEachCpuJustUnderTheBatch) {
    const HeldProcess held = HeldProcess::workload({"per-cpu"});
    SKIP_WHERE_REFUSED(held);
    const json process = snapshot_at_rest(held.pid());
    if (scheme_of(process) != "cpu") GTEST_SKIP() << "this kernel caches in threads";
    const std::int64_t most = process["document"]["batch"].get<std::int64_t>() - 1;
    const auto cpus = process["document"]["cpus_online"].get<std::size_t>();
    if (allowed_cpus() < cpus) GTEST_SKIP() << "only " << allowed_cpus() << " of " << cpus << " CPUs are allowed here";
    ASSERT_EQ(process["cached_by"].size(), cpus);
    for (const json &cpu : process["cached_by"]) {
        EXPECT_GE(cpu["shmem"], most - 2) << cpu;
        EXPECT_GE(cpu["anon"], most - 8) << cpu;
    }
    if (held.fact("file") == "no") return;
    RSSLAG_LONG_ONLY("a later fault on a page of code changes the file counter of its CPU, and may fold it");
    for (const json &cpu : process["cached_by"])
        EXPECT_GE(cpu["file"], most - 8) << cpu;
}

TEST(Exited, ThreadsLeaveNothingHiddenOnTheThreadScheme) {
    const HeldProcess held = HeldProcess::workload({"half-gone"});
    SKIP_WHERE_REFUSED(held);
    const json process = snapshot_at_rest(held.pid());
    EXPECT_EQ(process["threads_count"], 33);
    if (scheme_of(process) == "thread") {
        EXPECT_EQ(workers(process).size(), 32U);
    }
}

TEST(Cost, OfOneReadingIsAsPromised) {
    RSSLAG_LONG_ONLY("it measures time");
    const auto best = [](const HeldProcess &held, const char *repeat) {
        std::int64_t least = INT64_MAX;
        for (const json &document : run_json({"snapshot", "--json", "--repeat", repeat, std::to_string(held.pid())})) {
            least = std::min(least, document["processes"][0]["snapshot_us"].get<std::int64_t>());
        }
        return least;
    };
    const HeldProcess classic = HeldProcess::workload({"classic"});
    ASSERT_TRUE(classic.ready()) << classic.why();
    const std::int64_t hundred = best(classic, "9");
    std::printf("snapshot of 101 threads: %lld us\n", static_cast<long long>(hundred));
    if (emulated()) GTEST_SKIP() << "emulated CPUs are too slow for a time limit";
    EXPECT_LE(hundred, 1000);
}

}  // namespace
}  // namespace rsslag::live
