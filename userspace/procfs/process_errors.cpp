// SPDX-License-Identifier: BSD-2-Clause
#include "process_errors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace rsslag::procfs {

bool still_there(const Process &process) {
    return faccessat(process.dir_fd(), "stat", F_OK, 0) == 0;
}

core::Error failure(pid_t pid, const char *name, int err) {
    switch (err) {
        case ENOENT:
        case ESRCH: return {core::Kind::Gone, fmt::format("process {} is gone", pid), err, {}};
        case EACCES:
        case EPERM:
            // Also what a process of the same user answers that is not dumpable: one with file capabilities, say.
            return {core::Kind::Denied, fmt::format("/proc/{}/{}: {}", pid, name, std::strerror(err)), err,
                    "CAP_SYS_PTRACE is needed for it: run rsslag with sudo, or give it the capability with "
                    "setcap cap_sys_ptrace+ep"};
        default:
            return {core::Kind::Io, fmt::format("cannot read /proc/{}/{}: {}", pid, name, std::strerror(err)), err, {}};
    }
}

core::Error failure_below(const Process &process, const char *name, int err) {
    bool missing = err == ENOENT || err == ESRCH;
    if (!missing || !still_there(process)) return failure(process.pid(), name, err);
    // Threads come and go below task/ while the process stays.
    if (std::string_view(name).starts_with("task/")) {
        return {core::Kind::Gone, fmt::format("/proc/{}/{} is gone", process.pid(), name), err, {}};
    }
    if (err == ESRCH) return no_memory(process.pid());
    return {core::Kind::Unsupported, fmt::format("this kernel has no /proc/{}/{}", process.pid(), name), err,
            "a kernel with CONFIG_PROC_PAGE_MONITOR has smaps, smaps_rollup and pagemap"};
}

core::Error no_memory(pid_t pid) {
    return {
        core::Kind::Gone, fmt::format("process {} has no memory: it is a zombie or a kernel thread", pid), ESRCH, {}};
}

}  // namespace rsslag::procfs
