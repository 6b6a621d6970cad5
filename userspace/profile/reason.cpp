// SPDX-License-Identifier: BSD-2-Clause
#include "reason.h"

namespace rsslag::profile {
namespace {

/// arch/x86/entry/syscalls/syscall_64.tbl
Reason of_syscall(std::int32_t number) {
    switch (number) {
        case 11: return Reason::Munmap;     // munmap
        case 67: return Reason::Munmap;     // shmdt
        case 28: return Reason::Madvise;    // madvise
        case 440: return Reason::Madvise;   // process_madvise
        case 25: return Reason::Mremap;     // mremap
        case 9: return Reason::Mmap;        // mmap
        case 216: return Reason::Mmap;      // remap_file_pages
        case 12: return Reason::Brk;        // brk
        case 149: return Reason::Mlock;     // mlock
        case 151: return Reason::Mlock;     // mlockall
        case 325: return Reason::Mlock;     // mlock2
        case 59: return Reason::Exec;       // execve
        case 322: return Reason::Exec;      // execveat
        case 56: return Reason::Fork;       // clone
        case 57: return Reason::Fork;       // fork
        case 58: return Reason::Fork;       // vfork
        case 435: return Reason::Fork;      // clone3
        case 60: return Reason::Exit;       // exit
        case 231: return Reason::Exit;      // exit_group
        case 76: return Reason::Truncate;   // truncate
        case 77: return Reason::Truncate;   // ftruncate
        case 285: return Reason::Truncate;  // fallocate
        default: return Reason::Syscall;
    }
}

}  // namespace

/// A fault removes pages of its own process, by copy-on-write. If it reclaims memory, pages of others go.
Reason reason_of(const core::Sample &sample, int pid, bool went) {
    if (sample.syscall == core::kKernelThread) return Reason::KernelThread;
    if (sample.syscall == core::kExiting) return Reason::Exit;
    const bool of_other = sample.pid != pid;
    if (sample.address != 0 && !(went && of_other)) return Reason::PageFault;
    const Reason reason = sample.syscall < 0 ? Reason::Unknown : of_syscall(sample.syscall);
    const bool vague = reason == Reason::Unknown || reason == Reason::Syscall;
    return vague && of_other ? Reason::OtherProcess : reason;
}

std::string_view name(Reason reason) {
    switch (reason) {
        case Reason::PageFault: return "page_fault";
        case Reason::Munmap: return "munmap";
        case Reason::Madvise: return "madvise";
        case Reason::Mremap: return "mremap";
        case Reason::Mmap: return "mmap";
        case Reason::Brk: return "brk";
        case Reason::Mlock: return "mlock";
        case Reason::Exec: return "exec";
        case Reason::Fork: return "fork";
        case Reason::Exit: return "exit";
        case Reason::Truncate: return "truncate";
        case Reason::Syscall: return "syscall";
        case Reason::KernelThread: return "kernel_thread";
        case Reason::OtherProcess: return "other_process";
        case Reason::Unknown: return "unknown";
    }
    return "";
}

}  // namespace rsslag::profile
