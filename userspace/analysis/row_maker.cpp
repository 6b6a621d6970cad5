// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/row_maker.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/reading_figures.h"
#include "fault_cause.h"

namespace rsslag::analysis {
namespace {

using core::FlushReason;
using core::Pages;
using exporters::Stamp;

bool has(std::uint16_t flags, std::uint16_t flag) {
    return (flags & flag) != 0;
}

exporters::UpdateRow::Type type_of(const std::optional<FlushReason> &reason) {
    using Type = exporters::UpdateRow::Type;
    if (!reason || *reason == FlushReason::Direct) return Type::Update;
    return *reason == FlushReason::Fold ? Type::Fold : Type::Flush;
}

exporters::TaskRow::Type type_of(const rsslag_task &task) {
    using Type = exporters::TaskRow::Type;
    switch (task.kind) {
        case RSSLAG_NEWTASK: return has(task.flags, RSSLAG_SAME_GROUP) ? Type::ThreadStart : Type::Fork;
        case RSSLAG_RENAME: return Type::Rename;
        case RSSLAG_EXEC: return Type::Exec;
        case RSSLAG_EXIT: return has(task.flags, RSSLAG_GROUP_DEAD) ? Type::Exit : Type::ThreadEnd;
        default: break;
    }
    return Type::Seen;
}

/// A task outside of this PID namespace is identified by the kernel's number.
int or_host(int number, int host) {
    return number > 0 ? number : host;
}

exporters::ReadingRow reading_row(const core::RawReading &reading) {
    const core::CounterReading &counters = reading.counters();
    exporters::ReadingRow row;
    row.flushed = counters.flushed();
    row.cached = counters.cached();
    row.readers = reading.readers;
    row.tasks = static_cast<std::int64_t>(counters.tasks.size());
    row.took_us = counters.took_us;
    row.start_ticks = reading.start_ticks;
    return row;
}

}  // namespace

RowMaker::Task &RowMaker::known(int host_tid) {
    if (last_task_.second == nullptr || last_task_.first != host_tid) last_task_ = {host_tid, &tasks_[host_tid]};
    Task &task = *last_task_.second;
    if (task.tid == 0) task.tid = host_tid;
    task.seen_ns = now_ns_;
    return task;
}

void RowMaker::learn(int host_tid, int tid, int pid, const std::string &comm) {
    Task &task = known(host_tid);
    task.tid = or_host(tid, host_tid);
    task.pid = pid;
    task.comm = comm;
}

RowMaker::Mm &RowMaker::mm_at(std::uint64_t address) {
    if (last_mm_.second != nullptr && last_mm_.first == address) return *last_mm_.second;
    Mm &mm = mms_[address];
    if (mm.id == 0) mm.id = ++mm_ids_;
    last_mm_ = {address, &mm};
    return mm;
}

RowMaker::Mm &RowMaker::new_mm(std::uint64_t address) {
    Mm &mm = mm_at(address);
    if (mm.generation != 0) past_.emplace(mm.generation, mm);
    mm = {++mm_ids_, 0, 0, false};
    return mm;
}

RowMaker::Mm &RowMaker::mm_of(const core::MmView &view) {
    const auto past = past_.find(view.generation);
    if (past != past_.end()) return past->second;
    Mm *mm = &mm_at(view.mm);
    // An earlier mm, of which no record was seen: the address belongs to a later one.
    if (view.generation < mm->generation)
        return past_.emplace(view.generation, Mm{++mm_ids_, 0, view.generation, true}).first->second;
    if (mm->generation != 0 && mm->generation != view.generation) mm = &new_mm(view.mm);
    mm->generation = view.generation;
    return *mm;
}

RowMaker::Mm &RowMaker::at_update(const rsslag_update &update, const std::optional<core::Held> &held) {
    Mm *mm = &mm_at(update.mm);
    if (has(update.flags, RSSLAG_TEARDOWN)) {
        mm->torn = true;
    } else if (mm->torn) {
        mm = &new_mm(update.mm);
    }
    if (!held || held->generation == mm->generation) return *mm;
    if (mm->generation != 0) mm = &new_mm(update.mm);
    mm->generation = held->generation;
    return *mm;
}

Stamp RowMaker::stamp(std::uint64_t t_ns, int host_tid, std::uint64_t mm, int cpu) {
    Stamp at;
    at.t_ns = since_start(t_ns);
    const Task &task = known(host_tid);
    at.tid = task.tid;
    at.comm = task.comm;
    at.cpu = cpu;
    if (mm != 0) {
        const Mm &known_mm = mm_at(mm);
        at.mm = known_mm.id;
        at.pid = known_mm.pid;
    }
    return at;
}

void RowMaker::begin(std::uint64_t start_ns) {
    start_ns_ = start_ns;
}

void RowMaker::on_renumbered(const core::Renumbered &thread) {
    learn(thread.host_tid, thread.was.tid, thread.was.tgid, thread.was.comm);
}

void RowMaker::on_adopted(const core::GroupView &group) {
    if (group.mm == 0 || group.tgid == 0) return;
    if (Mm &mm = mm_at(group.mm); mm.pid == 0) mm.pid = group.tgid;
    mm_of_pid_[group.tgid] = group.mm;
    if (Task &leader = known(group.host_tgid); leader.pid == 0)
        learn(group.host_tgid, group.tgid, group.tgid, group.comm);
}

/// Otherwise rows that wait for a later record would wait until the end if no record comes.
void RowMaker::reached(std::uint64_t t_ns) {
    if (const std::uint64_t until = since_start(t_ns); until > 0) catch_up(until - 1);
    // A record can be later than any limit, if a hypervisor stops its CPU. If it is later than this, it was lost.
    constexpr std::uint64_t kLatestNs = 1'000'000'000;
    while (!sampled_.empty() && std::get<0>(sampled_.begin()->first) + kLatestNs < t_ns)
        sampled_.erase(sampled_.begin());
}

void RowMaker::on_applied(const rsslag_update &update, const core::Applied &applied) {
    catch_up(since_start(update.t_ns));
    at_update(update, applied.held);
    exporters::UpdateRow row;
    row.at = stamp(update.t_ns, update.tid, update.mm, update.cpu);
    row.type = type_of(applied.reason);
    row.member = core::member_of(update.member);
    row.pages = applied.pages;
    if (const auto cached = core::cached_after(update, applied)) row.cached = Pages{*cached};
    if (row.member) row.flushed = Pages{update.count};
    row.reason = applied.reason;
    row.fault = cause_of(update);
    if (row.fault) row.mapping = table_.name_at(row.at.pid, update.address);
    row.by_other = applied.by_other;
    row.newborn = has(update.flags, RSSLAG_NEWBORN);
    row.teardown = has(update.flags, RSSLAG_TEARDOWN);
    row.known = applied.known;
    row.from_faults = applied.from_faults;
    row.sample = sample_of(update.t_ns, update.tid, update.cpu, update.member);
    row.held = applied.held;
    if (applied.ticket == 0) return put(row);
    held_.add({row, std::string(row.at.comm)}, applied.ticket);
}

void RowMaker::on_samples(const event::Samples &samples) {
    sink_.samples(samples);
    std::uint64_t number = samples.first;
    for (const core::Sample &sample : samples.samples)
        sampled_[{sample.t_ns, sample.host_tid, sample.cpu, sample.member}] = number++;
}

void RowMaker::on_stacks(const event::Stacks &stacks) {
    sink_.stacks(stacks);
}

void RowMaker::on_absent_pages(const event::AbsentPages &absent) {
    sink_.absent_pages(absent);
}

std::int64_t RowMaker::sample_of(std::uint64_t t_ns, int host_tid, int cpu, int member) {
    if (sampled_.empty()) return -1;
    const auto found = sampled_.find({t_ns, host_tid, cpu, member});
    if (found == sampled_.end()) return -1;
    const auto number = static_cast<std::int64_t>(found->second);
    sampled_.erase(found);
    return number;
}

void RowMaker::on_settled(std::span<const core::SettledUpdate> amounts) {
    for (const core::SettledUpdate &amount : amounts) {
        held_.settle(amount, [&amount](Held &held) {
            auto &row = std::get<exporters::UpdateRow>(held.row);
            row.pages = amount.pages;
            row.reason = amount.reason;
            row.type = type_of(amount.reason);
        });
    }
}

void RowMaker::hold(const exporters::Row &row) {
    std::visit(
        [this](const auto &each) {
            using T = std::decay_t<decltype(each)>;
            std::string comm(each.at.comm);
            if constexpr (std::is_same_v<T, exporters::UpdateRow>)
                held_.add({each, std::move(comm)}, 0);
            else
                held_.add({std::make_unique<Kept<T>>(each), std::move(comm)}, 0);
        },
        row);
}

void RowMaker::release(Held &held) {
    const auto write_with_comm = [this, &held](auto &row) {
        row.at.comm = held.comm;
        write(row);
    };
    std::visit(
        [&](auto &each) {
            using T = std::decay_t<decltype(each)>;
            if constexpr (std::is_same_v<T, exporters::UpdateRow>)
                write_with_comm(each);
            else if constexpr (std::is_same_v<T, std::unique_ptr<KeptListing>>)
                write_listing(*each);
            else
                write_with_comm(each->row);
        },
        held.row);
}

void RowMaker::on_fault(const rsslag_fault &fault, const core::Members &came, const std::optional<core::Held> &held) {
    catch_up(since_start(fault.t_ns));
    exporters::FaultRow row;
    row.at = stamp(fault.t_ns, fault.tid, fault.mm, fault.cpu);
    row.fault = cause_of(fault);
    row.came = came;
    for (const core::Member member : core::kAllMembers)
        row.cached[member] = {fault.cached[static_cast<std::size_t>(member)]};
    row.faults_since_flush = fault.events;
    row.after = has(fault.flags, RSSLAG_AFTER_FAULT);
    for (std::size_t member = 0; member < core::kMembers; ++member)
        row.samples[member] = sample_of(fault.t_ns, fault.tid, fault.cpu, static_cast<int>(member));
    row.mapping = table_.name_at(row.at.pid, fault.address);
    row.held = held;
    put(row);
}

void RowMaker::on_sum(const rsslag_sum &sum, const std::optional<core::Held> &held) {
    if (has(sum.flags, RSSLAG_PARTIAL)) return;
    catch_up(since_start(sum.t_ns));
    exporters::SumRow row;
    row.at = stamp(sum.t_ns, sum.tid, sum.mm, sum.cpu);
    row.updates = sum.updates;
    row.of_cpu = sum.of;
    row.held = held;
    for (std::size_t member = 0; member < core::kMembers; ++member)
        if ((sum.members >> member & 1U) != 0) row.cached[member] = Pages{sum.cached[member]};
    put(row);
}

void RowMaker::on_task(const core::TaskLine &line) {
    const rsslag_task &task = line.task;
    catch_up(since_start(task.t_ns));
    const int pid = or_host(task.ns_tgid, task.tgid);
    learn(task.tid, task.ns_tid, pid, std::string(task.comm, strnlen(task.comm, sizeof(task.comm))));
    const bool shares = has(task.flags, RSSLAG_SHARES_MM);
    const bool makes = task.kind == RSSLAG_EXEC || (task.kind == RSSLAG_NEWTASK && !shares);
    if (task.mm != 0) {
        if (makes && mm_at(task.mm).torn) new_mm(task.mm);
        Mm &mm = mm_at(task.mm);
        if (makes || mm.pid == 0) mm.pid = pid;
    }
    note_task(task, pid);
    exporters::TaskRow row;
    row.at = stamp(task.t_ns, task.tid, task.mm, task.cpu);
    row.at.pid = pid;
    row.type = type_of(task);
    row.host_pid = task.tgid;
    row.host_tid = task.tid;
    row.parent_host_tid = task.parent;
    row.old_host_tid = task.old_tid;
    row.shares_mm = shares;
    row.user_faults = task.user_faults;
    row.kernel_faults = task.kernel_faults;
    put(row);
}

/// Tracks which process has which mm and mappings.
void RowMaker::note_task(const rsslag_task &task, int pid) {
    if (task.mm != 0) mm_of_pid_[pid] = task.mm;
    const bool thread = has(task.flags, RSSLAG_SAME_GROUP);
    const int tid = known(task.tid).tid;
    switch (task.kind) {
        case RSSLAG_NEWTASK:
            if (thread) table_.thread_begins(pid, tid, task.stack_pointer);
            if (!thread) table_.fork(known(task.parent).pid, pid, has(task.flags, RSSLAG_SHARES_MM));
            break;
        case RSSLAG_EXEC: table_.exec(pid); break;
        case RSSLAG_EXIT: has(task.flags, RSSLAG_GROUP_DEAD) ? table_.exit(pid) : table_.thread_ends(pid, tid); break;
        default: break;
    }
}

exporters::Stamp RowMaker::stamp_of_mapping(std::uint64_t t_ns, int pid) {
    exporters::Stamp at;
    at.t_ns = since_start(t_ns);
    at.pid = pid;
    const auto mm = mm_of_pid_.find(pid);
    if (!table_.in_exec(pid) && mm != mm_of_pid_.end()) at.mm = mm_at(mm->second).id;
    return at;
}

void RowMaker::on_mapping(const core::MappingChange &change) {
    using Type = exporters::MappingRow::Type;
    using Kind = core::MappingChange::Kind;
    catch_up(since_start(change.t_ns));
    // The kernel reports the flags of a new mapping only.
    const bool moved = change.kind == Kind::Moved;
    const auto known = moved || change.kind == Kind::Named
                           ? table_.flags_at(change.pid, moved ? change.old_start : change.range.start)
                           : std::optional(change.range.flags);
    table_.change(change);
    if (change.kind == Kind::Lost)
        return emit(since_start(change.t_ns), Lost{std::string(exporters::kMappingsLost), change.lost});
    if (change.kind == Kind::Exec) return;
    exporters::MappingRow row;
    row.at = stamp_of_mapping(change.t_ns, change.pid);
    row.mapping = table_.name_of(change.pid, change.range);
    row.from = change.range.start;
    row.to = change.range.end;
    row.flags = known;
    row.type = moved ? Type::Moved : change.kind == Kind::Named ? Type::Named : Type::Mapped;
    row.at.tid = change.tid;
    row.old_from = change.old_start;
    row.old_to = change.old_end;
    row.moved_ns = change.t_ns;
    row.build_id = change.build_id;
    put(row);
}

void RowMaker::on_listing(const core::MappingListing &listing) {
    catch_up(since_start(listing.t_ns));
    table_.list(listing);
    if (listing.entries.empty()) return;
    auto rows = std::make_unique<KeptListing>();
    rows->at = stamp_of_mapping(listing.t_ns, listing.pid);
    rows->entries.reserve(listing.entries.size());
    for (const auto &[range, rss] : listing.entries)
        rows->entries.push_back({table_.name_of(listing.pid, range), range.start, range.end, range.flags, rss});
    if (held_.empty()) return write_listing(*rows);
    held_.add({std::move(rows), ""}, 0);
}

void RowMaker::write_listing(const KeptListing &listing) {
    exporters::MappingRow row;
    row.at = listing.at;
    row.type = exporters::MappingRow::Type::Listed;
    for (const KeptListing::Entry &entry : listing.entries) {
        row.mapping = entry.mapping;
        row.from = entry.from;
        row.to = entry.to;
        row.flags = entry.flags;
        row.held = entry.held;
        write(row);
    }
}

void RowMaker::on_reading(const core::RawReading &reading) {
    const core::CounterReading &counters = reading.counters();
    for (const core::TaskReading &task : counters.tasks)
        learn(task.host_tid, task.tid, or_host(task.tgid, task.host_tgid), task.comm);
    Mm &mm = mm_at(counters.mm);
    if (mm.pid == 0) mm.pid = reading.pid;
    const std::uint64_t t_ns = since_start(reading.end_ns);
    Read read{reading.pid, counters.mm, reading.comm, reading_row(reading)};
    wait(t_ns, read);
    if (!reading.bracket.walk) return;
    read.row = exporters::WalkRow{{}, *reading.bracket.walk};
    wait(t_ns, std::move(read));
}

void RowMaker::on_loss(std::uint64_t t_ns, const core::Losses &losses) {
    for (const auto &[cause, count] : losses.by_cause) {
        std::uint64_t &before = lost_[cause];
        if (count > before) wait(since_start(t_ns), Lost{cause, count - before});
        before = count;
    }
}

void RowMaker::on_tick(core::Tick tick) {
    now_ns_ = std::max(now_ns_, tick.t_ns);
    for (const core::TaskNet &task : tick.ledger.tasks)
        learn(task.host_tid, task.tid, or_host(task.tgid, tick.process.pid), task.comm);
    if (Mm &mm = mm_of(tick.ledger); mm.pid == 0) mm.pid = tick.process.pid;
    const std::uint64_t t_ns = tick.t_ns;
    wait(t_ns, std::move(tick));
}

void RowMaker::wait(std::uint64_t t_ns, Later later) {
    later_.emplace(t_ns, std::move(later));
}

void RowMaker::emit_until(std::uint64_t t_ns) {
    while (!later_.empty() && later_.begin()->first <= t_ns) {
        const auto next = later_.extract(later_.begin());
        std::visit([&](const auto &each) { emit(next.key(), each); }, next.mapped());
    }
}

void RowMaker::emit(std::uint64_t t_ns, const Read &read) {
    std::visit(
        [&](auto row) {
            row.at.t_ns = t_ns;
            row.at.pid = read.pid;
            row.at.comm = read.comm;
            row.at.mm = mm_at(read.mm).id;
            put(row);
        },
        read.row);
}

void RowMaker::emit(std::uint64_t t_ns, const Lost &lost) {
    exporters::LossRow row;
    row.at.t_ns = t_ns;
    // The row may outlive `lost`, so its cause must point to a constant.
    row.cause = lost.cause == exporters::kMappingsLost ? exporters::kMappingsLost : core::loss_cause(lost.cause);
    row.records = lost.records;
    put(row);
}

void RowMaker::emit(std::uint64_t t_ns, const core::Tick &tick) {
    const core::ReadingFigures figures = core::figures_of(tick);
    exporters::TickRow row;
    static_cast<core::TickFigures &>(row) = core::tick_figures(tick, figures);
    Mm &mm = mm_of(tick.ledger);
    row.at.t_ns = t_ns;
    row.at.pid = tick.process.pid;
    row.at.comm = tick.process.comm;
    row.at.mm = mm.id;
    if (tick.state != core::State::Running && tick.ledger.torn_down) mm.torn = true;
    row.read = tick.read;
    row.baseline = tick.ledger.baseline;
    row.needs_resync = tick.needs_resync;
    row.extremes = tick.extremes;
    row.at_start = tick.ledger.at_start;
    row.start_approximate = tick.ledger.start_approximate;
    row.baseline_approximate = tick.ledger.baseline_approximate;
    row.last = tick.ledger.last;
    row.ledger = &tick.ledger;
    put(row);
}

void RowMaker::keep_at_most(std::size_t most) {
    if (held_.size() > most) held_.finish();
    while (past_.size() > most)
        past_.erase(past_.begin());
    if (mms_.size() > 2 * most) {
        std::erase_if(mms_, [](const auto &mm) { return mm.second.torn; });
        last_mm_ = {0, nullptr};
    }
    if (mm_of_pid_.size() > 2 * most) {
        std::erase_if(mm_of_pid_, [this](const auto &each) {
            const auto mm = mms_.find(each.second);
            return mm == mms_.end() || mm->second.torn || mm->second.pid != each.first;
        });
    }
    if (tasks_.size() <= 2 * most) return;
    std::vector<std::uint64_t> seen;
    for (const auto &[tid, task] : tasks_)
        seen.push_back(task.seen_ns);
    const auto oldest_kept = seen.end() - static_cast<std::ptrdiff_t>(most);
    std::nth_element(seen.begin(), oldest_kept, seen.end());
    std::erase_if(tasks_, [before = *oldest_kept](const auto &task) { return task.second.seen_ns < before; });
    last_task_ = {0, nullptr};
}

core::Status RowMaker::finish() {
    emit_until(UINT64_MAX);
    held_.finish();
    return status_;
}

}  // namespace rsslag::analysis
