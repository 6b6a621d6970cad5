// SPDX-License-Identifier: BSD-2-Clause
#include "report/peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/extreme_text.h"
#include "core/json.h"
#include "core/shared_memory.h"
#include "core/text.h"
#include "report_parts.h"

namespace rsslag::report {
namespace {

using core::json::id;
using core::json::or_null;
using nlohmann::ordered_json;
using Process = core::Summary::Process;

/// CMD's process; all programs that it has run are one entry.
const Process *process_of(const PeakReport &peak) {
    const auto &all = peak.summary.processes;
    const auto found = std::find_if(all.begin(), all.end(), [&peak](const Process &p) { return p.pid == peak.pid; });
    return found == all.end() ? nullptr : &*found;
}

std::int64_t kb_of(core::Pages pages, const PeakReport &peak) {
    return peak.summary.page_size.kb(pages).n;
}

std::optional<std::int64_t> max_rss_kb(const Process &process, const PeakReport &peak) {
    if (process.image == 0) return std::nullopt;
    if (process.pid == peak.pid) return peak.max_rss_kb;
    return process.end ? std::optional(kb_of(process.end->max_rss, peak)) : std::nullopt;
}

/// VmHWM of the last program; nullopt if the peak was an earlier program's.
std::optional<std::int64_t> high_water_kb(const Process &process, const PeakReport &peak) {
    const bool same = process.image != 0 && process.image == process.extremes.image;
    if (!same || !process.end || !process.end->high_water) return std::nullopt;
    return kb_of(*process.end->high_water, peak);
}

/// "16 kB less"; of a peak that is a range, "16 kB less to 4 kB more".
std::string distance(std::int64_t reported_kb, const Process &process, const PeakReport &peak) {
    if (process.extremes.lossy) return "at an unknown distance";
    const auto from = [&](core::Pages most) {
        const std::int64_t by = reported_kb - kb_of(most, peak);
        if (by == 0) return std::string("the same");
        return fmt::format("{} kB {}", core::with_thousands(std::abs(by)), by < 0 ? "less" : "more");
    };
    const core::Extreme &most = process.extremes.most;
    return most.from == most.to ? from(most.to) : fmt::format("{} to {}", from(most.to), from(most.from));
}

/// PIDs by shared mm. A vfork shares its parent's mm until its first exec, but its row shows that it is image 0.
std::vector<std::vector<int>> sharing(const core::Summary &summary) {
    std::map<std::uint64_t, std::vector<int>> by_mm;
    for (const Process &process : summary.processes) {
        if (process.image != 0 && process.pid > 0) by_mm[process.mm].push_back(process.pid);
    }
    return core::sharing(std::move(by_mm));
}

ordered_json process_json(const Process &process, const PeakReport &peak) {
    const core::Extremes &extremes = process.extremes;
    ordered_json object = {{"pid", id(process.pid)},
                           {"comm", core::printable(process.comm)},
                           {"image", extremes.image},
                           {"peak_comm", core::printable(extremes.comm)},
                           {"peak", core::json::members_at(extremes.most)},
                           {"peak_by_member", core::json::members_most(extremes)},
                           {"peak_min", extremes.most.from.n},
                           {"peak_max", extremes.most.to.n},
                           {"t_ns", extremes.most.t_ns},
                           {"tid", id(extremes.most.tid)},
                           {"ru_maxrss_kb", or_null(max_rss_kb(process, peak))},
                           {"hwm_kb", or_null(high_water_kb(process, peak))},
                           {"final", core::json::members(process.last)},
                           {"final_approximate", process.final_approximate},
                           {"lossy", extremes.lossy}};
    core::json::put_extremes(object, extremes);
    return object;
}

}  // namespace

Report report_of(const core::Summary &summary, bool follow) {
    Report report;
    report.facts.follow = follow;
    report.facts.machine.page_size = summary.page_size;
    report.facts.machine.scheme = summary.scheme;
    report.facts.kernel = summary.kernel;
    static_cast<core::Totals &>(report.ending) = summary;
    report.ending.duration_ns = summary.duration_ns;
    report.ending.all = summary.all;
    report.records = summary.records;
    report.left_out = summary.left_out.programs;
    report.left_out_processes = summary.left_out.processes;
    report.left_out_verdicts = summary.left_out.verdicts;
    for (const Process &process : summary.processes) {
        ReportProcess &one = report.processes.emplace_back();
        one.pid = process.pid;
        one.comm = process.comm;
        one.state = process.state;
        one.extremes = process.extremes;
        one.baseline = process.baseline;
        one.final = process.final;
        one.at_start = process.at_start;
        one.last = process.last;
        one.start_approximate = process.start_approximate;
        one.baseline_approximate = process.baseline_approximate;
        one.final_approximate = process.final_approximate;
        one.verdicts = process.verdicts;
    }
    return report;
}

std::string peak_json(const PeakReport &peak) {
    const core::Summary &summary = peak.summary;
    ordered_json object;
    object["schema"] = "rsslag.peak/1";
    object["command"] = core::printable(fmt::format("{}", fmt::join(peak.command, " ")));
    object["status"] = or_null(peak.status);
    object["signal"] = or_null(peak.signal);
    object["duration_ns"] = summary.duration_ns;
    object["scheme"] = core::name(summary.scheme);
    object["page_size"] = summary.page_size.bytes;
    object["processes"] = ordered_json::array();
    for (const Process &process : summary.processes)
        object["processes"].push_back(process_json(process, peak));
    object["processes_left_out"] = summary.left_out.processes;
    object["tree"] = core::json::tree(summary.all);
    object["lost"] = summary.lost;
    object["ended_not_at_zero"] = summary.ended_not_at_zero;
    object["assertions"] = ordered_json::array();
    for (const ClaimResult &claim : peak.claims) {
        ordered_json &one = object["assertions"].emplace_back();
        one = {{"text", core::printable(claim.claim.text)}, {"holds", claim.holds}, {"told", claim.text}};
        core::json::put_comparison(one, claim.claim, claim.value);
    }
    return object.dump() + "\n";
}

std::string peak_text(const PeakReport &peak, const ReportStyle &style, bool tree) {
    const core::Summary &summary = peak.summary;
    const auto amount = [&](core::Pages pages) { return style.pages(pages, summary.page_size); };
    const Process *const own = process_of(peak);
    std::string text;
    if (own == nullptr) {
        text = "the command's peak is not known: the trace has no data of it\n";
    } else {
        const core::Members &members = own->extremes.most.members;
        const int tid = own->extremes.most.tid;
        text = fmt::format("peak RSS {} at {}{}{}: {}\n", core::peak_range_text(own->extremes, amount),
                           seconds(own->extremes.most.t_ns), tid == 0 ? "" : fmt::format(" by thread {}", tid),
                           core::program_text(own->extremes, own->comm, style.utf8), rss_members_text(members, amount));
    }
    text += core::tree_text(summary.all, amount, seconds(summary.all.most.t_ns));
    if (own != nullptr && peak.max_rss_kb)
        text += fmt::format("ru_maxrss {} kB, {}; sampled, includes its children\n",
                            core::with_thousands(*peak.max_rss_kb), distance(*peak.max_rss_kb, *own, peak));
    if (const auto kb = own == nullptr ? std::nullopt : high_water_kb(*own, peak))
        text +=
            fmt::format("VmHWM {} kB at the end, {}; sampled\n", core::with_thousands(*kb), distance(*kb, *own, peak));
    if (tree) {
        for (const Process &process : summary.processes)
            text += fmt::format("  {} [{}]{} {} at {}{}\n", core::printable(process.comm, style.utf8), process.pid,
                                process.extremes.image == 0 ? " image 0" : "",
                                core::peak_range_text(process.extremes, amount), seconds(process.extremes.most.t_ns),
                                core::program_text(process.extremes, process.comm, style.utf8));
        for (const std::vector<int> &pids : sharing(summary))
            text += "  " + core::shared_line(pids, true);
    }
    if (summary.lost > 0)
        text += fmt::format("! lost {} of {} records: the peak may be higher\n",
                            core::with_thousands(static_cast<std::int64_t>(summary.lost)),
                            core::with_thousands(static_cast<std::int64_t>(summary.emitted)));
    if (summary.ended_not_at_zero > 0)
        text += fmt::format("! {} address spaces ended with a counter other than 0\n", summary.ended_not_at_zero);
    return text;
}

}  // namespace rsslag::report
