// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Empty programs on every hook that rsslag can use. doctor attaches each one to find out which hooks this kernel
 * allows. Benchmarks use them to measure the minimum cost of a tracer on these hooks. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define EMPTY_HOOK(section, name) \
    SEC(section)                  \
    int name(void *ctx)           \
    {                             \
        return 0;                 \
    }

EMPTY_HOOK("tp_btf/rss_stat", rss_stat)
EMPTY_HOOK("tp_btf/page_fault_user", page_fault_user)
EMPTY_HOOK("tp_btf/page_fault_kernel", page_fault_kernel)
EMPTY_HOOK("tp_btf/task_newtask", task_newtask)
EMPTY_HOOK("tp_btf/task_rename", task_rename)
EMPTY_HOOK("tp_btf/sched_process_exec", sched_process_exec)
EMPTY_HOOK("tp_btf/sched_process_exit", sched_process_exit)
EMPTY_HOOK("tp_btf/sched_process_free", sched_process_free)
EMPTY_HOOK("fentry/handle_mm_fault", fentry_handle_mm_fault)
EMPTY_HOOK("fexit/handle_mm_fault", fexit_handle_mm_fault)
