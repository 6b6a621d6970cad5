// SPDX-License-Identifier: BSD-2-Clause
#include "documents/doctor.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "documents/snapshot.h"

namespace rsslag::documents {
namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json optional(const std::optional<T> &value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json items(const std::vector<DoctorReport::Item> &list) {
    ordered_json array = ordered_json::array();
    for (const DoctorReport::Item &item : list) {
        array.push_back({{"name", item.name},
                         {"usable", item.usable},
                         {"reason", item.usable ? ordered_json(nullptr) : ordered_json(item.reason)}});
    }
    return array;
}

ordered_json calibration(const std::optional<core::Calibration> &calibration) {
    if (!calibration) return nullptr;
    return {{"stat", core::name(calibration->stat)},
            {"statm", core::name(calibration->statm)},
            {"status", core::name(calibration->status)}};
}

std::string hidepid_text(const std::optional<int> &hidepid) {
    if (!hidepid) return "unknown";
    return *hidepid == 0 ? "off" : fmt::format("{}: other users' processes are hidden", *hidepid);
}

std::string_view meaning(core::Truth truth) {
    switch (truth) {
        case core::Truth::Flushed: return "LAGS: flushed counters only";
        case core::Truth::Exact: return "exact";
        case core::Truth::Unknown: break;
    }
    return "unknown";
}

std::string mount_text(const DoctorReport &report) {
    return fmt::format(
        "For users without privileges: rsslag mount creates files that show the exact RSS of every process.\n"
        "    Users can then read: PID, user, name, threads and memory use of all processes{}.\n",
        report.hidepid.value_or(0) > 0 ? ", which hidepid hides in /proc: use --group"
                                       : ", which /proc shows to every user, too");
}

}  // namespace

std::string doctor_json(const DoctorReport &report) {
    ordered_json object;
    object["schema"] = "rsslag.doctor/1";
    object["time"] = utc_time(report.time);
    object["kernel"] = report.kernel;
    object["arch"] = report.arch;
    object["scheme"] = report.scheme ? core::name(*report.scheme) : "unknown";
    object["scheme_evidence"] = report.scheme_evidence;
    object["page_size"] = report.machine.page_size.bytes;
    object["cpus_online"] = report.machine.cpus_online;
    object["cpus_possible"] = report.machine.cpus_possible;
    object["batch"] = optional(report.machine.batch());
    object["btf"] = optional(report.btf);
    object["task_iterator"] = optional(report.task_iterator);
    object["task_iterator_by_group"] = optional(report.task_iterator_by_group);
    object["hooks"] = items(report.hooks);
    object["capabilities"] = items(report.capabilities);
    object["lockdown"] = report.lockdown.empty() ? ordered_json(nullptr) : ordered_json(report.lockdown);
    object["seccomp_mode"] = optional(report.seccomp_mode);
    object["hidepid"] = optional(report.hidepid);
    object["page_monitor"] = optional(report.page_monitor);
    object["memlock_bytes"] = optional(report.memlock_bytes);
    object["calibration"] = calibration(report.calibration);
    object["calibration_us"] = optional(report.calibration_us);
    object["tracing"] = report.tracing_works();
    object["problems"] = ordered_json::array();
    for (const DoctorReport::Problem &problem : report.problems) {
        object["problems"].push_back({{"what", problem.what}, {"remedy", problem.remedy}, {"fatal", problem.fatal}});
    }
    return object.dump() + "\n";
}

std::string doctor_text(const DoctorReport &report) {
    std::string text;
    const auto out = std::back_inserter(text);
    const auto row = [&out](std::string_view label, std::string_view value) {
        fmt::format_to(out, "{:<26}{}\n", label, value);
    };
    row("kernel", fmt::format("Linux {} {}", report.kernel, report.arch));
    row("scheme",
        fmt::format("{} ({})", report.scheme ? core::name(*report.scheme) : "unknown", report.scheme_evidence));
    row("CPUs", fmt::format("{} online, {} possible", report.machine.cpus_online, report.machine.cpus_possible));
    if (const auto batch = report.machine.batch()) row("batch", fmt::format("{} pages per CPU and member", *batch));
    row("page size", fmt::format("{} bytes", report.machine.page_size.bytes));
    row("BTF", report.btf.value_or(false) ? "yes" : "no");
    row("task iterator", !report.task_iterator.value_or(false)           ? "no"
                         : report.task_iterator_by_group.value_or(false) ? "yes, the kernel filters by process"
                                                                         : "yes, without a filter");
    for (const DoctorReport::Item &hook : report.hooks)
        row(hook.name, hook.usable ? "usable" : hook.reason);
    for (const DoctorReport::Item &capability : report.capabilities)
        row(capability.name, capability.usable ? "yes" : "no");
    row("lockdown", report.lockdown.empty() ? "cannot be read" : report.lockdown);
    row("seccomp", report.seccomp_mode.value_or(0) == 0 ? "none" : "a filter is active");
    row("hidepid", hidepid_text(report.hidepid));
    row("PROC_PAGE_MONITOR", report.page_monitor.value_or(false) ? "yes" : "no: smaps cannot confirm the counters");
    row("locked memory limit",
        report.memlock_bytes ? fmt::format("{} kB", *report.memlock_bytes / 1024) : std::string("unlimited"));
    if (report.calibration) {
        row("/proc/PID/stat", meaning(report.calibration->stat));
        row("/proc/PID/statm", fmt::format("{} (top and htop read it)", meaning(report.calibration->statm)));
        row("/proc/PID/status", fmt::format("{} (ps reads it)", meaning(report.calibration->status)));
        row("", fmt::format("measured now on a child process, in {:.1f} ms",
                            static_cast<double>(*report.calibration_us) / 1000.0));
    }
    text += '\n';
    for (const DoctorReport::Problem &problem : report.problems) {
        fmt::format_to(out, "{}: {}\n    remedy: {}\n", problem.fatal ? "MISSING" : "note", problem.what,
                       problem.remedy);
    }
    fmt::format_to(out, "Tracing {} here for this user.\n", report.tracing_works() ? "works" : "does not work");
    if (report.tracing_works() && report.task_iterator_by_group.value_or(false)) text += mount_text(report);
    if (!report.setcap_remedy.empty()) {
        fmt::format_to(
            out,
            "To let other users trace: {}\n"
            "    Members of GROUP can then trace any kernel function and read the memory use of any process. "
            "Add only users who may also become root.\n",
            report.setcap_remedy);
    }
    return text;
}

}  // namespace rsslag::documents
