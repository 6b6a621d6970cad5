// SPDX-License-Identifier: BSD-2-Clause
// Readings of made-up processes.
#pragma once

#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include "core/reading.h"
#include "core/reconcile.h"

namespace rsslag::core {

// GoogleTest finds these, and would print bytes otherwise.
inline void PrintTo(Pages pages, std::ostream *out) {
    *out << pages.n << " pages";
}
inline void PrintTo(Kilobytes kb, std::ostream *out) {
    *out << kb.n << " kB";
}
inline void PrintTo(const Members &m, std::ostream *out) {
    *out << "file " << m.file.n << ", anon " << m.anon.n << ", shmem " << m.shmem.n << ", swap " << m.swap.n;
}
inline void PrintTo(const ResidualCause &cause, std::ostream *out) {
    *out << name(cause.cause) << ' ' << cause.pages.n;
}

}  // namespace rsslag::core

namespace rsslag::core::test {

inline constexpr PageSize kPageSize{4096};

inline Members members(std::int64_t file, std::int64_t anon, std::int64_t shmem = 0, std::int64_t swap = 0) {
    return {{file}, {anon}, {swap}, {shmem}};
}

inline TaskReading task(int tid, const Members &cached, int tgid = 4711) {
    TaskReading task;
    task.tid = tid;
    task.tgid = tgid;
    task.host_tid = tid;
    task.host_tgid = tgid;
    task.comm = "worker";
    task.cached = cached;
    task.faults_since_flush = 7;
    task.faults_before = 100;
    task.faults_after = 100;
    task.group_faults = 40;
    return task;
}

inline MmReading mm(const Members &flushed, std::vector<CpuReading> cpus = {}) {
    MmReading mm;
    mm.flushed = flushed;
    mm.cpus = std::move(cpus);
    mm.total_vm = 5000;
    mm.map_count = 30;
    return mm;
}

/// Two quiescent threads: flushed 200 + 700 + 50, cached 1 + 9 and 3 + 20 + 5, 12 of swap flushed. Exact RSS is 988.
inline CounterReading still() {
    CounterReading reading;
    reading.scheme = Scheme::Thread;
    reading.mm = 0xffff888000001000;
    reading.mm_users = 2;
    reading.first = mm(members(200, 700, 50, 12));
    reading.last = reading.first;
    reading.tasks = {task(4711, members(1, 9)), task(4712, members(3, 20, 5))};
    return reading;
}
inline constexpr std::int64_t kStillRss = 988;

/// The same process on the `cpu` scheme: 10 cached on CPU 0, 28 on CPU 3.
inline CounterReading still_on_cpus() {
    CounterReading reading = still();
    reading.scheme = Scheme::Cpu;
    reading.first = mm(members(200, 700, 50, 12), {{0, members(1, 9)}, {3, members(3, 20, 5)}});
    reading.last = reading.first;
    for (TaskReading &task : reading.tasks) {
        task.cached = {};
        task.faults_since_flush = 0;
    }
    return reading;
}

inline Walk walk_of(std::int64_t rss_pages) {
    Walk walk;
    walk.rss = kPageSize.kb({rss_pages});
    walk.pss = walk.rss;
    return walk;
}

inline Bracket bracket(CounterReading before, CounterReading after, std::int64_t walked_pages) {
    Bracket bracket;
    bracket.readings = {std::move(before), std::move(after)};
    bracket.walk_state = WalkState::Done;
    bracket.walk = walk_of(walked_pages);
    return bracket;
}

inline Pages sum(const std::vector<ResidualCause> &causes) {
    Pages sum;
    for (const ResidualCause &cause : causes)
        sum += cause.pages;
    return sum;
}

}  // namespace rsslag::core::test
