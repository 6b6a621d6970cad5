/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Processes that are traced because of their name, cgroup or user: at an exec, or at a fork by a traced process. */
#ifndef RSSLAG_PATTERN_BPF_H
#define RSSLAG_PATTERN_BPF_H

#define TASK_COMM_LEN 16

/* Written by userspace. */
struct rsslag_pattern pattern;

struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u32);
} cgroups SEC(".maps");

static __always_inline bool comm_matches(const char *comm)
{
    u64 states = pattern.start;
    u32 i;

#pragma unroll
    for (i = 0; i < TASK_COMM_LEN; i++) {
        u8 byte = comm[i];

        if (!byte)
            break;
        states = (states & pattern.takes[byte]) << 1 | (states & pattern.loops);
    }
    return states & pattern.ends;
}

/* `task` is the current task, or a child that it is creating, which has the same user and cgroup. The cheapest
 * condition comes first. */
static __always_inline bool pattern_matches(struct task_struct *task)
{
    u32 conditions = pattern.conditions;
    char comm[TASK_COMM_LEN];

    if (!conditions || (u32)BPF_CORE_READ(task, tgid) == pattern.own_tgid)
        return false;
    if (conditions & RSSLAG_BY_USER && (u32)bpf_get_current_uid_gid() != pattern.uid)
        return false;
    if (conditions & RSSLAG_BY_COMM) {
        bpf_probe_read_kernel(comm, sizeof(comm), &task->comm);
        if (!comm_matches(comm))
            return false;
    }
    if (conditions & RSSLAG_BY_CGROUP && bpf_current_task_under_cgroup(&cgroups, 0) != 1)
        return false;
    return number_in(BPF_CORE_READ(task, group_leader), &reader); /* not of another PID namespace */
}

#endif
