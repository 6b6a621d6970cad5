// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/group_names.h"

#include <algorithm>
#include <array>

#include "procfs/process.h"
#include "procfs/system.h"

namespace rsslag::metrics {
namespace {

constexpr std::array kAll{By::Comm, By::Exe, By::User, By::Cgroup, By::Unit};

/// The group of processes whose group name cannot be read.
constexpr const char *kUnknown = "unknown";

/// Units of these types have processes (systemd.exec(5), systemd.scope(5)).
bool is_unit_with_processes(std::string_view name) {
    constexpr std::array<std::string_view, 5> kTypes{".service", ".scope", ".socket", ".mount", ".swap"};
    return std::ranges::any_of(kTypes, [&](std::string_view type) { return name.ends_with(type); });
}

}  // namespace

std::string_view name(By by) {
    switch (by) {
        case By::Exe: return "exe";
        case By::User: return "user";
        case By::Cgroup: return "cgroup";
        case By::Unit: return "unit";
        case By::Comm: break;
    }
    return "comm";
}

std::optional<By> by_named(std::string_view text) {
    for (const By by : kAll) {
        if (name(by) == text) return by;
    }
    return std::nullopt;
}

std::string unit_of(std::string_view cgroup) {
    std::string_view slice;
    while (!cgroup.empty()) {
        const std::size_t slash = cgroup.rfind('/');
        const std::string_view part = cgroup.substr(slash == std::string_view::npos ? 0 : slash + 1);
        if (is_unit_with_processes(part)) return std::string(part);
        if (slice.empty() && part.ends_with(".slice")) slice = part;
        cgroup = cgroup.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
    return std::string(slice.empty() ? "none" : slice);
}

std::optional<std::string> GroupNames::read(int tgid) {
    const auto opened = tgid > 0 ? procfs::Process::open(tgid) : core::Result<procfs::Process>(core::Error{});
    if (!opened) return std::nullopt;
    if (by_ == By::Exe) {
        auto exe = opened->exe();
        return exe && !exe->empty() ? std::optional(std::move(*exe)) : std::nullopt;
    }
    if (by_ == By::User) {
        const auto task = opened->memory_task();
        return task ? std::optional(users_.of(task->status.real_uid)) : std::nullopt;
    }
    const auto text = opened->read_of_memory_task("cgroup");
    auto cgroup = text ? procfs::parse_cgroup(text->bytes) : std::nullopt;
    if (cgroup && by_ == By::Unit) return unit_of(*cgroup);
    return cgroup;
}

std::string GroupNames::of(int tgid, const std::string &comm) {
    return by_ == By::Comm ? comm : read(tgid).value_or(kUnknown);
}

std::string GroupNames::of_earlier(int tgid, int parent, const std::string &comm) {
    if (by_ != By::Exe) return of(tgid, comm);
    return parent != 0 ? of(parent, comm) : kUnknown;
}

}  // namespace rsslag::metrics
