/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Sums over the processes with the same name, which form a group here. Prometheus requires all lines of a metric to be adjacent,
 * so the program computes all sums before it prints the first line. It does so at the first task of the iterator, in one pass
 * over the kernel's list of processes. It prints a few lines at each task, since the output of one task must fit into the
 * seq_file's buffer (32 KiB). */
#ifndef RSSLAG_GROUPS_BPF_H
#define RSSLAG_GROUPS_BPF_H

#include "sessions.bpf.h"

struct lookup {
    struct session *session;
    u64 name[2];
    u32 at;
    u32 found;
};

static long try_group(u32 i, struct lookup *lookup)
{
    u32 at = (lookup->at + i) & (GROUPS - 1);
    struct group *group = group_at(lookup->session, at);

    if (!group)
        return 1;
    if (group->processes && (group->name[0] != lookup->name[0] || group->name[1] != lookup->name[1]))
        return 0;
    lookup->at = at;
    lookup->found = 1;
    return 1;
}

/* "other" is the group of names that do not fit, and of processes with the name "other". */
static __always_inline bool is_other(const u64 *name)
{
    static const char kOther[16] = "other";

    return name[0] == *(const u64 *)kOther && name[1] == 0;
}

static __noinline u32 group_of(struct session *session, struct task_struct *leader)
{
    struct lookup lookup = {.session = session};

    bpf_probe_read_kernel_str(lookup.name, sizeof(lookup.name), &leader->comm);
    if (is_other(lookup.name))
        return GROUPS;
    lookup.at = (u32)((lookup.name[0] ^ lookup.name[1]) * 0x9e3779b97f4a7c15ull >> 32);
    bpf_loop(GROUPS, try_group, &lookup, 0);
    if (!lookup.found)
        return GROUPS;
    return lookup.at;
}

static __always_inline struct shared_mm *shared_at(struct session *session, u32 at)
{
    u64 index = at;

    barrier_var(index);
    if (index >= SHARED_MMS)
        return 0;
    barrier_var(index);
    return &session->shared_mms[index];
}

struct holder {
    struct session *session;
    u64 mm;
    u32 group;
    u32 pad;
};

static long find_holder(u32 i, struct holder *holder)
{
    struct shared_mm *shared = shared_at(holder->session, i);

    if (!shared)
        return 1;
    if (shared->mm != holder->mm)
        return 0;
    holder->group = shared->group;
    return 1;
}

/* Returns the group in which a shared mm counts. Returns NO_GROUP if the mm is new: from now on it counts in
 * `group`. If there is no space to store it, marks the process as inexact, since the mm may count more than once. */
static __noinline u32 holder_of(struct session *session, u64 mm, u32 group)
{
    struct holder holder = {.session = session, .mm = mm, .group = NO_GROUP};
    struct shared_mm *shared;

    bpf_loop(session->shared, find_holder, &holder, 0);
    if (holder.group != NO_GROUP)
        return holder.group;
    shared = shared_at(session, session->shared);
    if (shared) {
        shared->mm = mm;
        shared->group = group;
        session->shared++;
    } else {
        session->process.rss.moved = 1;
    }
    return NO_GROUP;
}

/* The kernel's list of processes in the order of their start, as in for_each_process (include/linux/sched/signal.h). It
 * starts at init_task, the ancestor of all, which never leaves the list and has no mm. */
struct process_list {
    u64 next;
    u64 first;
};

struct ancestry {
    u64 task;
};

static long find_first(u32 i, struct ancestry *ancestry)
{
    struct task_struct *task = (void *)ancestry->task;

    if (!task || !BPF_CORE_READ(task, pid))
        return 1;
    ancestry->task = (u64)BPF_CORE_READ(task, real_parent);
    return 0;
}

static __always_inline struct process_list all_processes(void)
{
    struct ancestry ancestry = {.task = (u64)bpf_get_current_task()};

    bpf_loop(EXACT_RSS_MANY, find_first, &ancestry, 0);
    return (struct process_list){.next = ancestry.task, .first = ancestry.task};
}

/* Returns NULL after the last one. */
static __always_inline struct task_struct *next_leader(struct process_list *list, bool first)
{
    struct task_struct *leader = (void *)list->next;

    if (!leader || (!first && list->next == list->first))
        return 0;
    list->next = (u64)BPF_CORE_READ(leader, tasks.next) - bpf_core_field_offset(struct task_struct, tasks);
    return leader;
}

struct process_walk {
    struct session *session;
    struct process_list list;
};

static __always_inline void add_cached(struct group *group, const struct exact_rss *rss)
{
    EXACT_RSS_EACH(m, group->cached[m] += rss->cached[m]);
}

static __always_inline void count_inexact(struct group *group, const struct exact_rss *rss)
{
    group->inexact += rss->foreign | rss->moved;
}

static __always_inline void add_to_group(struct group *group, const struct exact_rss *rss)
{
    count_inexact(group, rss);
    EXACT_RSS_EACH(m, group->flushed[m] += rss->flushed[m]);
    add_cached(group, rss);
}

static __always_inline void count_in_group(struct group *group, struct task_struct *leader, const struct process *process)
{
    if (!group->processes)
        bpf_probe_read_kernel_str(group->name, sizeof(group->name), &leader->comm);
    group->processes++;
    group->threads += process->threads;
}

/* An mm counts once, in the group of the process that started first, as in `rsslag serve`. On the `thread` scheme
 * the caches of the other processes' threads are added to that group. */
static long add_process(u32 i, struct process_walk *walk)
{
    struct task_struct *leader = next_leader(&walk->list, i == 0);
    struct session *session = walk->session;
    u32 of, holder = NO_GROUP;
    struct group *group;

    if (!leader)
        return 1;
    if (!read_process(leader, &session->process))
        return 0;
    of = group_of(session, leader);
    group = group_at(session, of);
    if (!group)
        return 0;
    count_in_group(group, leader, &session->process);
    if (session->process.shared)
        holder = holder_of(session, session->process.mm, of);
    if (holder == NO_GROUP) {
        add_to_group(group, &session->process.rss);
        return 0;
    }
    count_inexact(group, &session->process.rss);
    group = group_at(session, holder);
    if (group && exact_rss_scheme() == EXACT_RSS_THREAD)
        add_cached(group, &session->process.rss);
    return 0;
}

static __always_inline void fill_session(struct session *session)
{
    struct process_walk walk = {.session = session, .list = all_processes()};

    bpf_loop(EXACT_RSS_MANY, add_process, &walk, 0);
}

#endif
