// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"
#include "rsslag/procfs/files.h"

namespace rsslag::procfs {

using core::Fd;

/// A file read to its end, and how long open + read took.
struct Text {
    std::string bytes;
    std::chrono::nanoseconds took{};
};

/// A task that has the memory of its process: the leader, or where that has exited and threads go on, one of these.
struct MemoryTask {
    pid_t tid = 0;
    std::string directory;  ///< before the names of its files, below the process's: "" of the leader, or "task/4712/"
    StatusFile status;      ///< sizes and user are of this task, name and numbers are the leader's
};

/// One process (thread group) through a kept descriptor of its /proc directory. A read after the process is gone
/// is Kind::Gone even where its PID has been given to another process by then: the descriptor names the process,
/// not the number. Reads that the kernel refuses (EACCES, EPERM) are Kind::Denied, with the remedy.
class Process {
  public:
    /// `root` is "/proc" but in tests. No such directory: Kind::Gone ("no process 4711"). A TID that is no leader's can
    /// be opened by its number too, although /proc does not list it: ask thread_group_of() first.
    static core::Result<Process> open(pid_t pid, const std::string &root = "/proc");

    pid_t pid() const { return pid_; }
    /// The same one, for another thread.
    core::Result<Process> duplicate() const;

    /// These three say what the file says, also where that is 0 for a leader that exited before its threads.
    core::Result<Stat> stat() const;
    core::Result<Statm> statm() const;
    core::Result<StatusFile> status() const;
    /// stat() but for its times and faults, which are the leader's alone: summing them up over 10,000 threads takes the
    /// kernel a millisecond (fs/proc/array.c do_task_stat, `whole`).
    core::Result<Stat> leader_stat() const;
    /// Kind::Gone where none has: of a zombie, of a kernel thread.
    core::Result<MemoryTask> memory_task() const;
    /// A file of such a task, to its end: where a leader has exited, its own maps, cmdline, mountinfo and so on are
    /// empty or refused. A thread that ends meanwhile is passed over.
    core::Result<Text> read_of_memory_task(const char *name) const;
    /// The same, opened for reading.
    core::Result<Fd> open_of_memory_task(const char *name) const;
    /// The walks are raw text, so that a caller can time the kernel and the parser apart; smaps_rollup is missing
    /// (Kind::Unsupported) without CONFIG_PROC_PAGE_MONITOR. A process that has no mm (a zombie, a kernel thread) is
    /// Kind::Gone. Where the leader has exited and threads go on, a thread's file is read: it walks the same mm.
    /// Never half an smaps: the kernel ends one early, with no error, when its process exits or execs, and that is
    /// found out (Kind::Gone, or after an exec the new program's).
    core::Result<Text> smaps_rollup_text() const;
    core::Result<Text> smaps_text() const;
    /// Where /proc/PID/exe points, with the kernel's " (deleted)"; empty for a kernel thread and a zombie.
    core::Result<std::string> exe() const;
    /// Any other file below the directory, to its end. One that this kernel does not have is Kind::Unsupported.
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

/// What the files of a task that has memory say of it. Kind::Gone where it has ended meanwhile.
core::Result<Stat> stat_of(const Process &process, const MemoryTask &task);
core::Result<Statm> statm_of(const Process &process, const MemoryTask &task);

/// Whether a process that says so of itself has memory. Only of a zombie more is asked than `stat`: its threads may go
/// on.
bool has_memory(const Process &process, const Stat &stat);

/// Whether this thread has CAP_SYS_PTRACE, which opens other users' files of /proc.
bool may_ptrace();
/// What to do where such a file was refused.
std::string denied_remedy(bool may_ptrace);

/// All thread groups in `root`, ascending.
core::Result<std::vector<pid_t>> list_processes(const std::string &root = "/proc");

/// The thread group that thread `tid` belongs to ("Tgid:" of /proc/TID/status, which exists although it is not
/// listed). Equal to `tid` for a leader; Kind::Gone where there is no such thread.
core::Result<pid_t> thread_group_of(pid_t tid, const std::string &root = "/proc");

/// That /proc is mounted, and of this process's PID namespace: Kind::Unsupported where it is not.
core::Status own_proc();

}  // namespace rsslag::procfs
