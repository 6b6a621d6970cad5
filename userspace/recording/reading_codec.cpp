// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "item_codec.h"

namespace rsslag::recording {
namespace {

void put_members(Bytes &out, const core::Members &members) {
    for (const core::Member member : core::kAllMembers)
        put_signed(out, members[member].n);
}

/// Fails for values of `most` and beyond, in either direction: no real counter is that large.
std::int64_t read_up_to(ByteReader &in, std::int64_t most) {
    const std::int64_t value = in.signed_number();
    if (value > -most && value < most) return value;
    in.fail();
    return 0;
}

core::Members read_members(ByteReader &in) {
    core::Members members;
    for (const core::Member member : core::kAllMembers)
        members[member].n = read_up_to(in, core::kMostPagesOfMm);
    return members;
}

template <class Unit>
void put_optional(Bytes &out, const std::optional<Unit> &value) {
    put(out, value ? 1 : 0);
    if (value) put_signed(out, value->n);
}

template <class Unit>
std::optional<Unit> read_optional(ByteReader &in) {
    constexpr std::int64_t kMost = core::kMostPagesOfMm << 6;  // also limits KiB, with pages of up to 64 KiB
    if (!in.yes()) return std::nullopt;
    return Unit{read_up_to(in, kMost)};
}

void put_mm(Bytes &out, const core::MmReading &mm) {
    put_members(out, mm.flushed);
    put(out, mm.cpus.size());
    for (const core::CpuReading &cpu : mm.cpus) {
        put_signed(out, cpu.cpu);
        put_members(out, cpu.cached);
    }
    put(out, mm.total_vm);
    put_signed(out, mm.map_count);
}

core::MmReading read_mm(ByteReader &in) {
    core::MmReading mm;
    mm.flushed = read_members(in);
    const std::size_t cpus = in.count();
    for (std::size_t i = 0; i < cpus && !in.bad(); ++i) {
        const int cpu = in.small();
        mm.cpus.push_back({cpu, read_members(in)});
    }
    mm.total_vm = in.number();
    mm.map_count = in.signed_number();
    return mm;
}

void put_task(Bytes &out, const core::TaskReading &task, int &before) {
    put_signed(out, std::int64_t{task.host_tid} - before);
    before = task.host_tid;
    put_signed(out, std::int64_t{task.tid} - task.host_tid);
    put_signed(out, task.host_tgid);
    put_signed(out, task.tgid);
    put_text(out, task.comm);
    put_members(out, task.cached);
    put_signed(out, task.faults_since_flush);
    put(out, task.faults_before);
    put(out, task.faults_after - task.faults_before);
    put(out, task.group_faults);
    put(out, task.in_execve ? 1 : 0);
}

/// Wraps: a file may contain any number.
int sum(int before, std::int64_t by) {
    return static_cast<int>(static_cast<std::uint32_t>(before) + static_cast<std::uint32_t>(by));
}

core::TaskReading read_task(ByteReader &in, int &before) {
    core::TaskReading task;
    task.host_tid = before = sum(before, in.signed_number());
    task.tid = sum(task.host_tid, in.signed_number());
    task.host_tgid = in.small();
    task.tgid = in.small();
    task.comm = in.name();
    task.cached = read_members(in);
    task.faults_since_flush = in.small();
    task.faults_before = in.number();
    task.faults_after = task.faults_before + in.number();
    task.group_faults = in.number();
    task.in_execve = in.yes();
    return task;
}

void put_readers(Bytes &out, const core::ReaderValues &readers) {
    put_optional(out, readers.stat);
    put_optional(out, readers.statm);
    put_optional(out, readers.status_rss);
    for (const core::Member member : core::kMembersInText)
        put_optional(out, readers.status(member));
    put_optional(out, readers.status_hwm);
}

core::ReaderValues read_readers(ByteReader &in) {
    core::ReaderValues readers;
    readers.stat = read_optional<core::Pages>(in);
    readers.statm = read_optional<core::Pages>(in);
    readers.status_rss = read_optional<core::Kilobytes>(in);
    for (const core::Member member : core::kMembersInText)
        readers.status(member) = read_optional<core::Kilobytes>(in);
    readers.status_hwm = read_optional<core::Kilobytes>(in);
    return readers;
}

void put_walk(Bytes &out, const core::Walk &walk) {
    put(out, walk.file == core::WalkFile::Smaps ? 1 : 0);
    for (const core::Kilobytes kb : {walk.rss, walk.pss, walk.swap})
        put_signed(out, kb.n);
    put_optional(out, walk.anonymous);
    put_signed(out, walk.took_us);
}

core::Walk read_walk(ByteReader &in) {
    core::Walk walk;
    walk.file = in.yes() ? core::WalkFile::Smaps : core::WalkFile::SmapsRollup;
    for (core::Kilobytes *const kb : {&walk.rss, &walk.pss, &walk.swap})
        kb->n = read_up_to(in, core::kMostPagesOfMm << 6);
    walk.anonymous = read_optional<core::Kilobytes>(in);
    walk.took_us = in.signed_number();
    return walk;
}

}  // namespace

void put_counters(Bytes &out, const core::CounterReading &reading) {
    put(out, static_cast<std::uint64_t>(reading.scheme));
    put(out, reading.mm);
    put_signed(out, reading.mm_users);
    put_mm(out, reading.first);
    put_mm(out, reading.last);
    put(out, reading.tasks.size());
    int before = 0;
    for (const core::TaskReading &task : reading.tasks)
        put_task(out, task, before);
    put_signed(out, reading.took_us);
}

core::CounterReading read_counters(ByteReader &in) {
    core::CounterReading reading;
    const std::uint64_t scheme = in.number();
    if (scheme > static_cast<std::uint64_t>(core::Scheme::Plain)) in.fail();
    reading.scheme = static_cast<core::Scheme>(std::min<std::uint64_t>(scheme, 2));
    reading.mm = in.number();
    reading.mm_users = in.small();
    reading.first = read_mm(in);
    reading.last = read_mm(in);
    const std::size_t tasks = in.count();
    int before = 0;
    for (std::size_t i = 0; i < tasks && !in.bad(); ++i)
        reading.tasks.push_back(read_task(in, before));
    reading.took_us = in.signed_number();
    return reading;
}

void put_raw_reading(Bytes &out, const core::RawReading &raw, std::uint64_t base_ns) {
    put_signed(out, raw.pid);
    put(out, raw.start_ticks);
    put(out, raw.uid);
    put_text(out, raw.comm);
    put_signed(out, raw.threads_count);
    put(out, raw.leader_gone ? 1 : 0);
    put_readers(out, raw.readers);
    put(out, raw.bracket.readings.size());
    for (const core::CounterReading &reading : raw.bracket.readings)
        put_counters(out, reading);
    put(out, static_cast<std::uint64_t>(raw.bracket.walk_state));
    put(out, raw.bracket.walk ? 1 : 0);
    if (raw.bracket.walk) put_walk(out, *raw.bracket.walk);
    put(out, raw.evidence.in_execve ? 1 : 0);
    put_optional(out, raw.evidence.mapped);
    put_optional(out, raw.evidence.poisoned);
    for (const std::uint64_t t_ns : {raw.bracket_ns, raw.begin_ns, raw.end_ns})
        put_signed(out, static_cast<std::int64_t>(t_ns - base_ns));
    put_signed(out, raw.cpus_online);
    put(out, raw.started_ns);
}

core::RawReading read_raw_reading(ByteReader &in, std::uint64_t base_ns) {
    core::RawReading raw;
    raw.pid = in.small();
    raw.start_ticks = in.number();
    raw.uid = static_cast<std::uint32_t>(in.number());
    raw.comm = in.name();
    raw.threads_count = in.signed_number();
    raw.leader_gone = in.yes();
    raw.readers = read_readers(in);
    constexpr std::size_t kMostReadings = 64;  // a walk has one before and one after it
    const std::size_t readings = in.count();
    if (readings == 0 || readings > kMostReadings) in.fail();
    for (std::size_t i = 0; i < readings && !in.bad(); ++i)
        raw.bracket.readings.push_back(read_counters(in));
    const std::uint64_t state = in.number();
    if (state > static_cast<std::uint64_t>(core::WalkState::Unsupported)) in.fail();
    raw.bracket.walk_state = static_cast<core::WalkState>(std::min<std::uint64_t>(state, 4));
    if (in.yes()) raw.bracket.walk = read_walk(in);
    if (raw.bracket.walk.has_value() != (raw.bracket.walk_state == core::WalkState::Done)) in.fail();
    raw.evidence.in_execve = in.yes();
    raw.evidence.mapped = read_optional<core::Pages>(in);
    raw.evidence.poisoned = read_optional<core::Pages>(in);
    for (std::uint64_t *const t_ns : {&raw.bracket_ns, &raw.begin_ns, &raw.end_ns})
        *t_ns = base_ns + static_cast<std::uint64_t>(in.signed_number());
    if (!in.at_end()) raw.cpus_online = std::clamp(in.small(), 0, core::kMostCpus);  // absent from old recordings
    if (!in.at_end()) raw.started_ns = in.number();                                  // absent from old recordings, too
    return raw;
}

void put_losses(Bytes &out, const core::Losses &losses) {
    put(out, losses.sent);
    put(out, losses.by_cause.size());
    for (const auto &[cause, count] : losses.by_cause) {
        put_text(out, cause);
        put(out, count);
    }
}

core::Losses read_losses(ByteReader &in) {
    core::Losses losses;
    losses.sent = in.number();
    const std::size_t causes = in.count();
    for (std::size_t i = 0; i < causes && !in.bad(); ++i) {
        const std::string cause(core::loss_cause(in.text()));
        losses.by_cause[cause] += in.number();  // all unknown causes are counted as "other"
    }
    return losses;
}

}  // namespace rsslag::recording
