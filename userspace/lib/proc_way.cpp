// SPDX-License-Identifier: BSD-2-Clause
#include "proc_way.h"

#include <fmt/format.h>

#include <cerrno>
#include <optional>

#include "procfs/process.h"

namespace rsslag::lib {
namespace {

using core::Error;
using core::Kilobytes;
using core::Kind;
using procfs::or_zero;

Error no_memory(pid_t pid) {
    return {Kind::Gone, fmt::format("process {} has no memory: it is a zombie or a kernel thread", pid), 0, ""};
}

void fill_in_status(const procfs::StatusFile &status, core::PageSize page_size, Reading &reading) {
    core::Members exact;
    for (const core::Member member : core::kAllMembers)
        exact[member] = page_size.pages(or_zero(status.of(member)));
    reading.exact = exact;
    reading.swap = exact.swap;
    reading.rss = exact.rss();
}

std::optional<Error> fill_in_rollup(const procfs::Process &process, core::PageSize page_size, Reading &reading) {
    const auto text = process.smaps_rollup_text();
    if (!text) return text.error();
    const auto rollup = procfs::parse_smaps_rollup(text->bytes);
    if (!rollup) return rollup.error();
    reading.rss = page_size.pages(or_zero(rollup->sums.rss));
    if (rollup->sums.swap) reading.swap = page_size.pages(*rollup->sums.swap);
    return std::nullopt;
}

/// The calling program may be any: file capabilities must not be recommended for it.
Error file_refused(Error error) {
    if (error.kind == Kind::Denied && !procfs::may_ptrace())
        error.remedy = "run the program as the user of the process, as root, or with CAP_SYS_PTRACE";
    return error;
}

/// The stat of a leader that has exited shows an rss of 0: then rss is that of a thread which has the mm.
core::Result<procfs::Stat> living_stat(const procfs::Process &process) {
    auto leader = process.leader_stat();
    if (!leader || !leader->zombie()) return leader;
    const auto task = process.memory_task();
    if (!task) return task.error();
    auto stat = procfs::stat_of(process, *task);
    if (stat) leader->rss = stat->rss;
    return stat ? leader : stat;
}

/// Sets lag and moved from the rss of stat before and after the reading.
void fill_in_lag(Reading &reading, const procfs::Stat &before, const procfs::Stat &after, core::Truth stat) {
    reading.moved = before.rss != after.rss;
    if (stat == core::Truth::Unknown) return;
    reading.lag = stat == core::Truth::Exact ? core::Pages{0} : reading.rss - after.rss;
}

}  // namespace

core::Status ProcWay::usable(Way way) const {
    if (way == Way::Rollup || truth_.status == core::Truth::Exact) return core::success();
    return Error{Kind::Unsupported,
                 truth_.status == core::Truth::Flushed
                     ? "/proc/PID/status shows only flushed counters on this kernel"
                     : "cannot determine whether /proc/PID/status is exact on this kernel",
                 0, ""};
}

core::Result<Reading> ProcWay::read(pid_t pid, Way way) const {
    if (auto can = usable(way); !can) return can.error();
    const auto process = procfs::Process::open(pid);
    if (!process) return process.error();
    const auto before = living_stat(*process);
    if (!before) return before.error();
    if (before->kernel_thread()) return no_memory(pid);
    const auto task = process->memory_task();
    if (!task) return file_refused(task.error());
    // /proc has a directory for the TID of each thread, although it lists only those of main threads.
    if (task->status.tgid != pid) return Error{Kind::Gone, fmt::format("no process {}", pid), ESRCH, ""};
    Reading reading;
    reading.pid = pid;
    reading.comm = before->comm;
    reading.threads = before->num_threads;
    reading.way = way;
    if (way == Way::Status) {
        fill_in_status(task->status, page_size_, reading);
    } else if (const auto failed = fill_in_rollup(*process, page_size_, reading)) {
        return file_refused(*failed);
    }
    const auto after = living_stat(*process);
    if (!after) return after.error();
    fill_in_lag(reading, *before, *after, truth_.stat);
    return reading;
}

core::Result<Readings> ProcWay::read_all(Way way) const {
    const auto pids = procfs::list_processes();
    if (!pids) return pids.error();
    Readings all;
    for (const pid_t pid : *pids) {
        auto reading = read(pid, way);
        if (reading)
            all.readings.push_back(std::move(*reading));
        else if (reading.error().kind == Kind::Denied)
            ++all.unreadable;
        else if (reading.error().kind != Kind::Gone)
            return reading.error();
    }
    return all;
}

}  // namespace rsslag::lib
