// SPDX-License-Identifier: BSD-2-Clause
// The fields of each row, defined once for JSON and CSV.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/member_name.h"
#include "rsslag/core/text.h"
#include "rsslag/sinks/row.h"

namespace rsslag::sinks {

/// In output order. Names are those of rsslag.tick/2, with _ in place of dots.
enum class Column : std::uint8_t {
    Type,
    TNs,
    Pid,
    Tid,
    Cpu,
    Comm,
    Mm,
    Member,
    Pages,
    Cached,
    Flushed,
    Reason,
    Fault,
    Address,
    ByOther,
    Newborn,
    Teardown,
    Known,
    After,
    FaultsSinceFlush,
    OfCpu,
    HostPid,
    HostTid,
    ParentHostTid,
    OldHostTid,
    SharesMm,
    UserFaults,
    KernelFaults,
    Cause,
    Records,
    Seq,
    Time,
    State,
    Tasks,
    TookUs,
    StatRssKb,
    StatmRssKb,
    StatusRssKb,
    StatusAnonKb,
    StatusFileKb,
    StatusShmemKb,
    StatusSwapKb,
    StatusHwmKb,
    WalkedFile,
    WalkedRssKb,
    WalkedPssKb,
    WalkedSwapKb,
    WalkUs,
    WalkedAgeMs,
    FlushedFile,
    FlushedAnon,
    FlushedShmem,
    FlushedSwap,
    FlushedRss,
    CachedFile,
    CachedAnon,
    CachedShmem,
    CachedSwap,
    CachedRss,
    ExactFile,
    ExactAnon,
    ExactShmem,
    ExactSwap,
    ExactRss,
    Lag,
    Behind,
    Residual,
    Verdict,
    NeedsResync,
    Updates,
    UpdatesByOthers,
    Faults,
    Flushes,
    Lost,
    Disagreements,
    Resyncs,
    Image,
    PeakMin,
    PeakMax,
    PeakTNs,
    PeakTid,
    PeakLag,
    PeakLagTNs,
    Mapping,
    From,
    To,
    Perms,
    OldFrom,
    HeldKb,
    BuildId,
    ToNs,
    TraceId,
    Segment,
    Host,
    BootId,
    Kernel,
    Scheme,
    CpusOnline,
    PageSize,
    StartTime,
    Last = StartTime
};
inline constexpr std::size_t kColumns = static_cast<std::size_t>(Column::Last) + 1;

/// Index: Column.
const std::array<std::string_view, kColumns> &column_names();

/// An untrusted name that is not escaped yet.
struct Raw {
    std::string_view bytes;
};
/// An id or an address of 64 bits: a string in JSON.
struct Hex {
    std::uint64_t number;
};
struct Id {
    std::uint64_t number;
};

// `put(column, value)` is called with ascending columns; a value is a std::string_view that needs no escaping, an
// integer, a bool, Raw, Hex, Id, or an optional of these.

template <class Put>
void put_stamp(std::string_view type, const Stamp &at, Put &put) {
    const auto positive = [](int number) { return number > 0 ? std::optional(number) : std::nullopt; };
    put(Column::Type, type);
    put(Column::TNs, at.t_ns);
    put(Column::Pid, positive(at.pid));
    put(Column::Tid, positive(at.tid));
    put(Column::Cpu, at.cpu);
}

template <class Put>
void put_name(const Stamp &at, Put &put) {
    put(Column::Comm, Raw{at.comm});
    put(Column::Mm, at.mm != 0 ? std::optional(Id{at.mm}) : std::nullopt);
}

/// Writes consecutive columns, one per member in output order, from `at` on. Returns the next column, which is that of
/// rss.
template <class Put, class Value>
Column put_members_of(Column at, const Value &value_of, Put &put) {
    for (const core::Member member : core::kMembersInOrder) {
        put(at, value_of(member));
        at = static_cast<Column>(static_cast<int>(at) + 1);
    }
    return at;
}

template <class Put>
void put_members(Column file, const core::Members &members, Put &put) {
    const auto pages = [&members](core::Member member) { return members[member].n; };
    put(put_members_of(file, pages, put), members.rss().n);
}

template <class Number>
std::optional<std::int64_t> count_of(const std::optional<Number> &number) {
    return number ? std::optional(number->n) : std::nullopt;
}

template <class Put>
void put_readers(const core::ReaderValues &readers, const core::PageSize &page_size, Put &put) {
    const auto in_kb = [&](const std::optional<core::Pages> &pages) {
        return pages ? std::optional(page_size.kb(*pages).n) : std::nullopt;
    };
    put(Column::StatRssKb, in_kb(readers.stat));
    put(Column::StatmRssKb, in_kb(readers.statm));
    put(Column::StatusRssKb, count_of(readers.status_rss));
    put(Column::StatusAnonKb, count_of(readers.status_anon));
    put(Column::StatusFileKb, count_of(readers.status_file));
    put(Column::StatusShmemKb, count_of(readers.status_shmem));
    put(Column::StatusSwapKb, count_of(readers.status_swap));
    put(Column::StatusHwmKb, count_of(readers.status_hwm));
}

template <class Put>
void put_walk(const std::optional<core::Walk> &walk, Put &put) {
    using Number = std::optional<std::int64_t>;
    put(Column::WalkedFile, walk ? std::optional(core::name(walk->file)) : std::nullopt);
    put(Column::WalkedRssKb, walk ? Number(walk->rss.n) : Number());
    put(Column::WalkedPssKb, walk ? Number(walk->pss.n) : Number());
    put(Column::WalkedSwapKb, walk ? Number(walk->swap.n) : Number());
    put(Column::WalkUs, walk ? Number(walk->took_us) : Number());
}

template <class Put>
void put_fault(const std::optional<FaultCause> &fault, Put &put) {
    using Mode = std::optional<std::string_view>;
    put(Column::Fault, fault && fault->kernel ? Mode(*fault->kernel ? "kernel" : "user") : Mode());
    put(Column::Address, fault ? std::optional(Hex{fault->address}) : std::nullopt);
}

template <class Put>
void put_mapping(std::string_view mapping, Put &put) {
    put(Column::Mapping, mapping.empty() ? std::nullopt : std::optional(Raw{mapping}));
}

template <class Put>
void put_fields(const UpdateRow &row, std::string_view type, const core::PageSize & /*page_size*/, Put &put) {
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    put(Column::Member, row.member ? std::optional(core::name(*row.member)) : std::nullopt);
    put(Column::Pages, count_of(row.pages));
    put(Column::Cached, count_of(row.cached));
    put(Column::Flushed, count_of(row.flushed));
    put(Column::Reason, row.reason ? std::optional(core::name(*row.reason)) : std::nullopt);
    put_fault(row.fault, put);
    put(Column::ByOther, row.by_other);
    put(Column::Newborn, row.newborn);
    put(Column::Teardown, row.teardown);
    put(Column::Known, row.known);
    put_mapping(row.mapping, put);
}

template <class Put>
void put_fields(const FaultRow &row, std::string_view type, const core::PageSize & /*page_size*/, Put &put) {
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    put_fault(row.fault, put);
    put(Column::After, row.after);
    put(Column::FaultsSinceFlush, row.faults_since_flush);
    put_members(Column::CachedFile, row.cached, put);
    put_mapping(row.mapping, put);
}

template <class Put>
void put_fields(const SumRow &row, std::string_view type, const core::PageSize & /*page_size*/, Put &put) {
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    put(Column::OfCpu, row.of_cpu);
    const auto known = [&row](core::Member member) { return count_of(row.cached[static_cast<std::size_t>(member)]); };
    put_members_of(Column::CachedFile, known, put);
    put(Column::Updates, row.updates);
}

template <class Put>
void put_fields(const TaskRow &row, std::string_view type, const core::PageSize & /*page_size*/, Put &put) {
    const auto positive = [](int number) { return number > 0 ? std::optional(number) : std::nullopt; };
    const bool ends = row.type == TaskRow::Type::Exit || row.type == TaskRow::Type::ThreadEnd;
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    put(Column::HostPid, positive(row.host_pid));
    put(Column::HostTid, positive(row.host_tid));
    put(Column::ParentHostTid, positive(row.parent_host_tid));
    put(Column::OldHostTid, positive(row.old_host_tid));
    put(Column::SharesMm, row.shares_mm);
    put(Column::UserFaults, ends ? std::optional(row.user_faults) : std::nullopt);
    put(Column::KernelFaults, ends ? std::optional(row.kernel_faults) : std::nullopt);
}

template <class Put>
void put_fields(const ReadingRow &row, std::string_view type, const core::PageSize &page_size, Put &put) {
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    put(Column::Tasks, row.tasks);
    put(Column::TookUs, row.took_us);
    put_readers(row.readers, page_size, put);
    put_members(Column::FlushedFile, row.flushed, put);
    put_members(Column::CachedFile, row.cached, put);
    put_members(Column::ExactFile, row.flushed + row.cached, put);
}

template <class Put>
void put_fields(const WalkRow &row, std::string_view type, const core::PageSize & /*page_size*/, Put &put) {
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    put_walk(row.walk, put);
}

template <class Put>
void put_fields(const MappingRow &row, std::string_view type, const core::PageSize & /*page_size*/, Put &put) {
    const std::string perms = core::permissions(row.flags);
    const bool moved = row.type == MappingRow::Type::Moved;
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    put_mapping(row.mapping, put);
    put(Column::From, Hex{row.from});
    put(Column::To, Hex{row.to});
    put(Column::Perms, std::string_view(perms));
    put(Column::OldFrom, moved ? std::optional(Hex{row.old_from}) : std::nullopt);
    put(Column::HeldKb, count_of(row.held));
    const std::string build_id = core::hex(row.build_id);
    put(Column::BuildId, row.build_id.known() ? std::optional(std::string_view(build_id)) : std::nullopt);
}

template <class Put>
void put_fields(const LossRow &row, std::string_view type, const core::PageSize & /*page_size*/, Put &put) {
    put_stamp(type, row.at, put);
    put(Column::Cause, Raw{row.cause});
    put(Column::Records, row.records);
}

/// Peaks of the process up to the row's time.
template <class Put>
void put_peak(const core::Extremes &extremes, Put &put) {
    put(Column::Image, extremes.image);
    put(Column::PeakMin, extremes.most.from.n);
    put(Column::PeakMax, extremes.most.to.n);
    put(Column::PeakTNs, extremes.most.t_ns);
    put(Column::PeakTid, extremes.most.tid > 0 ? std::optional(extremes.most.tid) : std::nullopt);
    put(Column::PeakLag, extremes.lag.n);
    put(Column::PeakLagTNs, extremes.lag_t_ns);
}

template <class Put>
void put_fields(const TickRow &row, std::string_view type, const core::PageSize &page_size, Put &put) {
    put_stamp(type, row.at, put);
    put_name(row.at, put);
    const std::string time = core::utc_time(row.time);
    put(Column::Seq, row.seq);
    put(Column::Time, std::string_view(time));
    put(Column::State, core::name(row.state));
    put_readers(row.readers, page_size, put);
    put_walk(row.walk, put);
    put(Column::WalkedAgeMs, row.walk ? std::optional(row.walk_age_ms) : std::nullopt);
    put_members(Column::FlushedFile, row.flushed, put);
    put_members(Column::CachedFile, row.cached, put);
    put_members(Column::ExactFile, row.exact, put);
    put(Column::Lag, count_of(row.lag));
    put(Column::Behind, count_of(row.behind));
    put(Column::Residual, count_of(row.residual));
    put(Column::Verdict, core::name(row.verdict));
    put(Column::NeedsResync, row.needs_resync);
    put(Column::Updates, row.updates);
    put(Column::UpdatesByOthers, row.updates_by_others);
    put(Column::Faults, row.faults);
    put(Column::Flushes, row.flushes);
    put(Column::Lost, row.lost);
    put(Column::Disagreements, row.disagreements);
    put(Column::Resyncs, row.resyncs);
    put_peak(row.extremes, put);
}

/// A row for a missing part of the recording.
template <class Put>
void put_missing(const MissingPart &missing, Put &put) {
    Stamp at;
    at.t_ns = missing.from_ns;
    put_stamp("missing", at, put);
    put(Column::Reason, Raw{missing.reason});
    put(Column::Records, missing.records);
    put(Column::ToNs, missing.to_ns);
}

/// Writes the last columns of each row, which identify the recording if one table contains rows of several recordings.
template <class Put>
void put_trace(const Facts &facts, Put &put) {
    const auto text = [](const std::string &raw) { return raw.empty() ? std::nullopt : std::optional(Raw{raw}); };
    const std::string time = core::utc_time(facts.time);
    put(Column::TraceId, text(facts.trace_id));
    put(Column::Segment, facts.segment);
    put(Column::Host, text(facts.host));
    put(Column::BootId, text(facts.boot_id));
    put(Column::Kernel, text(facts.kernel));
    put(Column::Scheme, core::name(facts.machine.scheme));
    put(Column::CpusOnline, facts.machine.cpus_online);
    put(Column::PageSize, facts.machine.page_size.bytes);
    put(Column::StartTime, std::string_view(time));
}

/// Appends a name with unsafe bytes escaped. Plain names, which are nearly all, need no allocation.
void append_harmless(std::string &out, std::string_view raw);

}  // namespace rsslag::sinks
