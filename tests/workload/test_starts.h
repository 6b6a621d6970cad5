// SPDX-License-Identifier: BSD-2-Clause
// The functions in workloads.cpp's table; each has the contract of Workload::start.
#pragma once

#include "workload/starts.h"

namespace rsslag::workload {

// half_gone.cpp
Started start_half_gone(const Options &given);
// anonymous.cpp
Started start_populate(const Options &given);
Started start_mlock(const Options &given);
Started start_zero_page(const Options &given);
Started start_dontneed(const Options &given);
Started start_free(const Options &given);
Started start_mremap(const Options &given);
// shared.cpp
Started start_shared_anon(const Options &given);
Started start_memfd(const Options &given);
Started start_sysv(const Options &given);
// files.cpp
Started start_file_private(const Options &given);
Started start_file_private_write(const Options &given);
Started start_file_shared(const Options &given);
// huge.cpp
Started start_thp(const Options &given);
Started start_hugetlb(const Options &given);
// swap.cpp, ksm.cpp, poison.cpp
Started start_swap(const Options &given);
Started start_ksm(const Options &given);
Started start_hwpoison(const Options &given);
// processes.cpp
Started start_fork_cow(const Options &given);
Started start_after_exec(const Options &given);
Started start_leader_gone(const Options &given);
// other_tasks.cpp
Started start_clone_vm(const Options &given);
Started start_remote_write(const Options &given);
// exec_args.cpp
Started start_exec_args(const Options &given);
// churn.cpp, mixed.cpp
Started start_churn(const Options &given);
Started start_mixed(const Options &given);

}  // namespace rsslag::workload
