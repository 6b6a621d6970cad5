// SPDX-License-Identifier: BSD-2-Clause
#include "probe/snapshot_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "rsslag/abi.h"

namespace rsslag::probe {
namespace {

using core::CounterReading;
using core::Kind;
using core::Scheme;

core::Members members(std::int64_t file, std::int64_t anon, std::int64_t swap, std::int64_t shmem) {
    return {{file}, {anon}, {swap}, {shmem}};
}

template <class Record>
std::string bytes(const Record &record) {
    static_assert(std::is_trivially_copyable_v<Record>);
    std::string bytes(sizeof(record), '\0');
    std::memcpy(bytes.data(), &record, sizeof(record));
    return bytes;
}

std::string mm_record(rsslag_u32 kind, std::int64_t anon = 700) {
    rsslag_snapshot_mm record{};
    record.kind = kind;
    record.users = 2;
    record.mm = 0xffff888000001000;
    record.flushed[0] = 200;
    record.flushed[1] = anon;
    record.flushed[2] = 12;
    record.flushed[3] = -50;
    record.total_vm = 5000;
    record.map_count = 30;
    return bytes(record);
}

std::string cpu_record(rsslag_u32 cpu, std::int32_t anon) {
    rsslag_snapshot_cpu record{};
    record.kind = RSSLAG_SNAPSHOT_CPU;
    record.cpu = cpu;
    record.cached[1] = anon;
    record.cached[3] = -7;
    return bytes(record);
}

std::string task_record(std::int32_t tid, const std::string &comm, rsslag_u32 flags = 0) {
    rsslag_snapshot_task record{};
    record.kind = RSSLAG_SNAPSHOT_TASK;
    record.flags = flags;
    record.tid = tid;
    record.tgid = 4711;
    record.host_tid = tid + 100'000;
    record.host_tgid = 104'711;
    record.cached[0] = 1;
    record.cached[1] = -2;
    record.cached[2] = 3;
    record.cached[3] = 4;
    record.events = 60;
    record.faults_before = 100;
    record.faults_after = 101;
    record.group_faults = 40;
    comm.copy(record.comm, sizeof(record.comm));
    return bytes(record);
}

std::string thread_pass() {
    return mm_record(RSSLAG_SNAPSHOT_MM_FIRST) + task_record(4711, "main") +
           task_record(4712, "worker", RSSLAG_TASK_IN_EXECVE) + mm_record(RSSLAG_SNAPSHOT_MM_LAST, 701);
}

std::string cpu_pass() {
    return mm_record(RSSLAG_SNAPSHOT_MM_FIRST) + cpu_record(0, 31) + cpu_record(3, -5) + task_record(4711, "main") +
           mm_record(RSSLAG_SNAPSHOT_MM_LAST, 731) + cpu_record(3, -5);
}

std::string plain_pass() {
    return mm_record(RSSLAG_SNAPSHOT_MM_FIRST) + task_record(4711, "main") + mm_record(RSSLAG_SNAPSHOT_MM_LAST);
}

/// Unpacks a copy that ends at the end of its allocation, so that AddressSanitizer detects reads beyond it.
core::Result<CounterReading> unpack(Scheme scheme, std::string_view pass) {
    const auto copy = std::make_unique<char[]>(pass.size());
    std::copy(pass.begin(), pass.end(), copy.get());
    return unpack_snapshot(scheme, {copy.get(), pass.size()});
}

testing::AssertionResult broken(const core::Result<CounterReading> &result, std::string_view what) {
    if (result.ok()) return testing::AssertionFailure() << "was accepted";
    if (result.error().kind != Kind::Internal) return testing::AssertionFailure() << "is not Internal";
    if (result.error().what.find(what) == std::string::npos) {
        return testing::AssertionFailure() << "says: " << result.error().what;
    }
    return testing::AssertionSuccess();
}

TEST(UnpackSnapshot, ReadsAPassOfTheThreadScheme) {
    const auto reading = unpack(Scheme::Thread, thread_pass());
    ASSERT_TRUE(reading.ok()) << reading.error().what;
    EXPECT_EQ(reading->scheme, Scheme::Thread);
    EXPECT_EQ(reading->mm, 0xffff888000001000);
    EXPECT_EQ(reading->mm_users, 2);
    EXPECT_EQ(reading->first.flushed, members(200, 700, 12, -50));
    EXPECT_EQ(reading->last.flushed, members(200, 701, 12, -50));
    EXPECT_EQ(reading->first.total_vm, 5000U);
    EXPECT_EQ(reading->last.map_count, 30);
    EXPECT_TRUE(reading->last.cpus.empty());
    EXPECT_EQ(reading->took_us, 0);
    ASSERT_EQ(reading->tasks.size(), 2U);
    const core::TaskReading &task = reading->tasks[1];
    EXPECT_EQ(task.tid, 4712);
    EXPECT_EQ(task.tgid, 4711);
    EXPECT_EQ(task.host_tid, 104'712);
    EXPECT_EQ(task.host_tgid, 104'711);
    EXPECT_EQ(task.comm, "worker");
    EXPECT_EQ(task.cached, members(1, -2, 3, 4));
    EXPECT_EQ(task.faults_since_flush, 60);
    EXPECT_EQ(task.faults_before, 100U);
    EXPECT_EQ(task.faults_after, 101U);
    EXPECT_EQ(task.group_faults, 40U);
    EXPECT_TRUE(task.in_execve);
    EXPECT_FALSE(reading->tasks[0].in_execve);
    EXPECT_EQ(reading->exact(), members(202, 697, 18, -42));
}

TEST(UnpackSnapshot, TakesTheNumberOfThreadsAndTheNameFromTheEndOfThePass) {
    rsslag_snapshot_mm last{};
    last.kind = RSSLAG_SNAPSHOT_MM_LAST;
    last.threads = 2;
    last.started = 77;
    std::string("leader").copy(last.comm, sizeof(last.comm));
    const auto reading =
        unpack(Scheme::Plain, mm_record(RSSLAG_SNAPSHOT_MM_FIRST) + task_record(4712, "worker") + bytes(last));
    ASSERT_TRUE(reading.ok()) << reading.error().what;
    EXPECT_EQ(reading->threads, 2);
    EXPECT_EQ(reading->comm, "leader");
    EXPECT_EQ(reading->started_ns, 77U);
}

TEST(UnpackSnapshot, GivesEachCpuToTheMmBeforeIt) {
    const auto reading = unpack(Scheme::Cpu, cpu_pass());
    ASSERT_TRUE(reading.ok()) << reading.error().what;
    const core::CpuReading zero{0, members(0, 31, 0, -7)};
    const core::CpuReading three{3, members(0, -5, 0, -7)};
    EXPECT_EQ(reading->first.cpus, (std::vector<core::CpuReading>{zero, three}));
    EXPECT_EQ(reading->last.cpus, (std::vector<core::CpuReading>{three}));
    EXPECT_EQ(reading->last.flushed.anon, core::Pages{731});
    EXPECT_EQ(reading->tasks.size(), 1U);
}

TEST(UnpackSnapshot, ReadsAPassOfThePlainScheme) {
    const auto reading = unpack(Scheme::Plain, plain_pass());
    ASSERT_TRUE(reading.ok()) << reading.error().what;
    EXPECT_EQ(reading->scheme, Scheme::Plain);
    EXPECT_EQ(reading->first, reading->last);
}

TEST(UnpackSnapshot, TakesANameOfSixteenBytesWithoutAnEnd) {
    const auto reading =
        unpack(Scheme::Plain, mm_record(RSSLAG_SNAPSHOT_MM_FIRST) + task_record(1, "sixteen bytes ok") +
                                  mm_record(RSSLAG_SNAPSHOT_MM_LAST));
    ASSERT_TRUE(reading.ok());
    EXPECT_EQ(reading->tasks[0].comm, "sixteen bytes ok");
}

TEST(UnpackSnapshot, SaysGoneWhereThePassFoundNoTask) {
    const auto reading = unpack(Scheme::Thread, "");
    ASSERT_FALSE(reading.ok());
    EXPECT_EQ(reading.error().kind, Kind::Gone);
}

TEST(UnpackSnapshot, RefusesAPassThatIsCutAnywhereBeforeItsLastMm) {
    const std::vector<std::pair<Scheme, std::string>> passes{
        {Scheme::Thread, thread_pass()}, {Scheme::Cpu, cpu_pass()}, {Scheme::Plain, plain_pass()}};
    for (const auto &[scheme, pass] : passes) {
        const std::size_t closed = pass.size() - (scheme == Scheme::Cpu ? sizeof(rsslag_snapshot_cpu) : 0);
        for (std::size_t length = 1; length < pass.size(); ++length) {
            const auto reading = unpack(scheme, std::string_view(pass).substr(0, length));
            if (length == closed) {
                ASSERT_TRUE(reading.ok());  // as if no CPU cached anything
                EXPECT_TRUE(reading->last.cpus.empty());
            } else {
                EXPECT_TRUE(broken(reading, "the snapshot iterator wrote")) << name(scheme) << " cut at " << length;
            }
        }
    }
}

TEST(UnpackSnapshot, RefusesKindsThatItDoesNotKnow) {
    for (const rsslag_u32 kind : {0U, 5U, 255U, std::numeric_limits<rsslag_u32>::max()}) {
        rsslag_snapshot_cpu record{};
        record.kind = kind;
        EXPECT_TRUE(broken(unpack(Scheme::Cpu, bytes(record)), "an unknown kind")) << kind;
        EXPECT_TRUE(broken(unpack(Scheme::Cpu, cpu_pass() + bytes(record)), "an unknown kind")) << kind;
    }
    EXPECT_TRUE(broken(unpack(Scheme::Thread, "\x01"), "an unknown kind"));
}

TEST(UnpackSnapshot, RefusesACpuWithoutAnMm) {
    EXPECT_TRUE(broken(unpack(Scheme::Cpu, cpu_record(0, 31)), "CPU"));
}

TEST(UnpackSnapshot, RefusesAPassThatDoesNotEndWithTheMm) {
    EXPECT_TRUE(broken(unpack(Scheme::Thread, mm_record(RSSLAG_SNAPSHOT_MM_FIRST)), "no last mm record"));
    EXPECT_TRUE(
        broken(unpack(Scheme::Thread, thread_pass() + mm_record(RSSLAG_SNAPSHOT_MM_FIRST)), "no last mm record"));
}

std::string total_record(rsslag_u64 mm, int host_tgid, std::int64_t flushed, std::int64_t cached,
                         rsslag_u32 flags = 0) {
    rsslag_total record{};
    record.mm = mm;
    record.flushed[1] = flushed;
    record.cached[1] = cached;
    record.host_tgid = host_tgid;
    record.tgid = host_tgid - 100'000;
    record.host_ppid = host_tgid - 1;
    record.cachers = cached != 0 ? 1 : 0;
    record.tasks = 2;
    record.flags = flags;
    std::memcpy(record.comm, "sixteen_bytes_xx", sizeof(record.comm));
    return bytes(record);
}

TEST(Totals, AddWhatThreadsCacheWhicheverGroupTheyAreOf) {
    const std::string pass =
        total_record(1, 100'200, 700, 5) + total_record(2, 100'100, 10, 0) + total_record(1, 100'300, 700, -2);
    const auto totals = unpack_totals(Scheme::Thread, pass);
    ASSERT_TRUE(totals);
    ASSERT_EQ(totals->size(), 3U);
    EXPECT_EQ((*totals)[0].tgid, 100);
    EXPECT_EQ((*totals)[0].host_ppid, 100'099);
    for (const std::size_t i : {1U, 2U}) {
        EXPECT_EQ((*totals)[i].mm, 1U);
        EXPECT_EQ((*totals)[i].cached.anon.n, 3);
        EXPECT_EQ((*totals)[i].exact().rss().n, 703);
        EXPECT_EQ((*totals)[i].cachers, 2);
        EXPECT_EQ((*totals)[i].tasks, 2);
        EXPECT_FALSE((*totals)[i].moved);
        EXPECT_EQ((*totals)[i].comm, "sixteen_bytes_xx");
    }
}

TEST(Totals, TakeWhatCpusCacheOnce) {
    const auto totals = unpack_totals(Scheme::Cpu, total_record(1, 100'200, 700, 5) + total_record(1, 100'300, 700, 5));
    ASSERT_TRUE(totals);
    for (const core::ProcessTotal &process : *totals) {
        EXPECT_EQ(process.cached.anon.n, 5);
        EXPECT_EQ(process.cachers, 1);
    }
}

TEST(Totals, KnowThatAnMmMovedWhileItWasRead) {
    const auto reported = unpack_totals(Scheme::Cpu, total_record(1, 100'200, 700, 5, RSSLAG_TOTAL_MOVED));
    EXPECT_TRUE(reported->at(0).moved);
    const auto seen =
        unpack_totals(Scheme::Thread, total_record(1, 100'200, 700, 5) + total_record(1, 100'200, 764, 0));
    EXPECT_TRUE(seen->at(0).moved);
}

TEST(Totals, KnowThatALeaderHasExited) {
    const auto totals = unpack_totals(
        Scheme::Cpu, total_record(1, 100'200, 700, 5, RSSLAG_TOTAL_LEADER_GONE) + total_record(2, 100'300, 700, 5));
    EXPECT_TRUE(totals->at(0).leader_gone);
    EXPECT_FALSE(totals->at(1).leader_gone);
}

TEST(Totals, AreRefusedWhenCut) {
    const std::string pass = total_record(1, 100'200, 700, 5);
    EXPECT_EQ(unpack_totals(Scheme::Cpu, std::string_view(pass).substr(0, 40)).error().kind, Kind::Internal);
    EXPECT_TRUE(unpack_totals(Scheme::Cpu, {})->empty());
}

}  // namespace
}  // namespace rsslag::probe
