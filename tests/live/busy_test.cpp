// SPDX-License-Identifier: BSD-2-Clause
// A target that maps, touches and unmaps without pause never gets a wrong verdict.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>

#include "../long_only.h"
#include "run.h"

namespace rsslag::live {
namespace {

using nlohmann::json;

void expect_honest(const json &process) {
    const std::string verdict = process["verdict"];
    ASSERT_TRUE(verdict == "agrees" || verdict == "moving" || verdict == "explained") << process.dump(1);
    const auto min = process["window"]["min"].get<std::int64_t>();
    const auto max = process["window"]["max"].get<std::int64_t>();
    EXPECT_LE(min, max);
    if (verdict == "agrees") {
        EXPECT_EQ(process["residual"], 0);
        EXPECT_EQ(min, max);
        EXPECT_EQ(process["exact"]["rss"], min);
    }
    if (verdict == "explained") {
        EXPECT_EQ(process["residual_causes"][0]["cause"], "in_flight") << process.dump(1);
    }
}

TEST(Busy, ManySnapshotsAreMovingAndNoneUnexplained) {
    RSSLAG_LONG_ONLY(
        "its duration depends on the speed of the machine: it takes a thousand snapshots of a busy process");
    const HeldProcess held = HeldProcess::workload({"busy"});
    ASSERT_TRUE(held.ready()) << held.why();
    // Emulated CPUs need ten times as long.
    const std::string repeat = emulated() ? "30" : "1000";
    int moving = 0;
    int agreeing = 0;
    int equal_counters = 0;
    const auto documents = run_json({"snapshot", "--json", "--repeat", repeat, std::to_string(held.pid())});
    ASSERT_EQ(documents.size(), std::stoul(repeat));
    for (const json &document : documents) {
        const json &process = document["processes"].at(0);
        expect_honest(process);
        moving += process["verdict"] == "moving" ? 1 : 0;
        agreeing += process["verdict"] == "agrees" ? 1 : 0;
        equal_counters +=
            process["verdict"] == "moving" && process["window"]["min"] == process["window"]["max"] ? 1 : 0;
    }
    std::printf("busy: %d moving (%d of them with equal counters on both sides), %d agree\n", moving, equal_counters,
                agreeing);
    kill(held.pid(), SIGSTOP);
    // A stop reaches each thread at its next return to user space. The kernel reports it after it has reached all
    // threads.
    int status = 0;
    ASSERT_EQ(waitpid(held.pid(), &status, WUNTRACED), held.pid());
    ASSERT_TRUE(WIFSTOPPED(status));
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(snapshot_at_rest(held.pid())["verdict"], "agrees");
}

TEST(Busy, ChurningThreadsAreReadWithoutAWrongWord) {
    RSSLAG_LONG_ONLY(
        "its duration depends on the speed of the machine: it takes a hundred snapshots of a busy process");
    const HeldProcess held = HeldProcess::workload({"churn"});
    ASSERT_TRUE(held.ready()) << held.why();
    for (const json &document : run_json({"snapshot", "--json", "--repeat", "100", std::to_string(held.pid())})) {
        expect_honest(document["processes"].at(0));
    }
}

}  // namespace
}  // namespace rsslag::live
