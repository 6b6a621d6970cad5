// SPDX-License-Identifier: BSD-2-Clause
#include "tracer/at_exec.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rsslag::tracer {
namespace {

constexpr std::uint64_t kMm = 0xffff888000001000;

template <class Record>
void append(std::vector<std::byte> &ring, const Record &record) {
    const auto *const begin = reinterpret_cast<const std::byte *>(&record);
    ring.insert(ring.end(), begin, begin + sizeof(record));
}

void append_update(std::vector<std::byte> &ring, int tid) {
    rsslag_update record{};
    record.kind = RSSLAG_UPDATE;
    record.tid = tid;
    append(ring, record);
}

rsslag_at_exec part(std::uint64_t t_ns, std::uint16_t cpu, int anon) {
    rsslag_at_exec record{};
    record.kind = RSSLAG_AT_EXEC;
    record.t_ns = t_ns;
    record.mm = kMm;
    record.cpu = cpu;
    record.cached[1] = anon;
    return record;
}

rsslag_at_exec last(std::uint64_t t_ns, std::uint16_t caches) {
    rsslag_at_exec record = part(t_ns, 0, 7);
    record.last = 1;
    record.caches = caches;
    record.tid = record.ns_tid = 4712;
    record.tgid = record.ns_tgid = 4711;
    record.flushed[1] = 100;
    record.events = 3;
    return record;
}

TEST(AtExecRecords, BecomeAnEventAndLeaveTheOtherRecords) {
    std::vector<std::byte> ring;
    append_update(ring, 1);
    append(ring, part(5, 3, -2));
    append(ring, part(5, 1, 9));
    append_update(ring, 2);
    append(ring, last(5, 2));
    append_update(ring, 3);
    AtExecRecords records;
    const auto events = records.take(core::Scheme::Cpu, ring);
    ASSERT_EQ(events.size(), 1U);
    const core::CounterReading &read = events[0].counters.counters;
    EXPECT_EQ(events[0].counters.begin_ns, 5U);
    EXPECT_EQ(events[0].counters.end_ns, 5U);
    EXPECT_EQ(read.mm, kMm);
    EXPECT_EQ(read.flushed().anon, core::Pages{100});
    EXPECT_EQ(read.cached().anon, core::Pages{7}) << "-2 on CPU 3 and 9 on CPU 1";
    ASSERT_EQ(read.last.cpus.size(), 2U);
    EXPECT_EQ(read.last.cpus[0].cpu, 1);
    ASSERT_EQ(read.tasks.size(), 1U);
    EXPECT_EQ(read.tasks[0].host_tid, 4712);
    EXPECT_EQ(read.tasks[0].tgid, 4711);
    std::vector<std::byte> rest;
    for (const int tid : {1, 2, 3})
        append_update(rest, tid);
    EXPECT_EQ(ring, rest);
}

TEST(AtExecRecords, HaveTheCacheOfTheTaskOnTheThreadScheme) {
    std::vector<std::byte> ring;
    append(ring, last(5, 0));
    AtExecRecords records;
    const auto events = records.take(core::Scheme::Thread, ring);
    ASSERT_EQ(events.size(), 1U);
    const core::CounterReading &read = events[0].counters.counters;
    EXPECT_EQ(read.exact().anon, core::Pages{107});
    EXPECT_EQ(read.tasks[0].faults_since_flush, 3);
    EXPECT_TRUE(ring.empty());
}

TEST(AtExecRecords, YieldNothingIfOneIsMissing) {
    AtExecRecords records;
    std::vector<std::byte> ring;
    append(ring, part(5, 1, 9));
    append(ring, last(5, 2));
    append(ring, part(6, 1, 9));  // its last record is lost
    append(ring, part(7, 1, 9));
    append(ring, last(7, 2));
    EXPECT_TRUE(records.take(core::Scheme::Cpu, ring).empty());
    EXPECT_TRUE(ring.empty());
    append(ring, part(8, 1, 9));
    EXPECT_TRUE(records.take(core::Scheme::Cpu, ring).empty());
    append(ring, last(8, 1));
    EXPECT_EQ(records.take(core::Scheme::Cpu, ring).size(), 1U) << "they may come in two batches";
}

}  // namespace
}  // namespace rsslag::tracer
