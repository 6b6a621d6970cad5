// SPDX-License-Identifier: BSD-2-Clause
// The fields of all rows, defined once for JSON, CSV and SQLite.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/member_name.h"
#include "core/text.h"
#include "core/tick_columns.h"
#include "exporters/row.h"

namespace rsslag::exporters {

/// A row for a missing part of the recording.
struct MissingRow {
    explicit MissingRow(const MissingPart &missing) : part(missing) { at.t_ns = missing.from_ns; }

    Stamp at;
    const MissingPart &part;
};

/// The type of a row, for one kind of row after the other.
struct TypeName {
    std::string_view operator()(const UpdateRow &row) const;
    std::string_view operator()(const TaskRow &row) const;
    std::string_view operator()(const MappingRow &row) const;
    std::string_view operator()(const FaultRow & /*row*/) const { return "fault"; }
    std::string_view operator()(const SumRow & /*row*/) const { return "sum"; }
    std::string_view operator()(const ReadingRow & /*row*/) const { return "reading"; }
    std::string_view operator()(const WalkRow & /*row*/) const { return "walk"; }
    std::string_view operator()(const LossRow & /*row*/) const { return "loss"; }
    std::string_view operator()(const TickRow & /*row*/) const { return "tick"; }
    std::string_view operator()(const MissingRow & /*row*/) const { return "missing"; }
};

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

namespace fields {

template <class Row>
concept Stamped = requires(const Row &row) {
    row.at;
};
template <class Row>
concept Named = Stamped<Row> && !std::same_as<Row, LossRow> && !std::same_as<Row, MissingRow>;
template <class Row>
concept HasFault = requires(const Row &row) {
    row.fault;
};
template <class Row>
concept HasReaders = requires(const Row &row) {
    row.readers;
};
template <class Row>
concept HasWalk = requires(const Row &row) {
    row.walk;
};
template <class Row>
concept HasFlushed = std::same_as<Row, ReadingRow> || std::same_as<Row, TickRow>;
template <class Row>
concept HasCached = HasFlushed<Row> || std::same_as<Row, FaultRow> || std::same_as<Row, SumRow>;
template <class Row>
concept HasMapping = requires(const Row &row) {
    row.mapping;
};

inline std::optional<int> positive(int number) {
    return number > 0 ? std::optional(number) : std::nullopt;
}

/// nullopt: the text is empty.
inline std::optional<Raw> name_or_none(std::string_view raw) {
    return raw.empty() ? std::nullopt : std::optional(Raw{raw});
}

/// nullopt: the value is unknown.
template <class Value>
std::optional<std::string_view> name_of(const std::optional<Value> &value) {
    return value ? std::optional(core::name(*value)) : std::nullopt;
}

using core::columns::count_of;

template <class Value>
std::optional<Value> walked(const std::optional<core::Walk> &walk, Value core::Walk::*part) {
    return walk ? std::optional((*walk).*part) : std::nullopt;
}

inline std::optional<std::string_view> mode_of(const std::optional<FaultCause> &fault) {
    if (!fault || !fault->kernel) return std::nullopt;
    return *fault->kernel ? "kernel" : "user";
}

inline std::optional<Hex> address_of(const std::optional<FaultCause> &fault) {
    return fault ? std::optional(Hex{fault->address}) : std::nullopt;
}

/// Faults are counted when a task ends.
inline std::optional<std::uint64_t> at_end(const TaskRow &row, std::uint64_t faults) {
    const bool ends = row.type == TaskRow::Type::Exit || row.type == TaskRow::Type::ThreadEnd;
    return ends ? std::optional(faults) : std::nullopt;
}

template <class... Values>
struct Overloads : Values... {
    using Values::operator()...;
};
template <class... Values>
Overloads(Values...) -> Overloads<Values...>;

/// One column. `value` accepts the kinds of row that have the field, and the page size if it needs it. It returns text
/// that needs no escaping, an integer, a bool, Raw, Hex, Id, or an optional of these.
template <class Value>
struct Field {
    static constexpr std::size_t kWidth = 1;
    std::string_view name;
    Value value;
};
template <class Value>
Field(std::string_view, Value) -> Field<Value>;

/// A column for each member in output order, then one for rss; the names begin with `name` and _.
template <class Value>
struct MemberFields {
    static constexpr std::size_t kWidth = core::kMembers + 1;
    std::string_view name;
    Value value;
};
template <class Value>
MemberFields(std::string_view, Value) -> MemberFields<Value>;

namespace columns = core::columns;

template <class Value>
constexpr auto of_readers(const core::Column<Value> &column) {
    return Field{column.name,
                 [column](const HasReaders auto &r, core::PageSize size) { return column.value(r.readers, size); }};
}
template <class Value>
constexpr auto of_walk(const core::Column<Value> &column) {
    return Field{column.name,
                 [column](const HasWalk auto &r, core::PageSize size) { return column.value(r.walk, size); }};
}
template <class Value>
constexpr auto of_tick(const core::Column<Value> &column) {
    return Field{column.name, [column](const TickRow &r) { return column.value(r); }};
}

/// In output order, before and after those of the members in /proc/PID/status. Names are those of rsslag.tick/2, with _
/// in place of dots.
inline constexpr std::tuple kBeforeStatusMembers{
    Field{"type", [](const Stamped auto &r) { return TypeName()(r); }},
    Field{"t_ns", [](const Stamped auto &r) { return r.at.t_ns; }},
    Field{"pid", [](const Stamped auto &r) { return positive(r.at.pid); }},
    Field{"tid", [](const Stamped auto &r) { return positive(r.at.tid); }},
    Field{"cpu", [](const Stamped auto &r) { return r.at.cpu; }},
    Field{"comm", [](const Named auto &r) { return Raw{r.at.comm}; }},
    Field{"mm", [](const Named auto &r) { return r.at.mm != 0 ? std::optional(Id{r.at.mm}) : std::nullopt; }},
    Field{"member", [](const UpdateRow &r) { return name_of(r.member); }},
    Field{"pages", [](const UpdateRow &r) { return count_of(r.pages); }},
    Field{"cached", [](const UpdateRow &r) { return count_of(r.cached); }},
    Field{"flushed", [](const UpdateRow &r) { return count_of(r.flushed); }},
    Field{"reason", Overloads{[](const UpdateRow &r) { return name_of(r.reason); },
                              [](const MissingRow &r) { return std::optional(Raw{r.part.reason}); }}},
    Field{"fault", [](const HasFault auto &r) { return mode_of(r.fault); }},
    Field{"address", [](const HasFault auto &r) { return address_of(r.fault); }},
    Field{"by_other", [](const UpdateRow &r) { return r.by_other; }},
    Field{"newborn", [](const UpdateRow &r) { return r.newborn; }},
    Field{"teardown", [](const UpdateRow &r) { return r.teardown; }},
    Field{"known", [](const UpdateRow &r) { return r.known; }},
    Field{"after", [](const FaultRow &r) { return r.after; }},
    Field{"faults_since_flush", [](const FaultRow &r) { return r.faults_since_flush; }},
    Field{"of_cpu", [](const SumRow &r) { return r.of_cpu; }},
    Field{"host_pid", [](const TaskRow &r) { return positive(r.host_pid); }},
    Field{"host_tid", [](const TaskRow &r) { return positive(r.host_tid); }},
    Field{"parent_host_tid", [](const TaskRow &r) { return positive(r.parent_host_tid); }},
    Field{"old_host_tid", [](const TaskRow &r) { return positive(r.old_host_tid); }},
    Field{"shares_mm", [](const TaskRow &r) { return r.shares_mm; }},
    Field{"user_faults", [](const TaskRow &r) { return at_end(r, r.user_faults); }},
    Field{"kernel_faults", [](const TaskRow &r) { return at_end(r, r.kernel_faults); }},
    Field{"cause", [](const LossRow &r) { return Raw{r.cause}; }},
    Field{"records",
          Overloads{[](const LossRow &r) { return r.records; }, [](const MissingRow &r) { return r.part.records; }}},
    of_tick(columns::kSeq),
    of_tick(columns::kTime),
    of_tick(columns::kState),
    Field{"tasks", [](const ReadingRow &r) { return r.tasks; }},
    Field{"took_us", [](const ReadingRow &r) { return r.took_us; }},
    of_readers(columns::kStat),
    of_readers(columns::kStatm),
    of_readers(columns::kStatusRss),
};
inline constexpr auto kStatusMembers =
    std::apply([](const auto &...columns) { return std::tuple{of_readers(columns)...}; }, columns::kStatusMembers);
inline constexpr std::tuple kAfterStatusMembers{
    of_readers(columns::kStatusHwm),
    Field{"walked_file", [](const HasWalk auto &r) { return name_of(walked(r.walk, &core::Walk::file)); }},
    of_walk(columns::kWalkedRss),
    Field{"walked_pss_kb", [](const HasWalk auto &r) { return count_of(walked(r.walk, &core::Walk::pss)); }},
    Field{"walked_swap_kb", [](const HasWalk auto &r) { return count_of(walked(r.walk, &core::Walk::swap)); }},
    Field{"walk_us", [](const HasWalk auto &r) { return walked(r.walk, &core::Walk::took_us); }},
    of_tick(columns::kWalkedAge),
    MemberFields{columns::kFlushed.name, [](const HasFlushed auto &r) { return r.flushed; }},
    MemberFields{columns::kCached.name, [](const HasCached auto &r) { return r.cached; }},
    MemberFields{columns::kExact.name, Overloads{[](const ReadingRow &r) { return r.flushed + r.cached; },
                                                 [](const TickRow &r) { return r.exact; }}},
    of_tick(columns::kLag),
    of_tick(columns::kBehind),
    of_tick(columns::kResidual),
    of_tick(columns::kVerdict),
    Field{"needs_resync", [](const TickRow &r) { return r.needs_resync; }},
    Field{columns::kUpdates.name, Overloads{[](const SumRow &r) { return r.updates; },
                                            [](const TickRow &r) { return columns::kUpdates.value(r); }}},
    of_tick(columns::kUpdatesByOthers),
    of_tick(columns::kFaults),
    of_tick(columns::kFlushes),
    of_tick(columns::kLost),
    of_tick(columns::kDisagreements),
    of_tick(columns::kResyncs),
    // Peaks of the process up to the row's time.
    Field{"image", [](const TickRow &r) { return r.extremes.image; }},
    Field{"peak_min", [](const TickRow &r) { return r.extremes.most.from.n; }},
    Field{"peak_max", [](const TickRow &r) { return r.extremes.most.to.n; }},
    Field{"peak_t_ns", [](const TickRow &r) { return r.extremes.most.t_ns; }},
    Field{"peak_tid", [](const TickRow &r) { return positive(r.extremes.most.tid); }},
    Field{"peak_lag", [](const TickRow &r) { return r.extremes.lag.n; }},
    Field{"peak_lag_t_ns", [](const TickRow &r) { return r.extremes.lag_t_ns; }},
    Field{"mapping", [](const HasMapping auto &r) { return name_or_none(r.mapping); }},
    Field{"from", [](const MappingRow &r) { return Hex{r.from}; }},
    Field{"to", [](const MappingRow &r) { return Hex{r.to}; }},
    Field{"perms",
          [](const MappingRow &r) { return r.flags ? std::optional(core::permissions(*r.flags)) : std::nullopt; }},
    Field{"old_from",
          [](const MappingRow &r) {
              return r.type == MappingRow::Type::Moved ? std::optional(Hex{r.old_from}) : std::nullopt;
          }},
    Field{"held_kb", [](const MappingRow &r) { return count_of(r.held); }},
    Field{"build_id",
          [](const MappingRow &r) { return r.build_id.known() ? std::optional(core::hex(r.build_id)) : std::nullopt; }},
    Field{"to_ns", [](const MissingRow &r) { return r.part.to_ns; }},
    // The last columns of each row identify the recording if one table contains rows of several recordings.
    Field{"trace_id", [](const Facts &f) { return name_or_none(f.trace_id); }},
    Field{"segment", [](const Facts &f) { return f.segment; }},
    Field{"host", [](const Facts &f) { return name_or_none(f.host); }},
    Field{"boot_id", [](const Facts &f) { return name_or_none(f.boot_id); }},
    Field{"kernel", [](const Facts &f) { return name_or_none(f.kernel); }},
    Field{"scheme", [](const Facts &f) { return core::name(f.machine.scheme); }},
    Field{"cpus_online", [](const Facts &f) { return f.machine.cpus_online; }},
    Field{"page_size", [](const Facts &f) { return f.machine.page_size.bytes; }},
    Field{"start_time", [](const Facts &f) { return core::utc_time(f.time); }},
};
inline constexpr std::tuple kAll = std::tuple_cat(kBeforeStatusMembers, kStatusMembers, kAfterStatusMembers);

}  // namespace fields

inline constexpr std::size_t kColumns =
    std::apply([](const auto &...field) { return (std::remove_cvref_t<decltype(field)>::kWidth + ...); }, fields::kAll);
/// The first column whose value is from Facts.
inline constexpr std::size_t kTraceColumn = std::apply(
    [](const auto &...field) {
        return ((std::invocable<decltype(field.value), const Facts &> ? 0 : field.kWidth) + ...);
    },
    fields::kAll);

const std::array<std::string, kColumns> &column_names();

template <class Put>
void put_value(std::size_t at, const core::Members &members, Put &put) {
    for (const core::Member member : core::kMembersInOrder)
        put(at++, members[member].n);
    put(at, members.rss().n);
}

/// Members can be unknown, so there is no rss.
template <class Put>
void put_value(std::size_t at, const std::array<std::optional<core::Pages>, core::kMembers> &known, Put &put) {
    for (const core::Member member : core::kMembersInOrder)
        put(at++, fields::count_of(known[static_cast<std::size_t>(member)]));
}

template <class Value, class Put>
void put_value(std::size_t at, const Value &value, Put &put) {
    put(at, value);
}

/// Calls `put(column, value)` for each field of this kind of row, with ascending columns.
template <class Row, class Put>
void put_fields(const Row &row, const core::PageSize &page_size, Put &put) {
    std::size_t at = 0;
    const auto put_one = [&](const auto &field) {
        if constexpr (std::invocable<decltype(field.value), const Row &>) {
            put_value(at, field.value(row), put);
        } else if constexpr (std::invocable<decltype(field.value), const Row &, core::PageSize>) {
            put_value(at, field.value(row, page_size), put);
        }
        at += field.kWidth;
    };
    std::apply([&](const auto &...field) { (put_one(field), ...); }, fields::kAll);
}

/// Appends a name with unsafe bytes escaped. Plain names, which are nearly all, need no allocation.
void append_harmless(std::string &out, std::string_view raw);

}  // namespace rsslag::exporters
