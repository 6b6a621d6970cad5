// SPDX-License-Identifier: BSD-2-Clause
#include "system/diagnosis.h"

#include <unistd.h>

#include <variant>

#include "calibration.h"
#include "experiment.h"
#include "probe/denial.h"
#include "probe/hooks.h"
#include "probe/snapshot.h"
#include "probe/traits.h"
#include "procfs/process.h"
#include "system/machine.h"

namespace rsslag::system {
namespace {

void add(core::DoctorReport &report, const core::Error &error) {
    report.problems.push_back({error.what, error.remedy, true});
}

void note_privileges(core::DoctorReport &report, const probe::Privileges &privileges) {
    const auto capability = [&report](const char *name, bool has) {
        report.capabilities.push_back({name, has, has ? "" : "not held"});
    };
    capability("CAP_BPF", privileges.cap_bpf);
    capability("CAP_PERFMON", privileges.cap_perfmon);
    capability("CAP_SYS_PTRACE", privileges.cap_sys_ptrace);
    report.lockdown = privileges.lockdown;
    report.seccomp_mode = privileges.seccomp_mode;
    report.memlock_bytes = privileges.memlock_bytes;
    if (!privileges.cap_sys_ptrace) {
        report.problems.push_back(
            {"CAP_SYS_PTRACE is missing: smaps of other users' processes may be refused; their exact "
             "counters are then shown without a walk that confirms them",
             probe::setcap_remedy(probe::own_binary()), false});
    }
}

void note_proc(core::DoctorReport &report) {
    if (const core::Status there = procfs::own_proc(); !there) return add(report, there.error());
    const auto self = procfs::Process::open(getpid());
    if (!self) return add(report, self.error());
    report.page_monitor = static_cast<bool>(self->smaps_rollup_text());
    if (const auto mounts = self->read("mountinfo")) report.hidepid = hidepid_of(mounts->bytes);
    if (!*report.page_monitor) {
        report.problems.push_back({"cannot read smaps_rollup: no walk can confirm the counters",
                                   "boot a kernel built with CONFIG_PROC_PAGE_MONITOR=y", false});
    }
    if (report.hidepid.value_or(0) > 0) {
        report.problems.push_back({"/proc is mounted with hidepid: other users' processes may be hidden",
                                   "run rsslag as root, or run mount -o remount,hidepid=0 /proc", false});
    }
}

template <class Calibrate>
core::Status note_calibration(core::DoctorReport &report, const Calibrate &calibrate) {
    const auto begin = std::chrono::steady_clock::now();
    const core::Result<core::Calibration> calibration = calibrate();
    if (!calibration) return calibration.error();
    report.calibration = *calibration;
    report.calibration_us =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
    return core::success();
}

/// Tries the snapshot probe, then the calibration, which uses it. Returns whether both work.
bool try_snapshot(core::DoctorReport &report, const probe::KernelTraits &traits) {
    auto probe = probe::SnapshotProbe::open(traits, report.machine);
    if (!probe) {
        add(report, probe.error());
        return false;
    }
    const auto calibrated = note_calibration(report, [&] { return calibrate(*probe, *report.scheme); });
    if (!calibrated) add(report, calibrated.error());
    return static_cast<bool>(calibrated);
}

void note_hooks(core::DoctorReport &report, const probe::KernelTraits &traits, bool snapshot_works) {
    for (const probe::HookState &hook : probe::try_hooks(traits.types)) {
        report.hooks.push_back({hook.name, hook.usable, hook.reason});
        if (hook.name == "tp_btf/rss_stat" && !hook.usable && snapshot_works) {
            report.problems.push_back({"cannot use the tracepoint rss_stat: " + hook.reason,
                                       "use Linux 5.8 or later, built with CONFIG_FTRACE=y and CONFIG_DEBUG_INFO_BTF=y",
                                       true});
        }
    }
}

}  // namespace

std::optional<int> hidepid_of(std::string_view mountinfo) {
    std::optional<int> found;
    while (!mountinfo.empty()) {
        const std::size_t end = mountinfo.find('\n');
        const std::string_view line = mountinfo.substr(0, end);
        mountinfo.remove_prefix(end == std::string_view::npos ? mountinfo.size() : end + 1);
        if (line.find(" /proc ") == std::string_view::npos || line.find(" - proc ") == std::string_view::npos) continue;
        constexpr std::string_view kKey = "hidepid=";
        const std::size_t at = line.find(kKey);
        if (at == std::string_view::npos) {
            found = 0;
            continue;
        }
        // Numbers up to 5.7, since then the names off, noaccess, invisible, ptraceable (fs/proc/root.c).
        const std::string_view value = line.substr(at + kKey.size());
        if (value.starts_with("off") || value.starts_with("0"))
            found = 0;
        else if (value.starts_with("noaccess") || value.starts_with("1"))
            found = 1;
        else if (value.starts_with("invisible") || value.starts_with("2"))
            found = 2;
        else if (value.starts_with("ptraceable") || value.starts_with("4"))
            found = 4;
    }
    return found;
}

core::DoctorReport diagnose() {
    const Host host = this_host();
    core::DoctorReport report;
    report.time = std::chrono::system_clock::now();
    report.kernel = host.kernel;
    report.arch = host.arch;
    report.machine = host.machine;
    report.setcap_remedy = probe::setcap_remedy(probe::own_binary());
    note_privileges(report, probe::own_privileges());
    note_proc(report);
    const auto traits = probe::running_kernel_traits();
    report.btf = static_cast<bool>(traits);
    const auto without_bpf = [] { return core::Result<core::Calibration>(experiment()); };
    if (!traits) {
        add(report, traits.error());
        static_cast<void>(note_calibration(report, without_bpf));
        return report;
    }
    report.scheme_evidence = traits->evidence;
    report.task_iterator = traits->task_iterator;
    report.task_iterator_by_group = traits->task_iterator_by_group;
    if (const auto *scheme = std::get_if<core::Scheme>(&traits->scheme)) {
        report.scheme = *scheme;
        report.machine.scheme = *scheme;
    }
    const bool snapshot_works = try_snapshot(report, *traits);
    if (!snapshot_works) static_cast<void>(note_calibration(report, without_bpf));
    note_hooks(report, *traits, snapshot_works);
    return report;
}

}  // namespace rsslag::system
