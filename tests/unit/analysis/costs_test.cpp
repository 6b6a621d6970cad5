// SPDX-License-Identifier: BSD-2-Clause
// Events that are cheap to record in large numbers. Each test would run for many minutes if one event visited all that
// the earlier ones have left.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "../../long_only.h"
#include "analysis/analyzer.h"
#include "dice.h"
#include "events.h"

namespace rsslag::analysis {
namespace {

event::Counters no_counters(int pid) {
    return {pid, core::Error{core::Kind::Gone, "it is gone", 0, ""}};
}

TEST(CostOfAwaited, IsThatOfOneProcess) {
    RSSLAG_LONG_ONLY("a million events: measures the time that they take");
    constexpr int kCount = core::test::many(500'000);
    test::TickAnalyzer analyzer(test::facts());
    for (int pid = 1; pid <= kCount; ++pid)
        analyzer.apply(event::ExecAwaited{pid, pid, test::kMm});
    for (int pid = kCount; pid > 1; --pid)
        analyzer.apply(no_counters(pid));
    ASSERT_EQ(analyzer.awaited().size(), 1U);
    EXPECT_EQ(analyzer.awaited()[0].host_tgid, 1);
}

TEST(CostOfATick, GrowsWithTheThreadsOfTheMm) {
    constexpr int kThreads = 10'000;
    test::TickAnalyzer analyzer(test::facts());
    event::Attach attach = test::attach(1'000);
    for (int tid = 0; tid < kThreads; ++tid)
        attach.counters.counters.tasks.push_back(core::test::task(100'000 + tid, {}));
    analyzer.apply(std::move(attach));
    const std::uint64_t before = analyzer.work();
    analyzer.apply(test::reading(100'000'000, 1000));  // it lists two of them
    ASSERT_EQ(analyzer.apply(test::tick_end(200'000'000)).size(), 1U);
    EXPECT_GE(analyzer.work() - before, std::uint64_t{20 * kThreads});
}

TEST(CostOfATick, GrowsWithTheNumberOfProcesses) {
    constexpr int kProcesses = 10'000;
    test::TickAnalyzer analyzer(test::facts());
    event::Records records;
    for (int pid = 1; pid <= kProcesses; ++pid) {
        rsslag_task exec{};
        exec.kind = RSSLAG_EXEC;
        exec.tid = exec.tgid = exec.ns_tid = exec.ns_tgid = exec.old_tid = pid;
        exec.t_ns = test::kStart + 1'000;
        exec.mm = static_cast<std::uint64_t>(pid) * 4096;
        test::append(records, exec);
    }
    analyzer.apply(std::move(records));
    analyzer.apply(test::until(1'000'000));
    ASSERT_EQ(analyzer.groups().size(), std::size_t{kProcesses});
    const std::uint64_t before = analyzer.work();
    analyzer.apply(test::gone());
    EXPECT_GE(analyzer.work() - before, std::uint64_t{kProcesses});
}

TEST(Awaited, AreFoundByTheirPidLowestKernelsTgidFirst) {
    core::test::Dice dice(1);
    for (int round = 0; round < 20; ++round) {
        test::TickAnalyzer analyzer(test::facts());
        std::map<int, int> model;  // PIDs by the kernel's TGID
        for (int i = 0; i < 200; ++i) {
            const int pid = static_cast<int>(dice.between(1, 4));
            if (dice.once_in(2)) {
                const int host_tgid = static_cast<int>(dice.between(1, 8));
                analyzer.apply(event::ExecAwaited{host_tgid, pid, test::kMm});
                model[host_tgid] = pid;
            } else {
                analyzer.apply(no_counters(pid));
                const auto first =
                    std::find_if(model.begin(), model.end(), [pid](const auto &each) { return each.second == pid; });
                if (first != model.end()) model.erase(first);
            }
            std::map<int, int> awaited;
            for (const Awaited &each : analyzer.awaited())
                awaited[each.host_tgid] = each.tgid;
            ASSERT_EQ(awaited, model);
        }
    }
}

}  // namespace
}  // namespace rsslag::analysis
