/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the mounted files tell of one process. */
#ifndef RSSLAG_PROCESS_BPF_H
#define RSSLAG_PROCESS_BPF_H

struct process {
    struct exact_rss rss;
    s32 pid;     /* as the reader's PID namespace shows it */
    u32 uid;     /* effective, of the initial user namespace */
    u32 threads; /* as /proc/PID/status counts them, one that ended before the others too */
    u32 shared;  /* others hold its memory, too, or look at it for a moment */
    u64 mm;
};

/* False for who has no memory of its own, or is not to be seen from the reader's PID namespace. A `leader` that is no number
 * to the verifier is only ever read by probing. */
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
    process->threads = BPF_CORE_READ(leader, signal, nr_threads);
    process->mm = exact_rss_number(mm);
    /* A task leaves signal->live before its mm: never too few. */
    process->shared = (u32)BPF_CORE_READ((struct mm_struct___exact_rss *)mm, mm_users.counter) >
                      (u32)BPF_CORE_READ(leader, signal, live.counter);
    return true;
}

/* A member may be less than nothing while it moves. */
static __always_inline s64 shown(const struct exact_rss *rss, enum exact_rss_member member)
{
    s64 pages = exact_rss_member(rss, member);

    return pages > 0 ? pages : 0;
}

static __always_inline s64 shown_total(const struct exact_rss *rss)
{
    return shown(rss, EXACT_RSS_FILE) + shown(rss, EXACT_RSS_ANON) + shown(rss, EXACT_RSS_SHMEM);
}

static __always_inline s64 cached_total(const struct exact_rss *rss)
{
    return rss->cached[EXACT_RSS_FILE] + rss->cached[EXACT_RSS_ANON] + rss->cached[EXACT_RSS_SHMEM];
}

static __always_inline s64 clamped(s64 pages)
{
    return pages > 0 ? pages : 0;
}

/* What a reader of the flushed counters alone misses. */
static __always_inline s64 lag(const struct exact_rss *rss)
{
    return shown_total(rss) - clamped(rss->flushed[EXACT_RSS_FILE]) - clamped(rss->flushed[EXACT_RSS_ANON]) -
           clamped(rss->flushed[EXACT_RSS_SHMEM]);
}

#endif
