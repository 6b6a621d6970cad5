// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <array>

#include "rsslag/core/judgement.h"
#include "rsslag/core/text.h"
#include "rsslag/view/tick.h"

namespace rsslag::view {
namespace {

using core::Kilobytes;
using core::Member;
using core::Pages;

/// RFC 4180: quoted only where it must be, a quote doubled.
std::string quoted(const std::string &field) {
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string out = "\"";
    for (const char c : field) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

/// A field is empty where the value is unknown, as JSON says null.
template <class Number>
std::string field(const std::optional<Number> &number) {
    return number ? std::to_string(number->n) : "";
}

std::string in_kb(const std::optional<Pages> &pages, const Tick &tick) {
    return pages ? std::to_string(tick.page_size.kb(*pages).n) : "";
}

std::string count(std::uint64_t number) {
    return std::to_string(number);
}

template <Member kMember>
std::string flushed(const Tick & /*tick*/, const core::Judgement &judgement) {
    return std::to_string(judgement.flushed[kMember].n);
}

template <Member kMember>
std::string cached(const Tick & /*tick*/, const core::Judgement &judgement) {
    return std::to_string(judgement.cached[kMember].n);
}

template <Member kMember>
std::string exact(const Tick & /*tick*/, const core::Judgement &judgement) {
    return std::to_string(judgement.exact[kMember].n);
}

struct Column {
    std::string_view name;
    std::string (*text)(const Tick &tick, const core::Judgement &judgement);
};

using T = const Tick &;
using J = const core::Judgement &;

/// Named as in rsslag.tick/1, with _ for its dots.
constexpr auto kColumns = std::to_array<Column>({
    {"time", [](T t, J) { return utc_time(t.time); }},
    {"t_ns", [](T t, J) { return count(t.t_ns); }},
    {"seq", [](T t, J) { return count(t.seq); }},
    {"pid", [](T t, J) { return std::to_string(t.process.pid); }},
    {"comm", [](T t, J) { return core::printable(t.process.comm); }},
    {"state", [](T t, J) { return std::string(core::name(t.state)); }},
    {"scheme", [](T t, J) { return std::string(core::name(t.scheme)); }},
    {"page_size", [](T t, J) { return std::to_string(t.page_size.bytes); }},
    {"threads_count", [](T t, J) { return std::to_string(t.process.threads_count); }},
    {"stat_rss_kb", [](T t, J j) { return in_kb(j.readers.stat, t); }},
    {"statm_rss_kb", [](T t, J j) { return in_kb(j.readers.statm, t); }},
    {"status_rss_kb", [](T, J j) { return field(j.readers.status_rss); }},
    {"status_anon_kb", [](T, J j) { return field(j.readers.status_anon); }},
    {"status_file_kb", [](T, J j) { return field(j.readers.status_file); }},
    {"status_shmem_kb", [](T, J j) { return field(j.readers.status_shmem); }},
    {"status_swap_kb", [](T, J j) { return field(j.readers.status_swap); }},
    {"status_hwm_kb", [](T, J j) { return field(j.readers.status_hwm); }},
    {"walk", [](T, J j) { return std::string(core::name(j.walk_state)); }},
    {"walked_rss_kb", [](T, J j) { return field(j.walk ? std::optional(j.walk->rss) : std::nullopt); }},
    {"walked_age_ms", [](T t, J j) { return j.walk ? std::to_string(t.process.walk_age_ms) : ""; }},
    {"flushed_file", flushed<Member::File>},
    {"flushed_anon", flushed<Member::Anon>},
    {"flushed_shmem", flushed<Member::Shmem>},
    {"flushed_swap", flushed<Member::Swap>},
    {"flushed_rss", [](T, J j) { return std::to_string(j.flushed.rss().n); }},
    {"cached_file", cached<Member::File>},
    {"cached_anon", cached<Member::Anon>},
    {"cached_shmem", cached<Member::Shmem>},
    {"cached_swap", cached<Member::Swap>},
    {"cached_rss", [](T, J j) { return std::to_string(j.cached.rss().n); }},
    {"exact_file", exact<Member::File>},
    {"exact_anon", exact<Member::Anon>},
    {"exact_shmem", exact<Member::Shmem>},
    {"exact_swap", exact<Member::Swap>},
    {"exact_rss", [](T, J j) { return std::to_string(j.exact.rss().n); }},
    {"bound_rss", [](T, J j) { return field(j.bound ? std::optional(j.bound->rss) : std::nullopt); }},
    {"lag", [](T, J j) { return field(j.lag); }},
    {"window_min", [](T, J j) { return std::to_string(j.window.min.n); }},
    {"window_max", [](T, J j) { return std::to_string(j.window.max.n); }},
    {"window_updates", [](T, J j) { return j.window_updates ? count(*j.window_updates) : ""; }},
    {"residual", [](T, J j) { return field(j.residual); }},
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

template <class Text>
std::string row(const Text &text) {
    std::string line;
    for (const Column &column : kColumns) {
        if (!line.empty()) line += ',';
        line += quoted(text(column));
    }
    return line + "\r\n";
}

}  // namespace

std::string csv_header() {
    return row([](const Column &column) { return std::string(column.name); });
}

std::string tick_csv(const Tick &tick) {
    const core::Judgement judgement = judge(tick);
    return row([&](const Column &column) { return column.text(tick, judgement); });
}

}  // namespace rsslag::view
