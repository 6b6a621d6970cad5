// SPDX-License-Identifier: BSD-2-Clause
// Changes since an earlier state, results of assertions, and the head of a bug report.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "core/assertion.h"
#include "core/text.h"
#include "documents/maps.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using procfs::MapGroup;
using Out = std::back_insert_iterator<std::string>;

std::string grown(Kilobytes kb, const TextStyle &style) {
    if (kb.n == 0) return "0";
    return (kb.n > 0 ? "+" : style.utf8 ? "\u2212" : "-") + core::with_thousands(std::abs(kb.n));
}

}  // namespace

std::string changes_text(const MappedProcess &process, const TextStyle &style) {
    if (!process.since) return "";
    std::string text;
    const Out out = std::back_inserter(text);
    if (process.since->empty()) return "nothing has changed\n";
    fmt::format_to(out, "{:>14}{:>12}{:>12}{:>12}{:>12}  CHANGED, kB\n", "SIZE", "RSS", "PSS", "DIRTY", "SWAP");
    for (const procfs::MapChange &change : *process.since) {
        const MapGroup &group = change.either();
        const auto cell = [&](Kilobytes MapGroup::*what, std::size_t width) {
            return right(grown(change.grown(what), style), width);
        };
        fmt::format_to(out, "{}{}{}{}{}  {}{}{}\n", cell(&MapGroup::size, 14), cell(&MapGroup::rss, 12),
                       cell(&MapGroup::pss, 12), cell(&MapGroup::dirty, 12), cell(&MapGroup::swap, 12),
                       !change.before  ? "new: "
                       : !change.after ? "gone: "
                                       : "",
                       group.name.empty() ? "(anonymous)" : core::harmless(group.name, style.utf8),
                       group.shared         ? " (shared)"
                       : group.written_file ? " (written)"
                                            : "");
    }
    return text;
}

std::string look_text(const MapsDocument &document, const MappedProcess &process, const TextStyle &style) {
    const procfs::MapSums &sums = process.sums;
    const auto amount = [](Kilobytes kb) { return core::with_thousands(kb.n) + " kB"; };
    std::string text =
        fmt::format("{} {} [{}]  VmSize {}  Rss {}  Pss {}  private dirty {}  swap {}", local_clock(document.time),
                    core::printable(process.comm, style.utf8), process.pid, amount(sums.size), amount(sums.rss),
                    amount(sums.pss), amount(sums.private_dirty), amount(sums.swap));
    if (sums.lazy_free.n > 0) text += "  LazyFree " + amount(sums.lazy_free);
    if (sums.hugetlb.n > 0) text += "  hugetlb (not in Rss) " + amount(sums.hugetlb);
    return text + "\n" + changes_text(process, style);
}

namespace {

/// "9.4 %", "412 kB", "412 kB from 0".
std::string value_text(const Asserted &asserted) {
    if (asserted.assertion.percent && std::isfinite(*asserted.compared)) {
        const bool close = std::abs(*asserted.compared - asserted.assertion.limit) < 0.1;
        return close ? fmt::format("{:.3f} %", *asserted.compared) : fmt::format("{:.1f} %", *asserted.compared);
    }
    return core::with_thousands(asserted.value->n) + (asserted.assertion.percent ? " kB from 0" : " kB");
}

std::string result_text(const Asserted &asserted) {
    if (!asserted.value) return "no baseline for it";
    if (asserted.holds) return core::comparison_text(asserted.assertion, value_text(asserted), *asserted.holds);
    return fmt::format("{} {}: pages that other processes have locked or pinned are not detected", value_text(asserted),
                       asserted.assertion.growth ? "between two upper bounds" : "at most");
}

}  // namespace

std::string assertions_text(const MappedProcess &process, const TextStyle &style, bool holding) {
    std::string text;
    for (const Asserted &asserted : process.asserted) {
        if ((asserted.holds == true) != holding) continue;
        text += fmt::format("{} {}: {}\n",
                            !asserted.holds   ? "NOT KNOWN"
                            : *asserted.holds ? "HOLDS"
                                              : "DOES NOT HOLD",
                            core::harmless(asserted.assertion.text, style.utf8), result_text(asserted));
    }
    return text;
}

std::string report_head(const MapsDocument &document, const MappedProcess &process, const ReportFacts &facts) {
    const core::Machine &machine = document.machine;
    std::string text = "rsslag maps report\n";
    const Out out = std::back_inserter(text);
    const auto fact = [&](std::string_view name, const std::string &value) {
        fmt::format_to(out, "{:<22}{}\n", name, core::harmless(value, false));
    };
    fact("time", utc_time(document.time));
    fact("program", facts.version);
    fact("kernel", document.kernel + " " + document.arch);
    fact("page size", fmt::format("{} bytes", machine.page_size.bytes));
    fact("CPUs", fmt::format("{} online, {} possible", machine.cpus_online, machine.cpus_possible));
    fact("scheme", document.counted ? std::string(core::name(machine.scheme)) : "unknown");
    fact("MemTotal", process.top.mem_total ? core::with_thousands(process.top.mem_total->n) + " kB" : "unknown");
    fact("transparent huge pages", facts.huge_pages);
    fact("PID", fmt::format("{}", process.pid));
    fact("real UID", fmt::format("{}", process.uid));
    fact("started", fmt::format("{} clock ticks after boot", process.start_ticks));
    fact("executable", process.exe.empty() ? "unknown" : process.exe);
    fact("command line", process.cmdline.empty() ? "unknown" : process.cmdline);
    return text + "\n";
}

}  // namespace rsslag::documents
