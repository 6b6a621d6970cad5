// SPDX-License-Identifier: BSD-2-Clause
#include "snapshot_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "rsslag/abi.h"

namespace rsslag::probe {
namespace {

template <class T>
core::Members members(const T (&counts)[core::kMembers]) {
    core::Members result;
    for (core::Member member : core::kAllMembers)
        result[member] = {counts[static_cast<std::size_t>(member)]};
    return result;
}

core::TaskReading task_reading(const rsslag_snapshot_task &record) {
    core::TaskReading task;
    task.tid = record.tid;
    task.tgid = record.tgid;
    task.host_tid = record.host_tid;
    task.host_tgid = record.host_tgid;
    task.comm.assign(record.comm, strnlen(record.comm, sizeof(record.comm)));
    task.cached = members(record.cached);
    task.faults_since_flush = record.events;
    task.faults_before = record.faults_before;
    task.faults_after = record.faults_after;
    task.group_faults = record.group_faults;
    task.in_execve = (record.flags & RSSLAG_TASK_IN_EXECVE) != 0;
    return task;
}

/// Takes records off the front of a byte sequence.
class Cursor {
  public:
    explicit Cursor(std::span<const char> bytes) : bytes_(bytes) {}

    bool at_end() const { return bytes_.empty(); }

    std::optional<rsslag_u32> kind() const {
        rsslag_u32 kind = 0;
        if (bytes_.size() < sizeof(kind)) return std::nullopt;
        std::memcpy(&kind, bytes_.data(), sizeof(kind));
        return kind;
    }

    template <class Record>
    std::optional<Record> take() {
        Record record;
        if (bytes_.size() < sizeof(record)) return std::nullopt;
        std::memcpy(&record, bytes_.data(), sizeof(record));
        bytes_ = bytes_.subspan(sizeof(record));
        return record;
    }

  private:
    std::span<const char> bytes_;
};

core::Error broken(const char *what) {
    return {core::Kind::Internal, fmt::format("the snapshot iterator wrote {}", what), 0, ""};
}

}  // namespace

core::Result<core::CounterReading> unpack_snapshot(core::Scheme scheme, std::span<const char> bytes) {
    core::CounterReading reading;
    reading.scheme = scheme;
    reading.tasks.reserve(bytes.size() / sizeof(rsslag_snapshot_task));
    core::MmReading *mm = nullptr;
    bool begun = false;
    Cursor cursor(bytes);
    while (!cursor.at_end()) {
        switch (cursor.kind().value_or(0)) {
            case RSSLAG_SNAPSHOT_MM_FIRST:
            case RSSLAG_SNAPSHOT_MM_LAST: {
                const auto record = cursor.take<rsslag_snapshot_mm>();
                if (!record) return broken("a truncated mm record");
                mm = record->kind == RSSLAG_SNAPSHOT_MM_FIRST ? &reading.first : &reading.last;
                begun = begun || mm == &reading.first;
                mm->flushed = members(record->flushed);
                mm->total_vm = record->total_vm;
                mm->map_count = record->map_count;
                reading.mm = record->mm;
                reading.mm_users = record->users;
                reading.threads = record->threads;
                reading.started_ns = record->started;
                reading.comm.assign(record->comm, strnlen(record->comm, sizeof(record->comm)));
                break;
            }
            case RSSLAG_SNAPSHOT_CPU: {
                const auto record = cursor.take<rsslag_snapshot_cpu>();
                if (!record || mm == nullptr) return broken("a truncated CPU record");
                mm->cpus.push_back({static_cast<int>(record->cpu), members(record->cached)});
                break;
            }
            case RSSLAG_SNAPSHOT_TASK: {
                const auto record = cursor.take<rsslag_snapshot_task>();
                if (!record) return broken("a truncated task record");
                reading.tasks.push_back(task_reading(*record));
                break;
            }
            default: return broken("a record of an unknown kind");
        }
    }
    if (mm == nullptr)
        return core::Error{core::Kind::Gone,
                           "this kernel's task iterator finds no task of this process with memory of its own", 0, ""};
    if (!begun || mm != &reading.last) return broken("no last mm record");
    return reading;
}

core::Result<std::vector<core::ProcessTotal>> unpack_totals(core::Scheme scheme, std::span<const char> bytes) {
    struct Mm {
        core::Members flushed, cached;
        std::int64_t cachers = 0;
        bool seen = false, moved = false;
    };
    std::unordered_map<rsslag_u64, Mm> mms;
    std::map<int, core::ProcessTotal> groups;  // by host TGID
    Cursor cursor(bytes);
    while (!cursor.at_end()) {
        const auto record = cursor.take<rsslag_total>();
        if (!record) return broken("a truncated total");
        Mm &mm = mms[record->mm];
        const core::Members flushed = members(record->flushed);
        const core::Members cached = members(record->cached);
        mm.moved = mm.moved || (record->flags & RSSLAG_TOTAL_MOVED) != 0 || (mm.seen && mm.flushed != flushed);
        mm.seen = true;
        mm.flushed = flushed;
        if (core::tasks_cache(scheme)) {
            mm.cached += cached;
            mm.cachers += record->cachers;
        } else {
            mm.cached = cached;
            mm.cachers = record->cachers;
        }
        core::ProcessTotal &group = groups[record->host_tgid];
        group.tgid = record->tgid;
        group.host_tgid = record->host_tgid;
        group.host_ppid = record->host_ppid;
        group.comm.assign(record->comm, strnlen(record->comm, sizeof(record->comm)));
        group.mm = record->mm;
        group.tasks = record->tasks;
        group.threads = record->threads;
        group.started_ns = record->started;
        group.leader_gone = (record->flags & RSSLAG_TOTAL_LEADER_GONE) != 0;
    }
    std::vector<core::ProcessTotal> processes;
    processes.reserve(groups.size());
    for (auto &[host_tgid, group] : groups) {
        const Mm &mm = mms[group.mm];
        group.flushed = mm.flushed;
        group.cached = mm.cached;
        group.cachers = mm.cachers;
        group.moved = mm.moved;
        processes.push_back(std::move(group));
    }
    return processes;
}

}  // namespace rsslag::probe
