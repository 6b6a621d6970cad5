// SPDX-License-Identifier: BSD-2-Clause
#include "process_errors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace rsslag::procfs {

namespace {

/// With hidepid=2 the files of other users' processes do not exist (ENOENT). Those of a process that has ended fail
/// with ESRCH (fs/proc/base.c proc_pid_permission()).
bool is_hidden(const Process &process) {
    struct statfs about {};
    return faccessat(process.dir_fd(), "stat", F_OK, 0) != 0 && errno == ENOENT &&
           fstatfs(process.dir_fd(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

}  // namespace

bool still_there(const Process &process) {
    return faccessat(process.dir_fd(), "stat", F_OK, 0) == 0;
}

bool may_ptrace() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    if (syscall(SYS_capget, &header, data.data()) != 0) return false;
    return (data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}

std::string denied_remedy(bool may_ptrace) {
    if (may_ptrace) {
        return "CAP_SYS_PTRACE is not enough: the process is in another user namespace, or a security module or a "
               "seccomp filter refuses the access; run rsslag where the process runs";
    }
    std::error_code error;
    const std::string own = std::filesystem::read_symlink("/proc/self/exe", error).string();
    return fmt::format("run rsslag with sudo, or give it CAP_SYS_PTRACE: sudo setcap cap_sys_ptrace+ep {}",
                       error ? "rsslag" : own);
}

std::optional<core::Error> no_procfs(const std::string &root) {
    struct statfs about {};
    if (root != kProc || (statfs(root.c_str(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC)) return std::nullopt;
    return foreign_proc();
}

core::Error foreign_proc() {
    return {core::Kind::Unsupported, "/proc of this PID namespace is not mounted", 0, "run mount -t proc proc /proc"};
}

core::Error failure(pid_t pid, const char *name, int err) {
    switch (err) {
        case ENOENT:
        case ESRCH: return {core::Kind::Gone, fmt::format("process {} has ended", pid), err, {}};
        case EACCES:
        case EPERM:
            // Also for a process of the same user that is not dumpable, e.g. one with file capabilities.
            return {core::Kind::Denied, fmt::format("cannot read /proc/{}/{}: {}", pid, name, std::strerror(err)), err,
                    denied_remedy(may_ptrace())};
        default:
            return {core::Kind::Io, fmt::format("cannot read /proc/{}/{}: {}", pid, name, std::strerror(err)), err,
                    err == EMFILE ? "raise the hard limit on open files (ulimit -Hn shows it)" : ""};
    }
}

core::Error failure_below(const Process &process, const char *name, int err) {
    bool missing = err == ENOENT || err == ESRCH;
    if (err == ENOENT && is_hidden(process)) return hidden(process.pid());
    if (!missing || !still_there(process)) return failure(process.pid(), name, err);
    // Threads come and go below task/ while the process stays.
    if (std::string_view(name).starts_with("task/")) {
        return {core::Kind::Gone,
                fmt::format("cannot read /proc/{}/{}: the thread has ended", process.pid(), name),
                err,
                {}};
    }
    if (err == ESRCH) return no_memory(process.pid());
    return {core::Kind::Unsupported, fmt::format("this kernel has no /proc/{}/{}", process.pid(), name), err,
            "for smaps, smaps_rollup and pagemap, boot a kernel built with CONFIG_PROC_PAGE_MONITOR=y"};
}

core::Error hidden(pid_t pid) {
    return {core::Kind::Denied, fmt::format("/proc hides process {} from this user", pid), ENOENT,
            "run rsslag as root, or run mount -o remount,hidepid=0 /proc"};
}

core::Error no_memory(pid_t pid) {
    return {
        core::Kind::Gone, fmt::format("process {} has no memory: it is a zombie or a kernel thread", pid), ESRCH, {}};
}

}  // namespace rsslag::procfs
