// SPDX-License-Identifier: BSD-2-Clause
#include "system/targets.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <system_error>
#include <tuple>

#include "core/glob.h"
#include "core/text.h"
#include "procfs/process.h"
#include "procfs/program.h"
#include "system/nearest.h"

namespace rsslag::system {
namespace {

using core::Error;
using core::Kind;
namespace fs = std::filesystem;

/// PID_MAX_LIMIT of a 64-bit kernel (include/linux/threads.h).
constexpr std::int64_t kMostPids = 4 * 1024 * 1024;

Error bad_pid(std::string_view argument, std::string_view why) {
    return {Kind::BadInput, fmt::format("'{}' is not a PID: {}", core::printable(argument), why), 0,
            fmt::format("use a number from 1 to {}", kMostPids)};
}

core::Result<pid_t> parse_pid(std::string_view argument) {
    std::int64_t pid = 0;
    const char *const end = argument.data() + argument.size();
    const auto [after, error] = std::from_chars(argument.data(), end, pid);
    if (error == std::errc::result_out_of_range) return bad_pid(argument, "out of range");
    if (error != std::errc{} || after != end) return bad_pid(argument, "not a number");
    if (pid <= 0) return bad_pid(argument, "not positive");
    if (pid > kMostPids) return bad_pid(argument, "out of range");
    return static_cast<pid_t>(pid);
}

/// The mount point of cgroup v2.
core::Result<fs::path> cgroup_root() {
    std::ifstream mounts("/proc/self/mounts");
    std::string device;
    std::string where;
    std::string type;
    std::string rest;
    while (mounts >> device >> where >> type && std::getline(mounts, rest)) {
        if (type == "cgroup2") return fs::path(where);
    }
    return Error{Kind::Unsupported, "no cgroup v2 is mounted here", 0, "run mount -t cgroup2 none /sys/fs/cgroup"};
}

bool is_cgroup_v2(const fs::path &directory) {
    struct statfs about {};
    return statfs(directory.c_str(), &about) == 0 && about.f_type == CGROUP2_SUPER_MAGIC && fs::is_directory(directory);
}

/// `path` is a path of the file system, or relative to the mount as in /proc/PID/cgroup.
core::Result<fs::path> cgroup_directory(const std::string &path) {
    const fs::path typed(path);
    if (is_cgroup_v2(typed)) return typed;
    const auto root = cgroup_root();
    if (!root) return root.error();
    fs::path inside = *root / typed.relative_path();
    if (!path.empty() && is_cgroup_v2(inside)) return inside;
    return Error{Kind::BadInput, fmt::format("no such cgroup v2: '{}'", core::printable(path)), 0,
                 fmt::format("name a directory below {}", root->string())};
}

void add_procs(const fs::path &directory, std::vector<pid_t> &pids) {
    std::ifstream procs(directory / "cgroup.procs");
    for (pid_t pid = 0; procs >> pid;) {
        if (pid > 0) pids.push_back(pid);  // 0 is a process of another PID namespace
    }
}

core::Result<std::vector<pid_t>> processes_of_cgroup(const std::string &path) {
    const auto directory = cgroup_directory(path);
    if (!directory) return directory.error();
    std::vector<pid_t> pids;
    add_procs(*directory, pids);
    std::error_code error;
    for (fs::recursive_directory_iterator it(*directory, fs::directory_options::skip_permission_denied, error), end;
         it != end && !error; it.increment(error)) {
        if (it->is_directory(error)) add_procs(it->path(), pids);
    }
    return pids;
}

/// Whether `matches` holds for the path of the executable, or for the name by which it was started.
bool has_path(const procfs::Process &process, const std::function<bool(const std::string &)> &matches) {
    const auto exe = process.exe();
    if (!exe) return false;
    if (matches(*exe)) return true;
    const auto program = procfs::program_path(process);
    return program && matches(*program);
}

bool comm_matches(const procfs::Process &process, const std::vector<std::string> &globs) {
    if (globs.empty()) return true;
    const auto stat = process.stat();
    return std::any_of(globs.begin(), globs.end(), [&](const std::string &glob) {
        if (glob.find('/') == std::string::npos) return stat && core::matches(glob, stat->comm);
        return has_path(process, [&](const std::string &path) { return core::matches(glob, path); });
    });
}

}  // namespace

core::Result<std::vector<pid_t>> matching(const TargetArguments &arguments, const std::unordered_set<pid_t> &known) {
    std::optional<uid_t> uid;
    if (arguments.user) {
        const auto parsed = parse_user(*arguments.user);
        if (!parsed) return parsed.error();
        uid = *parsed;
    }
    auto candidates = arguments.cgroup ? processes_of_cgroup(*arguments.cgroup) : procfs::list_processes();
    if (!candidates) return candidates;
    std::vector<pid_t> found;
    for (const pid_t pid : *candidates) {
        if (known.contains(pid)) continue;
        const auto process = procfs::Process::open(pid);
        const auto why = process ? why_unreadable(*process) : std::optional(process.error());
        // Without a free descriptor, this and all other processes would seem not to match.
        if (why && why->kind == Kind::Io) return *why;
        if (why || pid == getpid() || !comm_matches(*process, arguments.comms)) continue;
        if (uid) {
            const auto task = process->memory_task();
            if (!task || task->status.real_uid != *uid) continue;
        }
        const auto stat = process->leader_stat();
        if (stat && stat->ppid == getpid()) continue;  // a part of rsslag (tracer/unwind_process.h)
        found.push_back(pid);
    }
    return found;
}

namespace {

Error no_such_name(std::string_view argument) {
    const auto meant = nearest(argument, process_names());
    return {Kind::BadInput, fmt::format("'{}' is not a PID, and no process has that name", core::printable(argument)),
            0,
            meant ? fmt::format("did you mean {}?", core::printable(*meant)) : "run rsslag top to list the processes"};
}

/// Calls `use` for each process that has memory, except rsslag itself.
core::Status each_comm(const std::function<void(const procfs::Process &, const std::string &)> &use) {
    const auto pids = procfs::list_processes();
    if (!pids) return pids.error();
    for (const pid_t pid : *pids) {
        const auto process = procfs::Process::open(pid);
        if (!process || pid == getpid() || why_unreadable(*process)) continue;
        if (const auto stat = process->leader_stat()) use(*process, stat->comm);
    }
    return core::success();
}

/// A UID or GID. The largest number is none: for chown(2) it means no change.
std::optional<id_t> parse_id(const std::string &text) {
    id_t id = 0;
    const char *const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, id);
    const bool whole = error == std::errc{} && after == end && !text.empty();
    return whole && id != static_cast<id_t>(-1) ? std::optional(id) : std::nullopt;
}

std::optional<Error> refuse_thread(pid_t pid) {
    const auto group = procfs::thread_group_of(pid);
    if (!group || *group == pid) return std::nullopt;
    return Error{Kind::BadInput, fmt::format("{} is a thread of {}", pid, *group), 0, fmt::format("use -p {}", *group)};
}

}  // namespace

core::Result<uid_t> parse_user(const std::string &user) {
    if (const passwd *entry = getpwnam(user.c_str())) return entry->pw_uid;
    if (const auto uid = parse_id(user)) return *uid;
    return Error{Kind::BadInput, fmt::format("no such user: '{}'", core::printable(user)), 0,
                 "run getent passwd to list the users"};
}

core::Result<gid_t> parse_group(const std::string &group) {
    if (const ::group *entry = getgrnam(group.c_str())) return entry->gr_gid;
    if (const auto gid = parse_id(group)) return *gid;
    return Error{Kind::BadInput, fmt::format("no such group: '{}'", core::printable(group)), 0,
                 "run getent group to list all groups"};
}

bool may_be_name(std::string_view argument) {
    return argument.find_first_not_of("0123456789,+- ") != std::string_view::npos;
}

core::Result<std::vector<pid_t>> processes_named(std::string_view name) {
    std::vector<pid_t> found;
    std::error_code error;
    const bool by_path = name.find('/') != std::string_view::npos;
    const fs::path path = by_path ? fs::absolute(name, error).lexically_normal() : fs::path();
    const auto is_path = [&path](const std::string &of) { return of == path; };
    const core::Status listed = each_comm([&](const procfs::Process &process, const std::string &comm) {
        if (procfs::has_name(process, comm, name) || (by_path && has_path(process, is_path)))
            found.push_back(process.pid());
    });
    if (!listed) return listed.error();
    return found;
}

std::vector<std::string> process_names() {
    std::vector<std::string> names;
    std::ignore = each_comm([&](const procfs::Process &process, const std::string &comm) {
        names.push_back(comm);
        const auto program = procfs::program_path(process);
        if (program && !program->ends_with(" (deleted)")) names.push_back(fs::path(*program).filename().string());
    });
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase(names, "");
    return names;
}

core::Result<std::vector<pid_t>> parse_pids(const std::string &argument) {
    std::vector<pid_t> pids;
    std::string_view rest = argument;
    for (;;) {
        const std::size_t comma = rest.find(',');
        const auto pid = parse_pid(rest.substr(0, comma));
        if (!pid) return pid.error();
        pids.push_back(*pid);
        if (comma == std::string_view::npos) return pids;
        rest.remove_prefix(comma + 1);
    }
}

Error gone(pid_t pid) {
    return {Kind::Gone, fmt::format("process {} has ended", pid), 0, ""};
}

std::optional<Error> why_unreadable(const procfs::Process &process) {
    const auto stat = process.stat();
    if (!stat) return stat.error();
    if (stat->kernel_thread()) {
        return Error{Kind::Unsupported, fmt::format("process {} has no memory: it is a kernel thread", process.pid()),
                     0, ""};
    }
    if (!procfs::has_memory(process, *stat)) {
        return Error{Kind::Unsupported,
                     fmt::format("process {} has no memory: it {}", process.pid(),
                                 stat->zombie() ? "is a zombie" : "has exited"),
                     0, ""};
    }
    return std::nullopt;
}

Error why_not_read(pid_t pid, Error error) {
    const auto process = procfs::Process::open(pid);
    if (!process) return process.error();
    if (const auto why = why_unreadable(*process)) return *why;
    if (error.kind != Kind::Gone && error.kind != Kind::Unsupported) return error;
    error.kind = Kind::Denied;
    if (error.remedy.empty())
        error.remedy = fmt::format("rsslag snapshot {0} and rsslag live {0} show what /proc contains", pid);
    return error;
}

core::Result<std::optional<probe::Pattern>> pattern_of(const TargetArguments &arguments) {
    const bool by_path = std::any_of(arguments.comms.begin(), arguments.comms.end(),
                                     [](const std::string &glob) { return glob.find('/') != std::string::npos; });
    if (by_path || (arguments.comms.empty() && !arguments.cgroup && !arguments.user))
        return std::optional<probe::Pattern>();
    probe::Pattern pattern;
    if (!arguments.comms.empty()) {
        pattern.comm = core::glob_states(arguments.comms);
        if (!pattern.comm) return std::optional<probe::Pattern>();
    }
    if (arguments.cgroup) {
        const auto directory = cgroup_directory(*arguments.cgroup);
        if (!directory) return directory.error();
        pattern.cgroup = directory->string();
    }
    if (arguments.user) {
        const auto uid = parse_user(*arguments.user);
        if (!uid) return uid.error();
        pattern.uid = *uid;
    }
    return std::optional(std::move(pattern));
}

core::Result<std::vector<Target>> resolve(const TargetArguments &arguments) {
    std::map<pid_t, bool> found;
    std::vector<std::string> numbers = arguments.pids;
    for (const std::string &argument : arguments.plain) {
        const auto named = may_be_name(argument) ? processes_named(argument) : std::vector<pid_t>();
        if (!named) return named.error();
        if (named->empty() && may_be_name(argument)) return no_such_name(argument);
        if (named->empty()) numbers.push_back(argument);
        for (const pid_t pid : *named)
            found.try_emplace(pid, false);
    }
    for (const std::string &argument : numbers) {
        const auto pids = parse_pids(argument);
        if (!pids) return pids.error();
        for (const pid_t pid : *pids) {
            if (const auto refusal = refuse_thread(pid)) return *refusal;
            found[pid] = true;
        }
    }
    if (arguments.has_pattern()) {
        const auto pids = matching(arguments, {});
        if (!pids) return pids.error();
        for (const pid_t pid : *pids)
            found.try_emplace(pid, false);
    }
    if (found.empty()) return Error{Kind::Gone, "no process matches", 0, "run rsslag top to list the processes"};
    std::vector<Target> targets;
    targets.reserve(found.size());
    for (const auto &[pid, named] : found)
        targets.push_back({pid, named});
    return targets;
}

}  // namespace rsslag::system
