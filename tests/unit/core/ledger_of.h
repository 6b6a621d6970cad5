// SPDX-License-Identifier: BSD-2-Clause
// A ledger that has adopted one process, and records made by hand for it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger.h"
#include "readings.h"

namespace rsslag::core::test {

inline constexpr std::uint64_t kMm = 0xffff888000001000;
inline constexpr std::uint64_t kStart = 1'000'000'000;
inline constexpr std::uint64_t kLater = 1'000'000'000;  ///< long after all records
inline constexpr std::uint16_t kOwn = RSSLAG_OWN;
inline constexpr std::uint16_t kFault = RSSLAG_OWN | RSSLAG_OF_USER_FAULT;

/// A process of two threads, 4711 and 4712, with 1,000 anon pages flushed and nothing cached.
class LedgerOf {
  public:
    explicit LedgerOf(Scheme scheme, std::vector<CpuReading> cpus = {}, bool counting = false)
        : ledger({.scheme = scheme, .cpus = 4, .batch = 32, .ended_tasks = true, .counting = counting}) {
        CounterReading reading;
        reading.scheme = scheme;
        reading.mm = kMm;
        reading.mm_users = 2;
        reading.first = test::mm(members(0, 1'000), std::move(cpus));
        reading.last = reading.first;
        reading.tasks = {task(4711, {}), task(4712, {})};
        ledger.adopt(reading, {4711, 4711, "worker", kMm, State::Running}, kStart, kStart);
    }

    Applied update(std::uint64_t t, int tid, int cpu, std::int64_t count, int cached, std::uint16_t flags = kOwn,
                   std::uint64_t mm = kMm) {
        rsslag_update record{};
        record.kind = RSSLAG_UPDATE;
        record.flags = flags;
        record.tid = tid;
        record.t_ns = kStart + t;
        record.mm = mm;
        record.count = count;
        record.cached = cached;
        record.cpu = static_cast<rsslag_u16>(cpu);
        record.member = kAnon;
        return ledger.apply(record);
    }
    Members fault(std::uint64_t t, int tid, int anon, int events = 1) {
        rsslag_fault record{};
        record.kind = RSSLAG_FAULT;
        record.flags = kFault;
        record.tid = tid;
        record.t_ns = kStart + t;
        record.mm = kMm;
        record.cached[kAnon] = anon;
        record.events = events;
        return ledger.apply(record);
    }
    void task_record(std::uint64_t t, std::uint16_t kind, std::uint16_t flags, int tid, int tgid, std::uint64_t mm,
                     const std::string &comm = "worker") {
        rsslag_task record{};
        record.kind = kind;
        record.flags = flags;
        record.tid = record.ns_tid = tid;
        record.tgid = record.ns_tgid = tgid;
        record.t_ns = kStart + t;
        record.mm = mm;
        comm.copy(record.comm, sizeof record.comm - 1);
        ledger.apply(record);
    }
    MmView later() {
        ledger.advance(kStart + kLater);
        return ledger.view(kMm).value();
    }
    CounterReading reading_of(std::int64_t anon, std::vector<CpuReading> cpus = {}) const {
        CounterReading reading;
        reading.scheme = cpus.empty() ? Scheme::Thread : Scheme::Cpu;
        reading.mm = kMm;
        reading.mm_users = 2;
        reading.first = test::mm(members(0, anon), std::move(cpus));
        reading.last = reading.first;
        reading.tasks = {task(4711, {}), task(4712, {})};
        return reading;
    }

    Ledger ledger;

  private:
    static constexpr int kAnon = 1;
};

inline const TaskNet &row(const MmView &view, int tid) {
    for (const TaskNet &task : view.tasks) {
        if (task.host_tid == tid) return task;
    }
    static const TaskNet none;
    ADD_FAILURE() << "no task " << tid;
    return none;
}

}  // namespace rsslag::core::test
