// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "json_parts.h"
#include "rsslag/core/text.h"
#include "rsslag/view/proc.h"
#include "text_parts.h"

namespace rsslag::view {
namespace {

using D = const ProcDocument &;
using R = const ProcReading &;

std::string of_member(R reading, core::Member member) {
    return reading.members ? std::to_string((*reading.members)[member].n) : "";
}

struct SampleColumn {
    std::string_view name;
    std::string (*text)(D document, R reading);
};

/// Columns that a tick has too have the same names there. The last one names the source of the exact RSS.
constexpr auto kSampleColumns = std::to_array<SampleColumn>({
    {"time", [](D d, R) { return utc_time(d.time); }},
    {"pid", [](D, R r) { return std::to_string(r.pid); }},
    {"comm", [](D, R r) { return core::printable(r.comm); }},
    {"page_size", [](D d, R) { return std::to_string(d.page_size.bytes); }},
    {"threads_count", [](D, R r) { return std::to_string(r.threads_count); }},
    {"stat_rss_kb", [](D d, R r) { return csv_kb(r.readers.stat, d.page_size); }},
    {"statm_rss_kb", [](D d, R r) { return csv_kb(r.readers.statm, d.page_size); }},
    {"status_rss_kb", [](D, R r) { return csv_number(r.readers.status_rss); }},
    {"status_anon_kb", [](D, R r) { return csv_number(r.readers.status_anon); }},
    {"status_file_kb", [](D, R r) { return csv_number(r.readers.status_file); }},
    {"status_shmem_kb", [](D, R r) { return csv_number(r.readers.status_shmem); }},
    {"status_swap_kb", [](D, R r) { return csv_number(r.readers.status_swap); }},
    {"walk", [](D, R r) { return std::string(core::name(r.walk_state)); }},
    {"walked_rss_kb", [](D, R r) { return csv_number(r.walk ? std::optional(r.walk->rss) : std::nullopt); }},
    {"exact_file", [](D, R r) { return of_member(r, core::Member::File); }},
    {"exact_anon", [](D, R r) { return of_member(r, core::Member::Anon); }},
    {"exact_shmem", [](D, R r) { return of_member(r, core::Member::Shmem); }},
    {"exact_swap", [](D, R r) { return of_member(r, core::Member::Swap); }},
    {"exact_rss", [](D, R r) { return csv_number(r.exact); }},
    {"lag", [](D, R r) { return csv_number(r.lag); }},
    {"moved", [](D, R r) { return std::string(r.moved ? "1" : "0"); }},
    {"sampled", [](D, R r) { return r.exact ? std::string(core::source_name(r)) : std::string("unknown"); }},
});

}  // namespace

std::string proc_csv_header() {
    std::string line;
    for (const SampleColumn &column : kSampleColumns)
        line += (line.empty() ? "" : ",") + std::string(column.name);
    return line + "\r\n";
}

std::string proc_csv(const ProcDocument &document) {
    std::string text;
    for (const ProcReading &reading : document.processes) {
        std::string line;
        for (const SampleColumn &column : kSampleColumns)
            line += (line.empty() ? "" : ",") + csv_field(column.text(document, reading));
        text += line + "\r\n";
    }
    return text;
}

}  // namespace rsslag::view
