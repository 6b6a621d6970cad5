// SPDX-License-Identifier: BSD-2-Clause
// Evidence is gathered from a running process: this one.
#include "system/evidence.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace rsslag::system {
namespace {

core::Evidence evidence_of_this(const std::vector<procfs::Mapping> &mappings) {
    const auto process = procfs::Process::open(getpid());
    EXPECT_TRUE(process);
    core::CounterReading reading;
    core::TaskReading task;
    task.tid = task.tgid = getpid();
    reading.tasks.push_back(task);
    return gather_evidence(*process, reading, mappings, {4096});
}

procfs::Mapping mapping(const char *name, std::uint64_t start, std::uint64_t end) {
    procfs::Mapping mapping;
    mapping.name = name;
    mapping.start = start;
    mapping.end = end;
    mapping.size = {static_cast<std::int64_t>((end - start) / 1024)};
    return mapping;
}

TEST(Evidence, OfAProcessThatRunsIsNoExecve) {
    EXPECT_FALSE(evidence_of_this({}).in_execve);
}

TEST(Evidence, SpansTheMappingsThatAreOfTheMm) {
    const auto evidence = evidence_of_this({mapping("/bin/x", 0x1000, 0x5000), mapping("", 0x8000, 0x9000),
                                            mapping("[vsyscall]", 0xffffffffff600000, 0xffffffffff601000)});
    EXPECT_EQ(evidence.mapped, core::Pages{5}) << "[vsyscall] does not belong to the mm";
}

}  // namespace
}  // namespace rsslag::system
