// SPDX-License-Identifier: BSD-2-Clause
#include "at_exec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/wire.h"

namespace rsslag::tracer {
namespace {

/// Reads a record of the kind at the start of `bytes`; its size is that of the kind.
rsslag_at_exec read(const std::byte *bytes) {
    rsslag_at_exec record;
    std::memcpy(&record, bytes, sizeof(record));
    return record;
}

template <class Value>
core::Members members_of(const Value (&values)[RSSLAG_MEMBERS]) {
    core::Members members;
    for (const core::Member member : core::kAllMembers)
        members[member] = {values[static_cast<std::size_t>(member)]};
    return members;
}

event::AtExec event_of(core::Scheme scheme, const rsslag_at_exec &last, const std::vector<rsslag_at_exec> &caches) {
    core::TaskReading task;
    task.tid = last.ns_tid;
    task.tgid = last.ns_tgid;
    task.host_tid = last.tid;
    task.host_tgid = last.tgid;
    task.faults_before = task.faults_after = last.faults;
    if (core::tasks_cache(scheme)) {
        task.cached = members_of(last.cached);
        task.faults_since_flush = last.events;
    }
    core::CounterReading reading;
    reading.scheme = scheme;
    reading.mm = last.mm;
    reading.mm_users = 1;
    reading.threads = 1;
    reading.first.flushed = members_of(last.flushed);
    for (const rsslag_at_exec &cache : caches)
        reading.first.cpus.push_back({cache.cpu, members_of(cache.cached)});
    std::sort(reading.first.cpus.begin(), reading.first.cpus.end(),
              [](const auto &a, const auto &b) { return a.cpu < b.cpu; });
    reading.last = reading.first;
    reading.tasks.push_back(std::move(task));
    return {{std::move(reading), last.t_ns, last.t_ns}};
}

}  // namespace

std::vector<event::AtExec> AtExecRecords::take(core::Scheme scheme, std::vector<std::byte> &ring) {
    constexpr std::size_t kMostParts = 1024;  // execs whose last record is lost
    std::vector<event::AtExec> events;
    std::size_t kept = 0;
    for (std::size_t at = 0, size = 0; at < ring.size(); at += size) {
        rsslag_u16 kind = 0;
        std::memcpy(&kind, ring.data() + at, sizeof(kind));
        size = wire::record_bytes(kind);
        if (kind != RSSLAG_AT_EXEC) {
            if (kept != at) std::memmove(ring.data() + kept, ring.data() + at, size);
            kept += size;
            continue;
        }
        const rsslag_at_exec record = read(ring.data() + at);
        std::vector<rsslag_at_exec> &parts = parts_[record.mm];
        if (!parts.empty() && parts.front().t_ns != record.t_ns) parts.clear();
        if (record.last == 0) {
            parts.push_back(record);
            continue;
        }
        if (parts.size() == record.caches) events.push_back(event_of(scheme, record, parts));
        parts_.erase(record.mm);
        if (parts_.size() > kMostParts) parts_.clear();
    }
    ring.resize(kept);
    return events;
}

}  // namespace rsslag::tracer
