// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <array>

#include "core/member_name.h"
#include "core/reading_figures.h"
#include "core/text.h"
#include "documents/tick.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

std::string count(std::uint64_t number) {
    return std::to_string(number);
}

struct TickColumn {
    std::string_view name;
    std::string (*text)(const Tick &tick, const core::ReadingFigures &figures);
};

using T = const Tick &;
using J = const core::ReadingFigures &;

/// Named by the path in rsslag.tick/2, with _ for the dots.
constexpr auto kBefore = std::to_array<TickColumn>({
    {"time", [](T t, J) { return utc_time(t.time); }},
    {"t_ns", [](T t, J) { return count(t.t_ns); }},
    {"seq", [](T t, J) { return count(t.seq); }},
    {"pid", [](T t, J) { return std::to_string(t.process.pid); }},
    {"comm", [](T t, J) { return core::printable(t.process.comm); }},
    {"state", [](T t, J) { return std::string(core::name(t.state)); }},
    {"scheme", [](T t, J) { return std::string(core::name(t.scheme)); }},
    {"page_size", [](T t, J) { return std::to_string(t.page_size.bytes); }},
    {"threads_count", [](T t, J) { return std::to_string(t.process.threads_count); }},
    {"stat_rss_kb", [](T t, J j) { return csv_kb(j.readers.stat, t.page_size); }},
    {"statm_rss_kb", [](T t, J j) { return csv_kb(j.readers.statm, t.page_size); }},
    {"status_rss_kb", [](T, J j) { return csv_number(j.readers.status_rss); }},
});
// Here follow the members in status.
constexpr auto kReaders = std::to_array<TickColumn>({
    {"status_hwm_kb", [](T, J j) { return csv_number(j.readers.status_hwm); }},
    {"walk", [](T, J j) { return std::string(core::name(j.walk_state)); }},
    {"walked_rss_kb", [](T, J j) { return csv_number(j.walk ? std::optional(j.walk->rss) : std::nullopt); }},
    {"walked_age_ms", [](T t, J j) { return j.walk ? std::to_string(t.process.walk_age_ms) : ""; }},
});
constexpr auto kAfter = std::to_array<TickColumn>({
    {"bound_rss", [](T, J j) { return csv_number(j.bound ? std::optional(j.bound->rss) : std::nullopt); }},
    {"lag", [](T, J j) { return csv_number(j.lag); }},
    {"behind", [](T, J j) { return csv_number(j.behind); }},
    {"window_min", [](T, J j) { return std::to_string(j.window.min.n); }},
    {"window_max", [](T, J j) { return std::to_string(j.window.max.n); }},
    {"window_updates", [](T, J j) { return j.window_updates ? count(*j.window_updates) : ""; }},
    {"residual", [](T, J j) { return csv_number(j.residual); }},
    {"verdict", [](T, J j) { return std::string(core::name(j.verdict)); }},
    {"updates", [](T t, J) { return count(t.ledger.updates); }},
    {"updates_by_others", [](T t, J) { return count(t.ledger.updates_by_others); }},
    {"faults", [](T t, J) { return count(t.faults); }},
    {"flushes", [](T t, J) { return count(flushes(t.ledger)); }},
    {"lost", [](T t, J) { return count(t.lost); }},
    {"disagreements", [](T t, J) { return count(t.ledger.disagreements); }},
    {"resyncs", [](T t, J) { return count(t.ledger.resyncs); }},
    {"own_cpu_percent", [](T t, J) { return fmt::format("{:.2f}", t.own.cpu_percent); }},
    {"own_bpf_ns_per_event",
     [](T t, J) { return t.own.bpf_ns_per_event ? fmt::format("{:.2f}", *t.own.bpf_ns_per_event) : ""; }},
    {"own_rss_kb", [](T t, J) { return std::to_string(t.own.rss.n); }},
});

/// Five columns each: file, anon, shmem, swap and rss.
struct MemberPart {
    std::string_view name;
    core::Members core::ReadingFigures::*members;
};
constexpr auto kParts = std::to_array<MemberPart>({{"flushed", &core::ReadingFigures::flushed},
                                                   {"cached", &core::ReadingFigures::cached},
                                                   {"exact", &core::ReadingFigures::exact}});

}  // namespace

std::string csv_header() {
    std::string line;
    for (const TickColumn &column : kBefore)
        line += fmt::format("{},", column.name);
    for (const core::Member member : core::kMembersInText)
        line += fmt::format("status_{}_kb,", core::name(member));
    for (const TickColumn &column : kReaders)
        line += fmt::format("{},", column.name);
    for (const MemberPart &part : kParts) {
        for (const core::Member member : core::kMembersInOrder)
            line += fmt::format("{}_{},", part.name, core::name(member));
        line += fmt::format("{}_rss,", part.name);
    }
    for (const TickColumn &column : kAfter)
        line += fmt::format("{},", column.name);
    return line + "lines_dropped\r\n";  // counts lines of the output, not of the tick
}

std::string tick_csv(const Tick &tick, std::uint64_t lines_dropped) {
    const core::ReadingFigures figures = figures_of(tick);
    std::string line;
    for (const TickColumn &column : kBefore)
        line += csv_field(column.text(tick, figures)) + ',';
    for (const core::Member member : core::kMembersInText)
        line += csv_number(figures.readers.status(member)) + ',';
    for (const TickColumn &column : kReaders)
        line += csv_field(column.text(tick, figures)) + ',';
    for (const MemberPart &part : kParts) {
        const core::Members &members = figures.*part.members;
        for (const core::Member member : core::kMembersInOrder)
            line += fmt::format("{},", members[member].n);
        line += fmt::format("{},", members.rss().n);
    }
    for (const TickColumn &column : kAfter)
        line += csv_field(column.text(tick, figures)) + ',';
    return line + count(lines_dropped) + "\r\n";
}

}  // namespace rsslag::documents
