// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/member_name.h"
#include "core/text.h"
#include "documents/snapshot.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using core::Pages;
using Out = std::back_insert_iterator<std::string>;

void append_members(Out out, const ProcessReading &process, const core::PageSize &page_size, const TextStyle &style) {
    const core::Reconciliation &verdict = process.verdict;
    const auto row = [&](std::string_view label, Pages flushed, Pages cached, Pages exact) {
        fmt::format_to(out, "{:<8}{}{}{}\n", label, right(column(flushed, page_size, style), 13),
                       right(column(cached, page_size, style), 13), right(column(exact, page_size, style), 13));
    };
    fmt::format_to(out, "{:<8}{:>13}{:>13}{:>13}\n", style.unit, "FLUSHED", "CACHED", "EXACT");
    const auto row_of = [&](core::Member member) {
        row(core::name(member), verdict.flushed[member], verdict.cached[member], verdict.exact[member]);
    };
    for (const core::Member member : core::kRssMembersInText)
        row_of(member);
    row("rss", verdict.flushed.rss(), verdict.cached.rss(), verdict.exact.rss());
    for (const core::Member member : core::kOtherMembersInText)
        if (verdict.flushed[member].n != 0 || verdict.cached[member].n != 0) row_of(member);
}

struct Cacher {
    std::string who;
    core::Members cached;
    std::string faults;
};

std::vector<Cacher> cachers_of(const ProcessReading &process, const TextStyle &style) {
    std::vector<Cacher> cachers;
    for (const core::TaskReading &task : process.tasks) {
        // A cached amount of swap alone appears only in the members' table.
        if (!core::caches_rss(task.cached)) continue;
        const std::string comm = core::printable(task.comm, style.utf8);
        cachers.push_back(
            {fmt::format("{:>8} {:<16}", task.tid, comm), task.cached, fmt::format("{:>20}", task.faults_since_flush)});
    }
    for (const core::CpuReading &cpu : process.cpus)
        cachers.push_back({fmt::format("{:>8}", cpu.cpu), cpu.cached, ""});
    std::stable_sort(cachers.begin(), cachers.end(), [](const Cacher &a, const Cacher &b) {
        return std::abs(a.cached.rss().n) > std::abs(b.cached.rss().n);
    });
    return cachers;
}

void append_cachers(Out out, const ProcessReading &process, const core::Machine &machine, const TextStyle &style) {
    const std::vector<Cacher> cachers = cachers_of(process, style);
    if (cachers.empty()) return;
    const bool threads = core::tasks_cache(machine.scheme);
    const core::PageSize &page_size = machine.page_size;
    fmt::format_to(out, "\n{:>8} {}{:>12}", threads ? "TID" : "CPU", threads ? fmt::format("{:<16}", "COMM") : "",
                   "CACHED " + style.unit);
    for (const core::Member member : core::kRssMembersInText)
        fmt::format_to(out, "{:>11}", core::name(member));
    fmt::format_to(out, "{}\n", threads ? "  FAULTS SINCE FLUSH" : "");
    const std::size_t shown = std::min(style.cachers, cachers.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const core::Members &cached = cachers[i].cached;
        fmt::format_to(out, "{} {}", cachers[i].who, right(column(cached.rss(), page_size, style), 12));
        for (const core::Member member : core::kRssMembersInText)
            fmt::format_to(out, "{}", right(column(cached[member], page_size, style), 11));
        fmt::format_to(out, "{}\n", cachers[i].faults);
    }
    if (shown == cachers.size()) return;
    core::Members rest;
    for (std::size_t i = shown; i < cachers.size(); ++i)
        rest += cachers[i].cached;
    fmt::format_to(out, "{:>8} {} more cache {} together (--all lists them)\n", style.utf8 ? "\u22ee" : ":",
                   cachers.size() - shown, style.pages(rest.rss(), page_size));
}

}  // namespace

std::string snapshot_text(const SnapshotDocument &document, const ProcessReading &process, const TextStyle &style) {
    const core::Machine &machine = document.machine;
    std::string text;
    const Out out = std::back_inserter(text);
    const std::string scheme = core::cpus_cache(machine.scheme)
                                   ? fmt::format("cpu: {} CPUs, batch {}", machine.cpus_online, *machine.batch())
                                   : std::string(core::name(machine.scheme));
    fmt::format_to(out, "{}\n", core::sentence(process.finding(), machine, document.calibration, style.pages));
    fmt::format_to(out, "{}\n",
                   painted(verdict_line(process, machine.page_size, style), process.verdict.verdict, style.color));
    fmt::format_to(out, "{} [{}]  {} thread{}  Linux {}  scheme {}  read in {} us\n\n",
                   core::printable(process.comm, style.utf8), process.pid, process.threads_count,
                   process.threads_count == 1 ? "" : "s", document.kernel, scheme, process.snapshot_us);
    text += readers_table(process.readers, process.walk, process.verdict.exact.rss(), machine.page_size, style);
    text += '\n';
    append_members(out, process, machine.page_size, style);
    text += hugetlb_line(process.hugetlb, machine.page_size, style);
    append_cachers(out, process, machine, style);
    if (const std::string shared = shared_line(process.mm_pids); !shared.empty()) text += "\n" + shared;
    return text;
}

}  // namespace rsslag::documents
