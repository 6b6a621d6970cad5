// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A reading: one pass over the tasks of an mm reads its counters and what each task or CPU caches, without an event
 * stream and without a walk. There is one program for each scheme. Userspace loads the one for this kernel. */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "pids.bpf.h"
#include "rsslag/abi.h"
#include "rsslag/exact_rss.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

_Static_assert(RSSLAG_MEMBERS == EXACT_RSS_MEMBERS, "members");

#define TASK_COMM_LEN 16

/* Written by userspace before each pass. */
struct rsslag_snapshot_request request;

/* Zeroed by userspace before each pass. The iterator shows a task again if its output did not fit into the seq_file's
 * buffer, so the first call is recognized by its task. */
struct rsslag_snapshot_progress progress;

struct numbers {
    s32 tid, tgid;
};

/* A task's numbers in the reader's PID namespace. In the initial namespace they are the kernel's. In others,
 * consecutive tasks of a group share one lookup of the group's number. */
static __always_inline struct numbers numbers_of(struct task_struct *task) {
    struct numbers numbers = {task->pid, task->tgid};

    if (!progress.view.ns) own_view(&progress.view);
    if (progress.view.level) {
        if (progress.host_tgid != task->tgid)
            progress.tgid = number_in(BPF_CORE_READ(task, group_leader), &progress.view);
        numbers.tid = number_in(task, &progress.view);
        numbers.tgid = progress.tgid;
    }
    progress.host_tgid = task->tgid;
    return numbers;
}

static __always_inline void write_task(struct seq_file *seq, struct task_struct *task, struct numbers numbers,
                                       bool cached) {
    struct rsslag_snapshot_task record = {.kind = RSSLAG_SNAPSHOT_TASK};
    struct task_struct___thread *thread = (void *)task;
    struct signal_struct *signal;

    record.faults_before = task->min_flt + task->maj_flt;
    if (cached) {
        record.events = thread->rss_stat.events;
        EXACT_RSS_EACH(m, record.cached[m] = thread->rss_stat.count[m]);
    }
    record.faults_after = task->min_flt + task->maj_flt;
    signal = task->signal; /* load it only once: see mm_of() in bpf/stream_cpu.bpf.h */
    record.group_faults = signal->min_flt + signal->maj_flt;
    if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
        record.flags |= RSSLAG_TASK_IN_EXECVE;
    record.host_tid = task->pid;
    record.host_tgid = task->tgid;
    record.tid = numbers.tid;
    record.tgid = numbers.tgid;
    bpf_probe_read_kernel(record.comm, TASK_COMM_LEN, task->comm);
    bpf_seq_write(seq, &record, sizeof(record));
}

static __always_inline void read_mm(struct rsslag_snapshot_mm *record, struct mm_struct *mm) {
    record->mm = (u64)mm;
    record->users = BPF_CORE_READ(mm, mm_users.counter);
    record->total_vm = BPF_CORE_READ(mm, total_vm);
    record->map_count = BPF_CORE_READ(mm, map_count);
    record->threads = progress.threads;
    __builtin_memcpy(record->comm, progress.comm, TASK_COMM_LEN);
    record->started = progress.started;
}

/* The leader need not have an mm: its name comes from any task of the requested group. */
static __always_inline void note_group(struct task_struct *task, struct numbers numbers) {
    struct task_struct *leader = task->group_leader;

    if (progress.threads || numbers.tgid != request.tgid) return;
    progress.threads = task->signal->nr_threads;
    progress.started = leader->start_time;
    bpf_probe_read_kernel(progress.comm, TASK_COMM_LEN, leader->comm);
}

static __always_inline void write_mm_thread(struct seq_file *seq, struct mm_struct *mm, u32 kind) {
    struct rsslag_snapshot_mm record = {.kind = kind};

    read_mm(&record, mm);
    exact_rss_flushed_thread(record.flushed, mm);
    bpf_seq_write(seq, &record, sizeof(record));
}

struct cpu_walk {
    u64 base;                        /* the __percpu pointer of the anchor's element */
    u64 counters[EXACT_RSS_MEMBERS]; /* percpu_counter.counters of each member */
    struct seq_file *seq;
};

static long write_cpu(u32 cpu, struct cpu_walk *walk) {
    struct rsslag_snapshot_cpu record = {.kind = RSSLAG_SNAPSHOT_CPU, .cpu = cpu};
    u64 offset;
    s32 any = 0;

    if (!exact_rss_percpu_offset(cpu, walk->base, &offset)) return 0;
    exact_rss_locals(record.cached, walk->counters, offset);
    EXACT_RSS_EACH(m, any |= record.cached[m]);
    if (any) bpf_seq_write(walk->seq, &record, sizeof(record));
    return 0;
}

static __always_inline void write_mm_cpu(struct seq_file *seq, struct mm_struct *mm, u32 kind) {
    struct rsslag_snapshot_mm record = {.kind = kind};
    struct cpu_walk walk = {.seq = seq};

    walk.base = exact_rss_percpu_base();
    exact_rss_counters(walk.counters, mm);
    read_mm(&record, mm);
    exact_rss_flushed_cpu(record.flushed, mm);
    bpf_seq_write(seq, &record, sizeof(record));
    bpf_loop(request.cpus, write_cpu, &walk, 0);
}

enum scheme { THREAD, CPU, PLAIN };

static __always_inline void write_mm(struct seq_file *seq, struct mm_struct *mm, u32 kind, enum scheme scheme) {
    if (scheme == CPU)
        write_mm_cpu(seq, mm, kind);
    else
        write_mm_thread(seq, mm, kind);
}

static __always_inline int visit(struct bpf_iter__task *ctx, enum scheme scheme) {
    struct seq_file *seq = ctx->meta->seq;
    struct task_struct *task = ctx->task;
    struct mm_struct *mm;
    struct numbers numbers;

    if (!task) { /* after the last task */
        if (progress.mm) write_mm(seq, (struct mm_struct *)progress.mm, RSSLAG_SNAPSHOT_MM_LAST, scheme);
        return 0;
    }
    mm = task->mm;
    if (!mm || (request.mm && request.mm != (u64)mm)) return 0;
    numbers = numbers_of(task);
    if (!request.mm && numbers.tgid != request.tgid) return 0;
    note_group(task, numbers);
    if (!progress.host_tid || progress.host_tid == task->pid) {
        progress.host_tid = task->pid;
        progress.mm = (u64)mm;
        write_mm(seq, mm, RSSLAG_SNAPSHOT_MM_FIRST, scheme);
    }
    write_task(seq, task, numbers, scheme == THREAD);
    return 0;
}

SEC("iter/task")
int snapshot_thread(struct bpf_iter__task *ctx) {
    return visit(ctx, THREAD);
}

SEC("iter/task")
int snapshot_cpu(struct bpf_iter__task *ctx) {
    return visit(ctx, CPU);
}

SEC("iter/task")
int snapshot_plain(struct bpf_iter__task *ctx) {
    return visit(ctx, PLAIN);
}

/* A pass over all processes, for `top`. */

static __always_inline void read_flushed(rsslag_s64 *flushed, struct mm_struct *mm, enum scheme scheme) {
    if (scheme == CPU)
        exact_rss_flushed_cpu(flushed, mm);
    else
        exact_rss_flushed_thread(flushed, mm);
}

static __always_inline void sum_cpus(struct rsslag_total *record, struct mm_struct *mm) {
    struct exact_rss_walk walk = {};

    walk.base = exact_rss_percpu_base();
    exact_rss_counters(walk.counters, mm);
    bpf_loop(request.cpus, exact_rss_add_cpu, &walk, 0);
    EXACT_RSS_EACH(m, record->cached[m] = walk.rss.cached[m]);
    record->cachers = walk.rss.cachers;
}

static __always_inline void copy_cached(struct rsslag_total *record, struct task_struct *task) {
    struct task_struct___thread *thread = (void *)task;
    s64 any = 0;

    EXACT_RSS_EACH(m, record->cached[m] = thread->rss_stat.count[m]);
    EXACT_RSS_EACH_OF_RSS(m, any |= record->cached[m]);
    record->cachers = any != 0;
}

/* Tasks of a group with the same mm have the same values, except on the thread scheme. So only the first of consecutive
 * ones writes a record. The iterator visits tasks in the order of their TIDs, so a group may have several such runs. */
static __always_inline int visit_all(struct bpf_iter__task *ctx, enum scheme scheme) {
    struct task_struct *task = ctx->task;
    struct rsslag_total record = {};
    rsslag_s64 after[EXACT_RSS_MEMBERS];
    struct task_struct *leader;
    struct mm_struct *mm;
    struct numbers numbers;

    if (!task) return 0;
    mm = task->mm;
    if (!mm) return 0;
    if (scheme != THREAD && progress.mm == (u64)mm && progress.host_tgid == task->tgid &&
        progress.host_tid != task->pid)
        return 0;
    progress.mm = (u64)mm;
    progress.host_tid = task->pid;
    numbers = numbers_of(task);
    leader = task->group_leader;
    record.mm = (u64)mm;
    record.host_tgid = task->tgid;
    record.tgid = numbers.tgid;
    record.tasks = task->signal->live.counter;
    record.threads = task->signal->nr_threads;
    record.started = leader->start_time;
    record.host_ppid = BPF_CORE_READ(leader, real_parent, tgid);
    if (task->pid == task->tgid) record.flags |= RSSLAG_TOTAL_LEADER;
    if (!leader->mm) record.flags |= RSSLAG_TOTAL_LEADER_GONE;
    bpf_probe_read_kernel(record.comm, TASK_COMM_LEN, leader->comm);
    read_flushed(record.flushed, mm, scheme);
    if (scheme == CPU)
        sum_cpus(&record, mm);
    else if (scheme == THREAD)
        copy_cached(&record, task);
    read_flushed(after, mm, scheme);
    if (!exact_rss_equal(after, record.flushed)) record.flags |= RSSLAG_TOTAL_MOVED;
    bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
    return 0;
}

SEC("iter/task")
int totals_thread(struct bpf_iter__task *ctx) {
    return visit_all(ctx, THREAD);
}

SEC("iter/task")
int totals_cpu(struct bpf_iter__task *ctx) {
    return visit_all(ctx, CPU);
}

SEC("iter/task")
int totals_plain(struct bpf_iter__task *ctx) {
    return visit_all(ctx, PLAIN);
}
