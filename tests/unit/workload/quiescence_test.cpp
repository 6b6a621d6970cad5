// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <thread>
#include <utility>

#include "held.h"

namespace rsslag::workload {

/// GoogleTest prints a parameter with this.
void PrintTo(const Workload &workload, std::ostream *out) {
    *out << workload.name;
}

}  // namespace rsslag::workload

namespace rsslag::workload::test {
namespace {

/// Under AddressSanitizer a thread costs megabytes.
Options affordable(std::string_view name) {
#ifdef RSSLAG_SANITIZED
    if (name == "many-threads") return {.threads = 500};
#endif
    if (name == "many-threads" && std::getenv("RSSLAG_TEST_LONG") == nullptr) return {.threads = 1000};
    return {};
}

class Quiet : public testing::TestWithParam<Workload> {};
class Busy : public testing::TestWithParam<Workload> {};

void expect_quiescent(pid_t pid, const std::string &states) {
    EXPECT_EQ(states.find_first_not_of(states.ends_with('Z') ? "SZ" : "S"), std::string::npos) << states;
    // The kernel may reclaim pages of any process at any time, but not in every attempt.
    constexpr int kTries = 3;
    Reading first = reading_of(pid);
    Reading second = reading_of(pid);
    for (int tries = 1; tries < kTries && !(first == second); ++tries)
        first = std::exchange(second, reading_of(pid));
    EXPECT_GT(first.walked_kb, 0);
    EXPECT_EQ(first.faults, second.faults);
    EXPECT_EQ(first.rss, second.rss);
    EXPECT_EQ(first.walked_kb, second.walked_kb);
    EXPECT_EQ(first.anonymous_kb, second.anonymous_kb);
    EXPECT_EQ(first.swapped_kb, second.swapped_kb);
    EXPECT_EQ(states_of(pid), states);
}

/// The child writes the last line of its report with write(), then sleeps. Only /proc shows when.
void await_asleep(pid_t pid) {
    for (std::string state; state != "S";) {
        state = stat_field(proc(pid, "stat"), 3);
        ASSERT_NE(state, "") << "the process has ended";
        std::this_thread::yield();
    }
}

TEST_P(Quiet, IsStillOnceItHasStarted) {
    const std::string name(GetParam().name);
    const HeldWorkload held(name, affordable(name));
    SKIP_WHERE_REFUSED(held);
    await_asleep(held.pid());
    expect_quiescent(held.pid(), states_of(held.pid()));
    for (const char *other : {"child", "writer"}) {
        if (!held.has(other)) continue;
        const auto pid = static_cast<pid_t>(held.fact(other));
        ASSERT_FALSE(tasks_of(pid).empty()) << other;
        expect_quiescent(pid, states_of(pid));
    }
}

TEST_P(Busy, GoesOnFaultingAfterItHasStarted) {
    const HeldWorkload held(GetParam().name);
    ASSERT_TRUE(held.ok()) << held.error().what;
    const std::string at_start = reading_of(held.pid()).faults;
    for (int look = 0; look < 3; ++look) {
        const std::string before = reading_of(held.pid()).faults;
        while (reading_of(held.pid()).faults == before)
            std::this_thread::yield();  // ctest's timeout limits the wait
    }
    EXPECT_NE(reading_of(held.pid()).faults, at_start);
}

std::vector<Workload> moving(Motion motion) {
    std::vector<Workload> found;
    std::ranges::copy_if(all(), std::back_inserter(found), [&](const Workload &w) { return w.motion == motion; });
    return found;
}

std::string test_name(const testing::TestParamInfo<Workload> &info) {
    std::string name(info.param.name);
    std::ranges::replace(name, '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, Quiet, testing::ValuesIn(moving(Motion::Quiet)), test_name);
INSTANTIATE_TEST_SUITE_P(All, Busy, testing::ValuesIn(moving(Motion::Busy)), test_name);

}  // namespace
}  // namespace rsslag::workload::test
