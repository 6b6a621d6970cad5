// SPDX-License-Identifier: BSD-2-Clause
// The columns that several flat formats have: the CSV of live and replay, that of samples, and the rows of export. Each
// column has its name and its value here; each format has its own order.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/member_name.h"
#include "core/reading_figures.h"
#include "core/text.h"

namespace rsslag::core {

/// The figures of a tick that are single values. Counts are totals since the attach. nullopt: unknown.
struct TickFigures {
    std::uint64_t seq = 0;
    std::chrono::system_clock::time_point time;
    State state = State::Running;
    ReaderValues readers;
    std::optional<Walk> walk;
    std::int64_t walk_age_ms = 0;
    Members flushed, cached, exact;
    std::optional<Pages> lag, behind, residual;  ///< as in ReadingFigures
    Verdict verdict = Verdict::Unwalked;
    std::uint64_t updates = 0, updates_by_others = 0, faults = 0, flushes = 0;
    std::uint64_t lost = 0, disagreements = 0, resyncs = 0;
};

TickFigures tick_figures(const Tick &tick, const ReadingFigures &figures);

/// A value is an integer, a text that needs no escaping, or an optional of these.
template <class Value>
struct Column {
    std::string_view name;
    Value value;
};
template <class Value>
Column(const char *, Value) -> Column<Value>;

/// Columns for the members and for rss. The names begin with `name` and _.
struct MembersColumn {
    std::string_view name;
    Members TickFigures::*value;
};

namespace columns {

template <class Number>
constexpr std::optional<std::int64_t> count_of(const std::optional<Number> &number) {
    return number ? std::optional(number->n) : std::nullopt;
}

inline std::optional<std::int64_t> in_kb(const std::optional<Pages> &pages, const PageSize &page_size) {
    return pages ? std::optional(page_size.kb(*pages).n) : std::nullopt;
}

using R = const ReaderValues &;
using W = const std::optional<Walk> &;
using T = const TickFigures &;

// Of ReaderValues.
inline constexpr Column kStat{"stat_rss_kb", [](R r, PageSize size) { return in_kb(r.stat, size); }};
inline constexpr Column kStatm{"statm_rss_kb", [](R r, PageSize size) { return in_kb(r.statm, size); }};
inline constexpr Column kStatusRss{"status_rss_kb", [](R r, PageSize) { return count_of(r.status_rss); }};
inline constexpr Column kStatusHwm{"status_hwm_kb", [](R r, PageSize) { return count_of(r.status_hwm); }};
// In the order of kMembersInText.
inline constexpr Column kStatusAnon{"status_anon_kb", [](R r, PageSize) { return count_of(r.status(Member::Anon)); }};
inline constexpr Column kStatusFile{"status_file_kb", [](R r, PageSize) { return count_of(r.status(Member::File)); }};
inline constexpr Column kStatusShmem{"status_shmem_kb",
                                     [](R r, PageSize) { return count_of(r.status(Member::Shmem)); }};
inline constexpr Column kStatusSwap{"status_swap_kb", [](R r, PageSize) { return count_of(r.status(Member::Swap)); }};
inline constexpr std::tuple kStatusMembers{kStatusAnon, kStatusFile, kStatusShmem, kStatusSwap};

// Of a walk.
inline constexpr Column kWalkedRss{"walked_rss_kb",
                                   [](W walk, PageSize) { return walk ? std::optional(walk->rss.n) : std::nullopt; }};

// Of TickFigures.
inline constexpr Column kSeq{"seq", [](T t) { return t.seq; }};
inline constexpr Column kTime{"time", [](T t) { return utc_time(t.time); }};
inline constexpr Column kState{"state", [](T t) { return name(t.state); }};
inline constexpr Column kWalkedAge{"walked_age_ms",
                                   [](T t) { return t.walk ? std::optional(t.walk_age_ms) : std::nullopt; }};
inline constexpr MembersColumn kFlushed{"flushed", &TickFigures::flushed};
inline constexpr MembersColumn kCached{"cached", &TickFigures::cached};
inline constexpr MembersColumn kExact{"exact", &TickFigures::exact};
inline constexpr Column kLag{"lag", [](T t) { return count_of(t.lag); }};
inline constexpr Column kBehind{"behind", [](T t) { return count_of(t.behind); }};
inline constexpr Column kResidual{"residual", [](T t) { return count_of(t.residual); }};
inline constexpr Column kVerdict{"verdict", [](T t) { return name(t.verdict); }};
inline constexpr Column kUpdates{"updates", [](T t) { return t.updates; }};
inline constexpr Column kUpdatesByOthers{"updates_by_others", [](T t) { return t.updates_by_others; }};
inline constexpr Column kFaults{"faults", [](T t) { return t.faults; }};
inline constexpr Column kFlushes{"flushes", [](T t) { return t.flushes; }};
inline constexpr Column kLost{"lost", [](T t) { return t.lost; }};
inline constexpr Column kDisagreements{"disagreements", [](T t) { return t.disagreements; }};
inline constexpr Column kResyncs{"resyncs", [](T t) { return t.resyncs; }};

}  // namespace columns

}  // namespace rsslag::core
