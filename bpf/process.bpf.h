/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The values of one process in the mounted files. */
#ifndef RSSLAG_PROCESS_BPF_H
#define RSSLAG_PROCESS_BPF_H

struct process {
    struct exact_rss rss;
    s32 pid;     /* in the reader's PID namespace */
    u32 uid;     /* effective, in the initial user namespace */
    u32 threads; /* threads_of() */
    u32 shared;  /* is_shared(): the mm has other users, processes or readers of its /proc files */
    u64 mm;
};

/* As in /proc/PID/status: includes a main thread that ended before the others. */
static __always_inline u32 threads_of(struct task_struct *leader)
{
    return BPF_CORE_READ(leader, signal, nr_threads);
}

/* A task leaves signal->live before its mm, so this may be true too often but is never missed. */
static __always_inline bool is_shared(struct task_struct *leader, struct mm_struct *mm)
{
    return (u32)BPF_CORE_READ((struct mm_struct___exact_rss *)mm, mm_users.counter) >
           (u32)BPF_CORE_READ(leader, signal, live.counter);
}

/* Returns false if `leader` has no mm, or is not visible in the reader's PID namespace. The verifier may treat
 * `leader` as a number: it is accessed only by probe reads. */
static __noinline bool read_process(struct task_struct *leader, struct process *process)
{
    struct mm_struct *mm = exact_rss_mm(leader);
    struct rsslag_view view;

    if (!mm)
        return false;
    own_view(&view);
    process->pid = number_in(leader, &view);
    if (!process->pid || !exact_rss_read(leader, mm, &process->rss))
        return false;
    process->uid = BPF_CORE_READ(leader, real_cred, euid.val);
    process->threads = threads_of(leader);
    process->mm = exact_rss_number(mm);
    process->shared = is_shared(leader, mm);
    return true;
}

/* Clamped at 0: a member may be negative while it changes. */
static __always_inline s64 shown(const struct exact_rss *rss, enum exact_rss_member member)
{
    return exact_rss_clamped(exact_rss_member(rss, member));
}

static __always_inline s64 shown_total(const struct exact_rss *rss)
{
    s64 total = 0;

    EXACT_RSS_EACH_OF_RSS(m, total += shown(rss, m));
    return total;
}

static __always_inline s64 cached_total(const struct exact_rss *rss)
{
    s64 total = 0;

    EXACT_RSS_EACH_OF_RSS(m, total += rss->cached[m]);
    return total;
}



/* The lag: what a reader of the flushed counters misses. */
static __always_inline s64 lag(const struct exact_rss *rss)
{
    s64 lag = shown_total(rss);

    EXACT_RSS_EACH_OF_RSS(m, lag -= exact_rss_clamped(rss->flushed[m]));
    return lag;
}

#endif
