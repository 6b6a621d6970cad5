// SPDX-License-Identifier: BSD-2-Clause
// For quiescent processes flushed + cached equals smaps to the page, for every kind of memory. The files that lag
// differ from it by exactly the cached amount.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "run.h"

namespace rsslag::live {
namespace {

using nlohmann::json;

constexpr std::array<const char *, 3> kRssMembers{"file", "anon", "shmem"};

std::int64_t clamped_rss(const json &members) {
    std::int64_t sum = 0;
    for (const char *member : kRssMembers)
        sum += std::max<std::int64_t>(0, members[member].get<std::int64_t>());
    return sum;
}

std::int64_t page_kb(const json &process) {
    return process["document"]["page_size"].get<std::int64_t>() / 1024;
}

void expect_sums_hold(const json &process) {
    for (const char *member : kMembers) {
        const auto cached = process["cached"][member].get<std::int64_t>();
        EXPECT_EQ(process["exact"][member].get<std::int64_t>(), process["flushed"][member].get<std::int64_t>() + cached)
            << member;
        std::int64_t sum = 0;
        for (const json &cacher : process["cached_by"])
            sum += cacher[member].get<std::int64_t>();
        EXPECT_EQ(sum, cached) << member;
    }
}

/// stat shows the flushed value; status and statm show the flushed or the exact value, according to the calibration.
void expect_readers_lie_as_calibrated(const json &process) {
    const json &calibration = process["document"]["calibration"];
    const auto in_pages = [&](const char *file) {
        return process["readers"][file]["rss_kb"].get<std::int64_t>() / page_kb(process);
    };
    const std::int64_t flushed = clamped_rss(process["flushed"]);
    const std::int64_t exact = clamped_rss(process["exact"]);
    EXPECT_EQ(calibration["stat"], "flushed");
    EXPECT_EQ(in_pages("stat"), flushed);
    for (const char *file : {"statm", "status"}) {
        ASSERT_NE(calibration[file], "unknown");
        EXPECT_EQ(in_pages(file), calibration[file] == "exact" ? exact : flushed) << file;
        if (!expected.status.empty()) {
            EXPECT_EQ(calibration[file], expected.status) << file;
        }
    }
    EXPECT_EQ(process["lag"].get<std::int64_t>(), process["exact"]["rss"].get<std::int64_t>() - flushed);
    if (!expected.scheme.empty()) {
        EXPECT_EQ(process["document"]["scheme"], expected.scheme);
    }
}

/// No CPU caches a batch or more. The bound of threads is soft: only the number of their faults is limited.
void expect_cache_within_scheme(const json &process) {
    const json &document = process["document"];
    for (const json &cacher : process["cached_by"]) {
        if (document["scheme"] == "thread") {
            EXPECT_LE(cacher["faults_since_flush"].get<int>(), 66) << cacher;
            continue;
        }
        for (const char *member : {"file", "anon", "shmem", "swap"}) {
            EXPECT_LT(std::abs(cacher[member].get<std::int64_t>()), document["batch"].get<std::int64_t>()) << cacher;
        }
    }
}

/// The document without the lists, which may have 10,000 rows.
std::string essence(json process) {
    process.erase("cached_by");
    return process.dump();
}

void expect_agreement(const json &process) {
    EXPECT_EQ(process["verdict"], "agrees") << essence(process);
    EXPECT_EQ(process["residual"], 0);
    EXPECT_EQ(process["walk"], "done");
    EXPECT_EQ(process["walked"]["rss_kb"].get<std::int64_t>(),
              process["exact"]["rss"].get<std::int64_t>() * page_kb(process));
    expect_sums_hold(process);
    expect_readers_lie_as_calibrated(process);
    expect_cache_within_scheme(process);
}

struct Case {
    std::vector<std::string> words;
};

std::string name_of(const testing::TestParamInfo<Case> &info) {
    std::string name = info.param.words[0];
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

class Agreement : public testing::TestWithParam<Case> {};

TEST_P(Agreement, HoldsToThePageOnAQuiescentProcess) {
    const HeldProcess held = HeldProcess::workload(GetParam().words);
    SKIP_WHERE_REFUSED(held);
    for (const pid_t pid : held.pids())
        expect_agreement(snapshot_at_rest(pid));
}

INSTANTIATE_TEST_SUITE_P(Workloads, Agreement,
                         testing::Values(Case{{"classic"}}, Case{{"few-pages"}}, Case{{"per-cpu"}}, Case{{"single"}},
                                         Case{{"half-gone"}}, Case{{"shared-anon"}}, Case{{"memfd"}}, Case{{"sysv"}},
                                         Case{{"file-private"}}, Case{{"file-private-write"}}, Case{{"file-shared"}},
                                         Case{{"populate"}}, Case{{"mlock"}}, Case{{"thp"}}, Case{{"hugetlb"}},
                                         Case{{"zero-page"}}, Case{{"dontneed"}}, Case{{"free"}}, Case{{"mremap"}},
                                         Case{{"ksm"}}, Case{{"swap"}}, Case{{"fork-cow"}}, Case{{"after-exec"}},
                                         Case{{"clone-vm"}}, Case{{"remote-write"}}, Case{{"many-threads"}}),
                         name_of);

TEST(Agreement, HoldsForAnInterpreterWithThreads) {
    const HeldProcess python =
        HeldProcess::program({"python3", "-c",
                              "import threading,signal,sys\n"
                              "def work(kept):\n  kept.append(bytearray(300000)); gate.wait()\n"
                              "gate=threading.Event(); kept=[]\n"
                              "ts=[threading.Thread(target=work,args=(kept,),daemon=True) for _ in range(16)]\n"
                              "[t.start() for t in ts]\n"
                              "sys.stdout.write('ready\\n'); sys.stdout.flush()\n"
                              "signal.pause()\n"});
    if (python.missing()) GTEST_SKIP() << "python3 is not installed";
    ASSERT_TRUE(python.ready()) << python.why();
    // The interpreter is ready before its threads are quiescent. They are if two readings are equal.
    const auto moved = [](json before, json now) {
        return now["verdict"] == "moving" || before["flushed"] != now["flushed"] || before["cached"] != now["cached"];
    };
    const auto end = std::chrono::steady_clock::now() + patience();
    json before = snapshot(python.pid());
    json process = snapshot(python.pid());
    while (moved(before, process) && std::chrono::steady_clock::now() < end)
        before = std::exchange(process, snapshot(python.pid()));
    EXPECT_EQ(process["threads_count"], 17);
    expect_agreement(process);
}

TEST(Agreement, HoldsForTheMainThreadThatEndedBeforeItsThreads) {
    const HeldProcess held = HeldProcess::workload({"leader-gone"});
    SKIP_WHERE_REFUSED(held);
    const json process = snapshot_at_rest(held.pids().back());
    EXPECT_EQ(process["verdict"], "agrees") << essence(process);
    EXPECT_EQ(process["readers"]["stat"]["rss_kb"], 0);
    EXPECT_GT(process["exact"]["rss"], 0);
    expect_sums_hold(process);
}

TEST(Agreement, SharesOneMmBetweenCloneVmProcesses) {
    const HeldProcess held = HeldProcess::workload({"clone-vm"});
    SKIP_WHERE_REFUSED(held);
    const auto pids = held.pids();
    ASSERT_EQ(pids.size(), 2U);
    const auto documents = run_json({"snapshot", "--json", std::to_string(pids[0]), std::to_string(pids[1])});
    const json &processes = documents.at(0)["processes"];
    ASSERT_EQ(processes.size(), 2U);
    EXPECT_EQ(processes[0]["mm"]["id"], processes[1]["mm"]["id"]);
    EXPECT_EQ(processes[0]["mm"]["tasks"], 2);
    EXPECT_EQ(processes[0]["mm"]["pids"], json(pids));
    EXPECT_EQ(processes[0]["exact"], processes[1]["exact"]);
}

TEST(Residual, OfAStuckExecIsItsArgumentPages) {
    const HeldProcess held = HeldProcess::workload({"exec-args"});
    SKIP_WHERE_REFUSED(held);
    const json process = snapshot_at_rest(held.pids().back());
    const std::int64_t argument_pages = std::stoll(held.fact("argument_kb")) / page_kb(process);
    EXPECT_EQ(process["verdict"], "explained") << process.dump(1);
    ASSERT_EQ(process["residual_causes"].size(), 1U);
    EXPECT_EQ(process["residual_causes"][0]["cause"], "exec_arguments");
    // The kernel charges whole pages of the new stack, whose first and last page are used in part.
    EXPECT_NEAR(static_cast<double>(-process["residual"].get<std::int64_t>()), static_cast<double>(argument_pages), 2);
    expect_sums_hold(process);
}

TEST(Residual, OfPoisonedPagesIsNamedSo) {
    const HeldProcess held = HeldProcess::workload({"hwpoison"});
    SKIP_WHERE_REFUSED(held);
    const json process = snapshot_at_rest(held.pid());
    // Some kernels still count a poisoned page in smaps; then the residual has this cause.
    if (process["residual"] == 0) {
        EXPECT_EQ(process["verdict"], "agrees");
    } else {
        EXPECT_EQ(process["residual"], 3) << process.dump(1);
        EXPECT_EQ(process["verdict"], "explained");
        EXPECT_EQ(process["residual_causes"], json::parse(R"([{"cause":"hwpoison","pages":3}])"));
    }
    std::printf("hwpoison: residual %s\n", process["residual"].dump().c_str());
}

}  // namespace
}  // namespace rsslag::live
