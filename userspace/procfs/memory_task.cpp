// SPDX-License-Identifier: BSD-2-Clause
// A leader that has exited before its threads is a zombie: its files show nothing of their mm.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "io.h"
#include "process_errors.h"
#include "procfs/process.h"

namespace rsslag::procfs {

namespace {

/// A thread may exit between two reads of its files.
constexpr int kThreadsTried = 3;

/// The first thread that has memory. A task without an mm has no Vm lines (fs/proc/array.c proc_pid_status).
std::optional<MemoryTask> thread_with_memory(const Process &process, const StatusFile &of_leader,
                                             const std::vector<pid_t> &tids) {
    for (const pid_t tid : tids) {
        if (tid == process.pid()) continue;
        MemoryTask task{tid, fmt::format("task/{}/", tid), {}};
        const auto text = process.read((task.directory + "status").c_str());
        auto status = text ? parse_status(text->bytes) : core::Result<StatusFile>(text.error());
        if (!status || !status->vm_rss) continue;
        task.status = *std::move(status);
        task.status.name = of_leader.name;
        task.status.tgid = of_leader.tgid;
        task.status.pid = of_leader.pid;
        task.status.ppid = of_leader.ppid;
        task.status.ns_pids = of_leader.ns_pids;
        return task;
    }
    return std::nullopt;
}

template <class T>
core::Result<T> parsed(const Process &process, const MemoryTask &task, const char *name,
                       core::Result<T> (*parse)(std::string_view)) {
    const auto text = process.read((task.directory + name).c_str());
    return text ? parse(text->bytes) : core::Result<T>(text.error());
}

}  // namespace

core::Result<MemoryTask> Process::memory_task() const {
    for (int i = 0; i < kThreadsTried; ++i) {
        auto leader = status();
        if (!leader) return std::move(leader).error();
        if (leader->vm_rss) return MemoryTask{pid_, "", *std::move(leader)};
        const auto tids = threads();
        if (!tids) return tids.error();
        if (auto task = thread_with_memory(*this, *leader, *tids)) return *std::move(task);
        if (tids->size() <= 1) break;
    }
    return no_memory(pid_);
}

core::Result<Text> Process::read_of_memory_task(const char *name) const {
    for (int i = 1;; ++i) {
        const auto task = memory_task();
        if (!task) return task.error();
        auto text = read((task->directory + name).c_str());
        // The thread may have exited meanwhile: its maps is empty, its mountinfo fails with EINVAL, or both are gone.
        const bool refused = !text && (text.error().kind == core::Kind::Denied ||
                                       (task->directory.empty() && text.error().kind != core::Kind::Gone));
        const bool done = refused || (text && !text->bytes.empty());
        if (done || i == kThreadsTried) return text;
    }
}

core::Result<Fd> Process::open_of_memory_task(const char *name) const {
    for (int i = 1;; ++i) {
        const auto task = memory_task();
        if (!task) return task.error();
        auto opened = open_at(dir_.get(), (task->directory + name).c_str(), O_RDONLY);
        if (auto *fd = std::get_if<Fd>(&opened)) return std::move(*fd);
        const int err = std::get<Errno>(opened).value;
        const bool ended = !task->directory.empty() && (err == ENOENT || err == ESRCH);
        if (!ended || i == kThreadsTried) return failure_below(*this, name, err);
    }
}

core::Result<Stat> stat_of(const Process &process, const MemoryTask &task) {
    auto stat = parsed(process, task, "stat", parse_stat);
    if (stat && stat->zombie()) return failure(process.pid(), "stat", ESRCH);
    return stat;
}

core::Result<Statm> statm_of(const Process &process, const MemoryTask &task) {
    auto statm = parsed(process, task, "statm", parse_statm);
    if (statm && statm->size.n == 0) return failure(process.pid(), "statm", ESRCH);
    return statm;
}

bool has_memory(const Process &process, const Stat &stat) {
    if (stat.kernel_thread()) return false;
    if (stat.zombie() && stat.num_threads <= 1) return false;
    return (!stat.zombie() && !stat.exiting()) || process.memory_task().ok();
}

}  // namespace rsslag::procfs
