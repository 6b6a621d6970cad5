/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The number of a task in a PID namespace. */
#ifndef RSSLAG_PIDS_BPF_H
#define RSSLAG_PIDS_BPF_H

#include "rsslag/abi.h"

/* pid->numbers[level]. `pid` must be a scalar, read with BPF_CORE_READ: the verifier refuses arithmetic on a trusted
 * pointer. */
static __always_inline struct upid upid_at(const struct pid *pid, u32 level)
{
    const char *at = (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
                     level * bpf_core_type_size(struct upid);
    struct upid upid = {};

    bpf_probe_read_kernel(&upid.nr, sizeof(upid.nr), at + bpf_core_field_offset(struct upid, nr));
    bpf_probe_read_kernel(&upid.ns, sizeof(upid.ns), at + bpf_core_field_offset(struct upid, ns));
    return upid;
}

/* The PID namespace of the current task, which in an iterator is the reader (kernel/pid.c ns_of_pid). */
static __always_inline void own_view(struct rsslag_view *view)
{
    struct task_struct *self = (struct task_struct *)bpf_get_current_task();
    struct pid *pid = BPF_CORE_READ(self, thread_pid);

    view->level = BPF_CORE_READ(pid, level);
    view->ns = (u64)upid_at(pid, view->level).ns;
}

/* The task's number in that PID namespace; 0 if it is not visible there (kernel/pid.c pid_nr_ns). */
static __always_inline int number_in(struct task_struct *task, const struct rsslag_view *view)
{
    struct pid *pid = BPF_CORE_READ(task, thread_pid);
    struct upid upid;

    if (!pid || view->level > BPF_CORE_READ(pid, level))
        return 0;
    upid = upid_at(pid, view->level);
    return (u64)upid.ns == view->ns ? upid.nr : 0;
}

#endif
