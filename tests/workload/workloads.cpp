// SPDX-License-Identifier: BSD-2-Clause
#include "workloads.h"

#include <array>
#include <vector>

#include "test_starts.h"

namespace rsslag::workload::test {
namespace {

constexpr std::array kOfTests{
    Workload{"half-gone", "64 threads that each touch 16 pages; half of them end (--threads, --kb)", Motion::Quiet,
             start_half_gone},
    Workload{"leader-gone", "a process whose main thread has ended while four others go on (--threads, --kb)",
             Motion::Quiet, start_leader_gone},
    Workload{"shared-anon", "50 MiB of shared anonymous memory (--kb)", Motion::Quiet, start_shared_anon},
    Workload{"memfd", "8 MiB of a memfd (--kb)", Motion::Quiet, start_memfd},
    Workload{"sysv", "8 MiB of System V shared memory (--kb)", Motion::Quiet, start_sysv},
    Workload{"file-private", "a file mapped privately and read (--kb)", Motion::Quiet, start_file_private},
    Workload{"file-private-write", "a file mapped privately, read, then half of it written (--kb)", Motion::Quiet,
             start_file_private_write},
    Workload{"file-shared", "a file mapped shared, read, then half of it written (--kb)", Motion::Quiet,
             start_file_shared},
    Workload{"populate", "8 MiB faulted in by MAP_POPULATE (--kb)", Motion::Quiet, start_populate},
    Workload{"mlock", "4 MiB faulted in by mlock, or what the limit allows (--kb)", Motion::Quiet, start_mlock},
    Workload{"thp", "8 MiB in transparent huge pages (--kb)", Motion::Quiet, start_thp},
    Workload{"hugetlb", "two hugetlb pages, which RSS does not count", Motion::Quiet, start_hugetlb},
    Workload{"zero-page", "8 MiB read but never written: all of it the zero page (--kb)", Motion::Quiet,
             start_zero_page},
    Workload{"dontneed", "8 MiB touched, half of it dropped with MADV_DONTNEED (--kb)", Motion::Quiet, start_dontneed},
    Workload{"free", "8 MiB touched, half of it given up with MADV_FREE (--kb)", Motion::Quiet, start_free},
    Workload{"mremap", "8 MiB touched, moved, shrunk and grown (--kb)", Motion::Quiet, start_mremap},
    Workload{"ksm", "4 MiB of equal pages, merged by KSM (--kb)", Motion::Quiet, start_ksm},
    Workload{"swap", "16 MiB anonymous and 4 MiB shmem, swapped out (--kb)", Motion::Quiet, start_swap},
    Workload{"fork-cow", "a parent and a child that each copied a quarter of 8 MiB (--kb)", Motion::Quiet,
             start_fork_cow},
    Workload{"after-exec", "a child that has exec'd another program", Motion::Quiet, start_after_exec},
    Workload{"clone-vm", "a process that shares another's memory and touches 98 pages (--kb)", Motion::Quiet,
             start_clone_vm},
    Workload{"remote-write", "300 pages written by another process (--kb)", Motion::Quiet, start_remote_write},
    Workload{"exec-args", "a process stuck in execve, argument pages charged to its old memory (--kb)", Motion::Quiet,
             start_exec_args},
    Workload{"hwpoison", "three pages poisoned (virtual machines only)", Motion::Quiet, start_hwpoison},
    Workload{"churn", "16 threads at a time that start, touch 10 pages and end", Motion::Busy, start_churn},
    Workload{"mixed", "4 threads that map, copy, drop, fork and exec, with pauses (--threads)", Motion::Busy,
             start_mixed},
};

std::vector<Workload> joined() {
    const std::span<const Workload> of_demo = workload::all();
    std::vector<Workload> both(of_demo.begin(), of_demo.end());
    both.insert(both.end(), kOfTests.begin(), kOfTests.end());
    return both;
}

}  // namespace

std::span<const Workload> all() {
    static const std::vector<Workload> both = joined();
    return both;
}

const Workload *find(std::string_view name) {
    return workload::find(name, all());
}

}  // namespace rsslag::workload::test
