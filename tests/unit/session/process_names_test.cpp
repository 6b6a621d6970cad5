// SPDX-License-Identifier: BSD-2-Clause
#include "session/process_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "procfs/user_names.h"

namespace rsslag::session {
namespace {

constexpr std::chrono::minutes kPatience{1};

/// This process as a row of `top`, with a number that may be another one's on the host.
documents::TopProcess myself(int host_tgid) {
    documents::TopProcess process;
    process.total.tgid = getpid();
    process.total.host_tgid = host_tgid;
    process.total.mm = 1;
    return process;
}

TEST(ProcessNames, AreThoseOfTheProcess) {
    ProcessNames names(kPatience);
    std::vector<documents::TopProcess> processes{myself(1), myself(2)};
    processes[1].total.tgid = 0;
    names.fill(processes);
    EXPECT_NE(processes[0].names.command_line.find("session_test"), std::string::npos);
    EXPECT_EQ(processes[0].names.user, procfs::UserNames().of(getuid()));
    EXPECT_EQ(processes[1].names.command_line, "") << "it is not visible in this PID namespace";
}

TEST(ProcessNames, AreReadAgainForAnotherProcessOrProgramWithTheSameNumber) {
    ProcessNames names(kPatience);
    std::vector<documents::TopProcess> processes{myself(1)};
    names.fill(processes);
    for (const bool program : {false, true}) {
        std::vector<documents::TopProcess> later{myself(1)};
        later[0].total.tgid = 1;
        (program ? later[0].total.mm : later[0].total.started_ns) = 77;
        names.fill(later);
        EXPECT_NE(later[0].names.user, "");
        EXPECT_EQ(later[0].names.command_line.find("session_test"), std::string::npos);
    }
}

TEST(ProcessNames, OfThoseThatLagMostAreReadFirst) {
    ProcessNames names(kPatience);
    std::vector<documents::TopProcess> processes;
    for (int i = 0; i < static_cast<int>(ProcessNames::kAtOnce) + 20; ++i) {
        processes.push_back(myself(i + 1));
        processes.back().total.cached.anon = core::Pages{i};
    }
    const auto known = [&] {
        return std::ranges::count_if(processes, [](const auto &each) { return !each.names.user.empty(); });
    };
    names.fill(processes);
    EXPECT_EQ(known(), static_cast<std::ptrdiff_t>(ProcessNames::kAtOnce));
    EXPECT_EQ(processes[19].names.user, "");
    EXPECT_NE(processes[20].names.user, "");
    names.fill(processes);
    EXPECT_EQ(known(), static_cast<std::ptrdiff_t>(processes.size()));
}

}  // namespace
}  // namespace rsslag::session
