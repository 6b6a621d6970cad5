// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/fd.h"
#include "core/result.h"
#include "procfs/files.h"

namespace rsslag::procfs {

using core::Fd;

/// The contents of a file, and the duration of open(2) and read(2).
struct Text {
    std::string bytes;
    std::chrono::nanoseconds took{};
};

/// A task that has the mm of its process: the leader, or one of the other threads if the leader has exited.
struct MemoryTask {
    pid_t tid = 0;
    std::string directory;  ///< prefix of its files below the process's directory: "" for the leader, or "task/4712/"
    StatusFile status;      ///< sizes, UIDs and threads as of this task; name and PIDs of the leader
};

/// One process (thread group), read through a kept descriptor of its /proc directory. A read after the process has
/// exited is Kind::Gone even if the PID has been reused: the descriptor refers to the process, not to the number. Reads
/// that the kernel refuses (EACCES, EPERM) are Kind::Denied, with the remedy.
class Process {
  public:
    /// `root` is "/proc" except in tests. Kind::Gone ("no process 4711") if there is no such directory. The TID of a
    /// thread that is not the leader can be opened too, although /proc does not list it: check thread_group_of() first.
    static core::Result<Process> open(pid_t pid, const std::string &root = "/proc");

    pid_t pid() const { return pid_; }
    /// The same process with a descriptor of its own, for another thread of rsslag.
    core::Result<Process> duplicate() const;

    /// stat(), statm() and status() return the contents of these files, including the zeros of a leader that has exited
    /// before its threads.
    core::Result<Stat> stat() const;
    core::Result<Statm> statm() const;
    core::Result<StatusFile> status() const;
    /// As stat(), except that times and faults are those of the leader alone. The kernel takes a millisecond to sum
    /// them up over 10,000 threads (fs/proc/array.c do_task_stat, `whole`).
    core::Result<Stat> leader_stat() const;
    /// A task that has the mm. Kind::Gone if there is none: the process is a zombie or a kernel thread.
    core::Result<MemoryTask> memory_task() const;
    /// Reads a file of memory_task() to its end: the maps, cmdline, mountinfo and so on of a leader that has exited are
    /// empty or refused. If the task exits meanwhile, another one is tried.
    core::Result<Text> read_of_memory_task(const char *name) const;
    /// Opens a file of memory_task() for reading.
    core::Result<Fd> open_of_memory_task(const char *name) const;
    /// These walks return raw text, so that a caller can time the kernel and the parser separately. Kind::Unsupported
    /// without CONFIG_PROC_PAGE_MONITOR, Kind::Gone for a process without an mm (a zombie, a kernel thread). If the
    /// leader has exited, the file of another thread is read, which walks the same mm. The result is never incomplete.
    /// When the process exits or execs, the kernel ends smaps early without an error. The functions detect this, and
    /// return Kind::Gone after an exit, or the smaps of the new program after an exec.
    core::Result<Text> smaps_rollup_text() const;
    core::Result<Text> smaps_text() const;
    /// The target of /proc/PID/exe, with the kernel's " (deleted)"; empty for a kernel thread and a zombie.
    core::Result<std::string> exe() const;
    /// Reads any file below the directory to its end. Kind::Unsupported if this kernel does not have the file.
    core::Result<Text> read(const char *name) const;
    /// TIDs in /proc/PID/task, ascending.
    core::Result<std::vector<pid_t>> threads() const;

    /// For openat() below the process's own directory.
    int dir_fd() const { return dir_.get(); }

  private:
    Process(pid_t pid, Fd dir) : pid_(pid), dir_(std::move(dir)) {}

    pid_t pid_;
    Fd dir_;
};

/// stat and statm of a task from memory_task(). Kind::Gone if the task has exited meanwhile.
core::Result<Stat> stat_of(const Process &process, const MemoryTask &task);
core::Result<Statm> statm_of(const Process &process, const MemoryTask &task);

/// Whether a process has memory, by its `stat`. Reads other files only if the main thread is exiting, or is a zombie
/// and other threads are left.
bool has_memory(const Process &process, const Stat &stat);

/// Whether the calling thread has CAP_SYS_PTRACE, which gives access to other users' files under /proc.
bool may_ptrace();
/// The remedy for a file under /proc that the kernel refused to open.
std::string denied_remedy(bool may_ptrace);

/// The PIDs of all thread groups in `root`, ascending.
core::Result<std::vector<pid_t>> list_processes(const std::string &root = "/proc");

/// The thread group that thread `tid` belongs to ("Tgid:" of /proc/TID/status, which exists although it is not
/// listed). Equal to `tid` for a leader; Kind::Gone if there is no such thread.
core::Result<pid_t> thread_group_of(pid_t tid, const std::string &root = "/proc");

/// Checks that a /proc of this process's PID namespace is mounted. Kind::Unsupported if not.
core::Status own_proc();

}  // namespace rsslag::procfs
