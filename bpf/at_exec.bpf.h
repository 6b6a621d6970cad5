/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The counters of an mm at the exec at which the trace of its process starts. No other task uses the mm then, so its counters
 * change only if another task reclaims its pages. */
#ifndef RSSLAG_AT_EXEC_BPF_H
#define RSSLAG_AT_EXEC_BPF_H

/* Reserves a record that is not counted as a record of the trace. Userspace turns it into an event::AtExec. */
static __always_inline struct rsslag_at_exec *reserve_at_exec(u64 t_ns, u64 mm)
{
    struct rsslag_cpu *cpu = cpu_at(bpf_get_smp_processor_id());
    struct rsslag_at_exec *record = cpu ? reserve_on(cpu, sizeof(*record)) : NULL;

    if (!record)
        return NULL;
    __builtin_memset(record, 0, sizeof(*record));
    record->kind = RSSLAG_AT_EXEC;
    record->t_ns = t_ns;
    record->mm = mm;
    return record;
}

struct at_exec_walk {
    u64 t_ns;
    u64 mm;
    u64 counters[EXACT_RSS_MEMBERS];
    u32 caches; /* records sent */
    u32 failed;
};

/* Sends what a CPU caches, if it caches anything. */
static long send_cache(u32 number, struct at_exec_walk *walk)
{
    struct rsslag_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
    s32 cached[EXACT_RSS_MEMBERS] = {};
    struct rsslag_at_exec *record;
    s32 any = 0;

    if (!cpu || !cpu->known) {
        walk->failed = 1;
        return 1;
    }
    exact_rss_locals(cached, walk->counters, cpu->offset);
    EXACT_RSS_EACH(m, any |= cached[m]);
    if (!any)
        return 0;
    record = reserve_at_exec(walk->t_ns, walk->mm);
    if (!record) {
        walk->failed = 1;
        return 1;
    }
    record->cpu = number;
    EXACT_RSS_EACH(m, record->cached[m] = cached[m]);
    send(record);
    walk->caches++;
    return 0;
}

/* `by_cpu` is a constant: a kernel before 5.13 refuses a program that contains a call of bpf_loop, even in a branch that
 * is never taken. Without the last record, userspace reads the counters later. */
static __always_inline void send_at_exec(struct task_struct *task, struct mm_struct *mm, bool by_cpu)
{
    struct task_struct___thread *thread = (void *)task;
    struct at_exec_walk walk = {.t_ns = bpf_ktime_get_ns(), .mm = (u64)mm};
    s64 flushed[EXACT_RSS_MEMBERS], after[EXACT_RSS_MEMBERS];
    struct rsslag_at_exec *record;

    if (by_cpu) {
        exact_rss_flushed_cpu(flushed, mm);
        exact_rss_counters(walk.counters, mm);
        bpf_loop(possible_cpus, send_cache, &walk, 0);
        exact_rss_flushed_cpu(after, mm);
        if (walk.failed || !exact_rss_equal(flushed, after))
            return;
    } else {
        exact_rss_flushed_thread(flushed, mm);
    }
    record = reserve_at_exec(walk.t_ns, walk.mm);
    if (!record)
        return;
    record->last = 1;
    record->caches = walk.caches;
    record->tid = BPF_CORE_READ(task, pid);
    record->tgid = BPF_CORE_READ(task, tgid);
    record->ns_tid = number_in(task, &reader);
    record->ns_tgid = number_in(BPF_CORE_READ(task, group_leader), &reader);
    record->faults = faults_done(task);
    EXACT_RSS_EACH(m, record->flushed[m] = flushed[m]);
    if (!by_cpu && exact_rss_scheme() == EXACT_RSS_THREAD) {
        EXACT_RSS_EACH(m, record->cached[m] = BPF_CORE_READ(thread, rss_stat.count[m]));
        record->events = BPF_CORE_READ(thread, rss_stat.events);
    }
    send(record);
}

#endif
