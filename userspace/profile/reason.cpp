// SPDX-License-Identifier: BSD-2-Clause
#include "reason.h"

namespace rsslag::profile {
namespace {

/// arch/x86/entry/syscalls/syscall_64.tbl
Reason of_syscall(std::int32_t number) {
    switch (number) {
        case 11:  // munmap
        case 67:  // shmdt
            return Reason::Munmap;
        case 28:   // madvise
        case 440:  // process_madvise
            return Reason::Madvise;
        case 25: return Reason::Mremap;  // mremap
        case 9:                          // mmap
        case 216:                        // remap_file_pages
            return Reason::Mmap;
        case 12: return Reason::Brk;  // brk
        case 149:                     // mlock
        case 151:                     // mlockall
        case 325:                     // mlock2
            return Reason::Mlock;
        case 59:   // execve
        case 322:  // execveat
            return Reason::Exec;
        case 56:   // clone
        case 57:   // fork
        case 58:   // vfork
        case 435:  // clone3
            return Reason::Fork;
        case 60:   // exit
        case 231:  // exit_group
            return Reason::Exit;
        case 76:   // truncate
        case 77:   // ftruncate
        case 285:  // fallocate
            return Reason::Truncate;
        default: return Reason::Syscall;
    }
}

}  // namespace

/// A fault removes pages of its own process, by copy-on-write. If it reclaims memory, pages of others go.
Reason reason_of(const core::Sample &sample, int pid, bool went) {
    if (sample.syscall == core::kReclaim && went) return Reason::Reclaim;
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
        case Reason::Reclaim: return "reclaim";
        case Reason::KernelThread: return "kernel_thread";
        case Reason::OtherProcess: return "other_process";
        case Reason::Unknown: return "unknown";
    }
    return "";
}

}  // namespace rsslag::profile
