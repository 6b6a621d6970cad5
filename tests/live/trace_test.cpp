// SPDX-License-Identifier: BSD-2-Clause
// Compares the ledger with exact readings of a process that does some of everything.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "../long_only.h"
#include "run.h"

namespace rsslag::live {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

std::int64_t sum_of(const json &list, const char *member) {
    std::int64_t sum = 0;
    for (const json &each : list)
        sum += each["net"][member].get<std::int64_t>();
    return sum;
}

/// Checks what must hold in every tick, moving or not.
void expect_tick_adds_up(const json &tick) {
    for (const char *member : kMembers) {
        const auto exact = tick["exact"][member].get<std::int64_t>();
        ASSERT_EQ(exact, tick["flushed"][member].get<std::int64_t>() + tick["cached"][member].get<std::int64_t>())
            << tick.dump(1);
        const std::int64_t nets = sum_of(tick["threads"], member) + sum_of(tick["others"], member) +
                                  tick["exited"]["net"][member].get<std::int64_t>();
        ASSERT_EQ(exact,
                  tick["baseline"][member].get<std::int64_t>() + nets + tick["remainder"][member].get<std::int64_t>())
            << member << tick.dump(1);
    }
}

struct Trace {
    std::vector<json> ticks;
    json summary;
};

Trace trace(const std::vector<std::string> &words) {
    std::vector<std::string> all{"live", "--format", "jsonl"};
    all.insert(all.end(), words.begin(), words.end());
    Trace result;
    for (json &document : run_json(all)) {
        if (document["schema"] == "rsslag.tick/2") {
            result.ticks.push_back(std::move(document));
        } else {
            result.summary = std::move(document);
        }
    }
    return result;
}

/// BPF programs can be preempted, and the kernel skips a program that already runs on its CPU (kernel/trace/bpf_trace.c
/// __bpf_trace_run). Under emulation, where a program takes long, that happens, and must be reported.
void expect_nothing_lost(const json &summary) {
    const auto skipped = emulated() ? summary["lost_by"]["recursion"].get<std::int64_t>() : 0;
    EXPECT_LE(skipped, 5) << summary.dump(1);
    EXPECT_EQ(summary["lost"], skipped) << summary.dump(1);
    EXPECT_EQ(summary["emitted"], summary["records"].get<std::int64_t>() + skipped) << summary.dump(1);
    if (skipped == 0) {
        EXPECT_EQ(summary["ended_not_at_zero"], 0) << summary.dump(1);
    }
}

/// Records every update, or sums them in the kernel.
class Traced : public testing::TestWithParam<const char *> {
  protected:
    static bool counts() { return std::string(GetParam()) == "counts"; }
    static Trace trace(std::vector<std::string> words) {
        words.insert(words.begin(), {"--mode", GetParam()});
        return live::trace(words);
    }
};

INSTANTIATE_TEST_SUITE_P(Modes, Traced, testing::Values("events", "counts"),
                         [](const auto &mode) { return std::string(mode.param); });

std::string duration(bool counts) {
    const char *const asked = std::getenv("RSSLAG_TEST_TRACE_SECONDS");
    if (asked != nullptr) return asked;
    if (emulated()) return "10";
    return counts ? "20" : "60";
}

TEST_P(Traced, AgreesWithExactReadingsOverAMixedRun) {
    RSSLAG_LONG_ONLY(
        "it depends on time: if a CPU is stolen for longer than rsslag waits for a record, this is a disagreement");
    const HeldProcess held = HeldProcess::workload({"mixed"});
    ASSERT_TRUE(held.ready()) << held.why();
    const Trace run =
        trace({"-p", std::to_string(held.pid()), "--follow", "--interval", "100ms", "--duration", duration(counts())});
    ASSERT_FALSE(run.summary.is_null());
    int agreeing = 0;
    for (const json &tick : run.ticks) {
        expect_tick_adds_up(tick);
        if (tick["verdict"] == "agrees") {
            ++agreeing;
            EXPECT_EQ(tick["residual"], 0);
        }
        EXPECT_NE(tick["verdict"], "unexplained") << tick.dump(1);
    }
    expect_nothing_lost(run.summary);
    // Two emulated machines share two CPUs. Now and then a virtual CPU is descheduled for longer than the 1 ms within
    // which a record may come after its update. That must stay the exception, and must lead to a resync.
    const auto most = emulated() ? static_cast<int>(run.ticks.size() / 10) : 0;
    EXPECT_LE(run.summary["resyncs"], most) << run.summary.dump(1);
    EXPECT_LE(run.summary["disagreements"], 2 * most) << run.summary.dump(1);
    if (!emulated()) {  // it may get too little CPU time to do much
        EXPECT_GT(run.summary["ended_mms"], 10);
        EXPECT_GT(agreeing, 5);
    }
    std::printf("mixed: %s updates, %zu ticks (%d agree), %s mms ended\n", run.summary["updates"].dump().c_str(),
                run.ticks.size(), agreeing, run.summary["ended_mms"].dump().c_str());
}

/// Minor page faults of all its threads, including those that have ended.
std::int64_t faults_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::string field;
    for (int i = 3; i <= 10; ++i)
        fields >> field;
    return field.empty() ? -1 : std::stoll(field);
}

void await_faults(pid_t pid, std::int64_t more) {
    const auto end = Clock::now() + patience();
    const std::int64_t until = faults_of(pid) + more;
    while (faults_of(pid) < until && Clock::now() < end)
        usleep(1000);
    ASSERT_GE(faults_of(pid), until) << "the target has stopped making faults";
}

bool is_tick(const json &document) {
    return document.is_object() && document.value("schema", "") == "rsslag.tick/2";
}

/// Reads ticks up to the first for which `right` holds.
template <class Right>
void read_until(Running &rsslag, std::vector<json> &ticks, const Right &right) {
    const auto end = Clock::now() + patience();
    do {
        ticks.push_back(rsslag.next());
        ASSERT_TRUE(is_tick(ticks.back())) << "no tick: " << ticks.back();
        ASSERT_LT(Clock::now(), end) << ticks.back().dump(1);
    } while (!right(ticks.back()));
}

TEST_P(Traced, ComesBackAfterARingThatIsTooSmall) {
    if (counts() && emulated()) GTEST_SKIP() << "emulated CPUs are too slow to fill a ring with sums";
    const HeldProcess held = HeldProcess::workload({"busy"});
    ASSERT_TRUE(held.ready()) << held.why();
    Running rsslag({expected.rsslag, "live", "--mode", GetParam(), "--format", "jsonl", "-p",
                    std::to_string(held.pid()), "--ring", "4K", "--interval", "200ms"});
    Trace run;
    read_until(rsslag, run.ticks, [](const json &) { return true; });
    // The ring is not read while rsslag is stopped. How much work fills a ring with sums depends on the scheduler.
    for (std::int64_t faults = 10'000; run.ticks.back()["lost"] == 0; faults *= 2) {
        ASSERT_LT(faults, 1'000'000);
        rsslag.stop();
        await_faults(held.pid(), faults);
        rsslag.go_on();
        // A tick may already have started.
        for (int i = 0; i < 3; ++i)
            read_until(rsslag, run.ticks, [](const json &) { return true; });
        if (HasFatalFailure()) return;
    }
    read_until(rsslag, run.ticks, [](const json &tick) { return tick["resyncs"] > 0; });
    if (HasFatalFailure()) return;
    for (json &document : rsslag.finish(SIGTERM))
        (is_tick(document) ? run.ticks.emplace_back() : run.summary) = document;
    const json &summary = run.summary;
    ASSERT_FALSE(summary.is_null());
    EXPECT_GT(summary["lost"], 0);
    EXPECT_GT(summary["resyncs"], 0);
    EXPECT_EQ(summary["emitted"], summary["records"].get<std::int64_t>() + summary["lost"].get<std::int64_t>());
    for (const json &tick : run.ticks)
        expect_tick_adds_up(tick);
}

TEST_P(Traced, GivesEachThreadWhatItTouches) {
    RSSLAG_LONG_ONLY("the uncertain amount depends on how threads and CPUs interleave");
    const std::string command = "exec " + expected.rsslag + " demo few-pages --hold >/dev/null";
    Running rsslag({expected.rsslag, "live", "--mode", GetParam(), "--format", "jsonl", "--interval", "100ms", "--",
                    "/bin/sh", "-c", command});
    std::vector<json> ticks;
    read_until(rsslag, ticks, [](const json &tick) {
        return tick["state"] == "running" && tick["threads"].size() == 33 && tick["verdict"] == "agrees";
    });
    if (HasFatalFailure()) return;
    const json last = ticks.back();
    kill(last["pid"].get<pid_t>(), SIGTERM);
    rsslag.finish(0);
    expect_tick_adds_up(last);
    std::int64_t uncertain = 0;
    int workers = 0;
    for (const json &thread : last["threads"]) {
        const std::string comm = thread["comm"];
        uncertain += thread["uncertain"].get<std::int64_t>();
        if (comm.rfind("worker-", 0) != 0) continue;
        ++workers;
        // 60 pages of its own, and one of its stack.
        EXPECT_NEAR(thread["net"]["anon"].get<double>(), 61, 1) << thread;
    }
    EXPECT_EQ(workers, 32);
    EXPECT_LE(uncertain, 32 * 60 / 100);
}

}  // namespace
}  // namespace rsslag::live
