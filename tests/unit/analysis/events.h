// SPDX-License-Identifier: BSD-2-Clause
// A hand-made trace: one process of two threads, 4711 and 4712, with 1,000 anon pages.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyzer.h"
#include "readings.h"

namespace rsslag::analysis::test {

using core::test::members;

struct KeptTicks : TraceObserver {
    bool needs_records() const override { return false; }
    void on_tick(core::Tick tick) override { ticks.push_back(std::move(tick)); }
    std::vector<core::Tick> ticks;
};

/// An analyzer whose apply() returns the ticks that its observer has received.
class TickAnalyzer : private KeptTicks, public Analyzer {
  public:
    explicit TickAnalyzer(Facts facts, const AnalyzerOptions &options = {})
        : Analyzer(std::move(facts), observed(options)) {}
    std::vector<core::Tick> apply(event::Event event) {
        Analyzer::apply(std::move(event));
        return std::exchange(ticks, {});
    }

  private:
    AnalyzerOptions observed(AnalyzerOptions options) {
        options.observer = this;
        return options;
    }
};

inline constexpr std::uint64_t kMm = 0xffff888000001000;
inline constexpr std::uint64_t kStart = 1'000'000'000;
inline constexpr std::int64_t kStartUnix = 1'700'000'000'000'000'000;
inline constexpr std::uint64_t kSecond = 1'000'000'000;
inline constexpr int kPid = 4711;

inline event::Moment at(std::uint64_t t_ns) {
    return {kStart + t_ns, kStartUnix + static_cast<std::int64_t>(t_ns)};
}

inline Facts facts(core::Scheme scheme = core::Scheme::Plain) {
    Facts facts;
    facts.machine.scheme = scheme;
    facts.machine.cpus_online = facts.machine.cpus_possible = 4;
    facts.machine.page_size = core::test::kPageSize;
    facts.kernel = "6.1.0";
    facts.start = at(0);
    return facts;
}

inline core::CounterReading counters(std::int64_t anon, core::Scheme scheme = core::Scheme::Plain) {
    core::CounterReading reading;
    reading.scheme = scheme;
    reading.mm = kMm;
    reading.mm_users = 2;
    reading.first = core::test::mm(members(0, anon));
    reading.last = reading.first;
    reading.tasks = {core::test::task(kPid, {}), core::test::task(kPid + 1, {})};
    return reading;
}

inline event::Attach attach(std::uint64_t t_ns, std::int64_t anon = 1000, core::Scheme scheme = core::Scheme::Plain) {
    event::Attach attach;
    attach.host_tgid = kPid;
    attach.counters = {counters(anon, scheme), kStart + t_ns, kStart + t_ns + 1000};
    attach.faults.tasks = {{kPid, {10, 0}}, {kPid + 1, {5, 1}}};
    return attach;
}

inline event::Reading reading(std::uint64_t t_ns, std::int64_t anon, bool walk = false,
                              core::Scheme scheme = core::Scheme::Plain) {
    core::RawReading raw;
    raw.pid = kPid;
    raw.comm = "worker";
    raw.threads_count = 2;
    raw.readers.stat = core::Pages{anon};
    raw.bracket.readings = {counters(anon, scheme)};
    if (walk) raw.bracket = core::test::bracket(counters(anon, scheme), counters(anon, scheme), anon);
    raw.bracket_ns = raw.begin_ns = kStart + t_ns;
    raw.end_ns = kStart + t_ns + 1000;
    return {kPid, std::move(raw)};
}

inline event::Reading gone() {
    return {kPid, core::Error{core::Kind::Gone, "it is gone", 0, ""}};
}

template <class Record>
void append(event::Records &records, const Record &record) {
    const auto *const begin = reinterpret_cast<const std::byte *>(&record);
    records.bytes.insert(records.bytes.end(), begin, begin + sizeof(record));
}

/// The counter of anon pages is now `count`.
inline event::Records update(std::uint64_t t_ns, std::int64_t count, int tid = kPid, int cpu = 0) {
    rsslag_update record{};
    record.kind = RSSLAG_UPDATE;
    record.flags = RSSLAG_OWN | RSSLAG_OF_USER_FAULT;
    record.tid = tid;
    record.t_ns = kStart + t_ns;
    record.mm = kMm;
    record.count = count;
    record.cpu = static_cast<rsslag_u16>(cpu);
    record.member = 1;
    event::Records records;
    append(records, record);
    return records;
}

inline event::Records task(std::uint64_t t_ns, rsslag_u16 kind, rsslag_u16 flags, int tid, std::uint64_t mm = kMm) {
    rsslag_task record{};
    record.kind = kind;
    record.flags = flags;
    record.tid = record.ns_tid = tid;
    record.tgid = record.ns_tgid = kPid;
    record.t_ns = kStart + t_ns;
    record.mm = mm;
    std::string("worker").copy(record.comm, sizeof record.comm - 1);
    event::Records records;
    append(records, record);
    return records;
}

inline event::Watermark until(std::uint64_t t_ns) {
    return {kStart + t_ns, at(t_ns + 2'000'000)};
}

inline event::TickEnd tick_end(std::uint64_t t_ns) {
    return {std::nullopt, at(t_ns), {}};
}

inline event::Losses losses(std::uint64_t t_ns, std::uint64_t sent, std::uint64_t lost) {
    core::Losses counts;
    counts.sent = sent;
    counts.by_cause = {{"ring_full", lost}, {"recursion", 0}, {"no_room", 0}};
    return {kStart + t_ns, std::move(counts)};
}

/// Two ticks, a loss, and an end.
inline std::vector<event::Event> small_trace() {
    const auto s = [](std::uint64_t ms) { return ms * 1'000'000; };
    return {losses(s(1), 0, 0),
            attach(s(1)),
            update(s(10), 1010),
            update(s(20), 1030, kPid + 1, 1),
            losses(s(50), 2, 0),
            until(s(48)),
            reading(s(60), 1030, true),
            losses(s(64), 2, 0),
            event::Faults{{{kPid, {20, 0}}, {kPid + 1, {25, 1}}}},
            tick_end(s(65)),
            until(s(100)),
            update(s(110), 1031),
            losses(s(150), 4, 1),
            until(s(148)),
            reading(s(160), 1035),
            losses(s(164), 4, 1),
            event::Faults{{{kPid, {21, 0}}, {kPid + 1, {29, 1}}}},
            tick_end(s(165)),
            task(s(170), RSSLAG_EXIT, 0, kPid + 1),
            task(s(171), RSSLAG_EXIT, RSSLAG_GROUP_DEAD, kPid),
            update(s(172), 0, kPid),
            losses(s(200), 7, 1),
            until(s(198)),
            event::Stop{at(s(300))},
            event::Faults{},
            event::End{at(s(301)), {}}};
}

}  // namespace rsslag::analysis::test
