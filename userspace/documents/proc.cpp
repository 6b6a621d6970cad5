// SPDX-License-Identifier: BSD-2-Clause
#include "documents/proc.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/member_name.h"
#include "core/text.h"
#include "json_parts.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using core::Members;
using core::Pages;
using nlohmann::ordered_json;

/// walked − exact by status; nullopt without both, or if the counters moved.
std::optional<Pages> residual(const ProcReading &reading, const core::PageSize &page_size) {
    if (!reading.members || !reading.walk || reading.moved) return std::nullopt;
    return page_size.pages(reading.walk->rss) - reading.members->rss();
}

ordered_json process_json(const ProcReading &reading, const core::PageSize &page_size) {
    return {{"pid", reading.pid},
            {"start_ticks", reading.start_ticks},
            {"uid", reading.uid},
            {"comm", core::printable(reading.comm)},
            {"threads_count", reading.threads_count},
            {"readers", readers_json(reading.readers, page_size)},
            {"walk", core::name(reading.walk_state)},
            {"walked", walked_json(reading.walk, 0)},
            {"from", reading.exact ? ordered_json(core::source_name(reading)) : ordered_json(nullptr)},
            {"members", reading.members ? members(*reading.members) : ordered_json(nullptr)},
            {"exact_rss", number(reading.exact)},
            {"lag", number(reading.lag)},
            {"residual", number(residual(reading, page_size))},
            {"moved", reading.moved},
            {"hugetlb_kb", number(reading.hugetlb)}};
}

/// "-" for an unknown value; a mark if the counters changed during the reading.
std::string cell(const std::optional<Pages> &pages, const ProcReading &reading, const ProcDocument &document,
                 const TextStyle &style) {
    if (!pages) return "-";
    const std::string_view how = sign(reading.moved ? core::Mark::Approximate : core::Mark::None);
    return fmt::format("{}{}", how, column(*pages, document.page_size, style));
}

std::string percent(const ProcReading &reading) {
    if (!reading.lag || reading.exact.value_or(Pages{0}).n == 0) return "-";
    return fmt::format("{:.1f}", 100.0 * static_cast<double>(reading.lag->n) / static_cast<double>(reading.exact->n));
}

std::string why_unknown(const ProcReading &reading) {
    if (reading.walk_state == core::WalkState::Denied) return "you may not read its page tables";
    if (reading.walk_state == core::WalkState::Skipped) return "it was not walked";
    return "this kernel has no page-table walk";
}

std::string finding(const ProcDocument &document, const ProcReading &reading, const TextStyle &style) {
    const auto pages = [&](Pages value) { return style.pages(value, document.page_size); };
    const std::string stat = reading.readers.stat
                                 ? fmt::format("/proc/{}/stat says {}", reading.pid, pages(*reading.readers.stat))
                                 : fmt::format("/proc/{}/stat cannot be read", reading.pid);
    if (!reading.exact) {
        return fmt::format("{}; its exact RSS is not known: no counter of /proc is exact on this kernel, and {}.", stat,
                           why_unknown(reading));
    }
    std::string text = fmt::format("{}, this process holds {}{} by {}", stat, reading.moved ? "~" : "",
                                   pages(*reading.exact), core::source_name(reading));
    if (reading.leader_gone) return text + ": its main thread has ended, so stat shows no memory.";
    if (reading.moved) return text + ": it changed while it was read.";
    if (!reading.lag) return text + "; it is not known whether stat lags on this kernel.";
    if (reading.lag->n == 0) return text + ": stat shows it all.";
    if (reading.lag->n < 0) return text + fmt::format(": stat still counts {} that are gone.", pages(-*reading.lag));
    return text + fmt::format(": threads or CPUs cache {} of it.", pages(*reading.lag));
}

void append_members(std::string &text, const Members &exact, const core::PageSize &page_size, const TextStyle &style) {
    const auto out = std::back_inserter(text);
    const auto row = [&](std::string_view label, Pages pages) {
        fmt::format_to(out, "{:<8}{}\n", label, right(column(pages, page_size, style), 13));
    };
    fmt::format_to(out, "\n{:<8}{:>13}\n", style.unit, "EXACT");
    for (const core::Member member : core::kRssMembersInText)
        row(core::name(member), exact[member]);
    row("rss", exact.rss());
    for (const core::Member member : core::kOtherMembersInText)
        if (exact[member].n != 0) row(core::name(member), exact[member]);
}

}  // namespace

std::string proc_json(const ProcDocument &document) {
    ordered_json object;
    object["schema"] = "rsslag.proc/1";
    object["time"] = utc_time(document.time);
    object["kernel"] = core::printable(document.kernel);
    object["arch"] = document.arch;
    object["page_size"] = document.page_size.bytes;
    object["cpus_online"] = document.cpus_online;
    object["calibration"] = {{"stat", core::name(document.calibration.stat)},
                             {"statm", core::name(document.calibration.statm)},
                             {"status", core::name(document.calibration.status)}};
    object["why_no_bpf"] = core::printable(document.why_no_bpf);
    object["processes"] = ordered_json::array();
    for (const ProcReading &reading : document.processes)
        object["processes"].push_back(process_json(reading, document.page_size));
    object["failed"] = ordered_json::array();
    for (const FailedTarget &failed : document.failed)
        object["failed"].push_back({{"pid", failed.pid}, {"reason", failed.reason}});
    return object.dump() + "\n";
}

std::string difference_text(Pages difference) {
    const std::int64_t pages = std::abs(difference.n);
    return fmt::format("{} page{} {}", core::with_thousands(pages), pages == 1 ? "" : "s",
                       difference.n > 0 ? "more" : "fewer");
}

std::string proc_note(const ProcDocument &document) {
    return "without BPF, values are from /proc: it shows neither what each thread or CPU caches nor the "
           "changes between readings; " +
           document.why_no_bpf;
}

std::string proc_text(const ProcDocument &document, const ProcReading &reading, const TextStyle &style) {
    std::string text = finding(document, reading, style) + "\n";
    const auto out = std::back_inserter(text);
    const std::optional<Pages> left = residual(reading, document.page_size);
    const std::string confirmed = left ? fmt::format(", {} sees {}", core::name(reading.walk->file),
                                                     left->n == 0 ? "the same" : difference_text(*left))
                                       : "";
    fmt::format_to(out, "BY /proc ALONE{}\n", confirmed);
    fmt::format_to(out, "{} [{}]  {} thread{}  Linux {}\n\n", core::printable(reading.comm, style.utf8), reading.pid,
                   reading.threads_count, reading.threads_count == 1 ? "" : "s",
                   core::printable(document.kernel, style.utf8));
    text += readers_table(reading.readers, reading.walk, reading.exact, document.page_size, style);
    if (reading.members) append_members(text, *reading.members, document.page_size, style);
    text += hugetlb_line(reading.hugetlb, document.page_size, style);
    return text;
}

void sort_proc(ProcDocument &document, TopSort sort, std::size_t rows) {
    // Largest first, unknown values last.
    const auto key = [sort](const ProcReading &reading) {
        const std::optional<Pages> pages = sort == TopSort::Exact ? reading.exact : reading.lag;
        return std::tuple(!pages, pages ? -pages->n : 0);
    };
    std::stable_sort(document.processes.begin(), document.processes.end(),
                     [&](const ProcReading &a, const ProcReading &b) {
                         return sort == TopSort::Name ? a.comm < b.comm : key(a) < key(b);
                     });
    if (rows > 0 && document.processes.size() > rows) document.processes.resize(rows);
}

std::string proc_line_header(const TextStyle &style) {
    return fmt::format("{:<8} {:>7} {:<10} {:>4} {:>12} {:>12} {:>12} {:>6}  {}\n", "TIME", "PID", "COMM", style.unit,
                       "STAT", "EXACT", "LAG", "LAG %", "BY");
}

std::string proc_line(const ProcDocument &document, const ProcReading &reading, const TextStyle &style) {
    const auto pages = [&](const std::optional<Pages> &value) {
        return right(cell(value, reading, document, style), 12);
    };
    return fmt::format("{} {:>7} {:<15} {} {} {} {:>6}  {}\n", local_clock(document.time), reading.pid,
                       core::printable(reading.comm, style.utf8), pages(reading.readers.stat), pages(reading.exact),
                       pages(reading.lag), percent(reading),
                       reading.exact ? fmt::format("sampled, {}", core::source_name(reading)) : why_unknown(reading));
}

}  // namespace rsslag::documents
