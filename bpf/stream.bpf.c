// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The stream: a record for each update of a traced mm's counters, and the records that attribute it to a task and a
 * cause. Userspace loads the programs for the kernel's scheme and hooks. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "owner.bpf.h"
#include "pids.bpf.h"
#include "regs.bpf.h"
#include "rsslag/abi.h"
#include "rsslag/exact_rss.bpf.h"
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "faults.bpf.h"

/* rsslag's PID namespace. */
struct rsslag_view reader;

#include "pattern.bpf.h"
#include "ends.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

_Static_assert(RSSLAG_MEMBERS == EXACT_RSS_MEMBERS, "members");

#define PF_EXITING 0x4
#define PF_SIGNALED 0x400
#define PF_MEMALLOC 0x800
#define CLONE_VM 0x100
#define CLONE_THREAD 0x10000

/* The value of task->rss_stat.events at a threshold flush. check_sync_rss_stat() (mm/memory.c, up to 6.1) flushes if events++
 * > TASK_RSS_EVENTS_THRESH (64), i.e. at the start of the 66th fault. It zeroes the value after the flush's tracepoints. */
#define EVENTS_AT_THRESHOLD 66

/* Whether fexit/handle_mm_fault reports what a task caches. Otherwise the start of the task's next fault reports it. */
const volatile bool fault_emitted_at_exit;
/* --mode counts: the `cpu` scheme sends sums, the `thread` scheme no fault records. */
const volatile bool counting;
const volatile rsslag_u32 possible_cpus;
/* Size of each CPU's buffer of updates, in records; 0: no buffers. */
const volatile rsslag_u32 update_places;
/* Untraced tasks that have an RSSLAG_SEEN record: from tid to start_time. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, u32);
    __type(value, u64);
} seen SEC(".maps");

/* Records of tasks. */

static __always_inline void fill_task(struct rsslag_task *record, struct task_struct *task, u32 cpu)
{
    record->flags = 0;
    record->t_ns = bpf_ktime_get_ns();
    record->tid = BPF_CORE_READ(task, pid);
    record->mm = (u64)BPF_CORE_READ(task, mm);
    record->tgid = BPF_CORE_READ(task, tgid);
    record->ns_tid = number_in(task, &reader);
    record->ns_tgid = number_in(BPF_CORE_READ(task, group_leader), &reader);
    record->parent = 0;
    record->old_tid = 0;
    record->cpu = cpu;
    record->pad = 0;
    record->user_faults = 0;
    record->kernel_faults = 0;
    bpf_probe_read_kernel(record->comm, sizeof(record->comm), &task->comm);
}

static __always_inline struct rsslag_task *reserve_task(struct task_struct *task, u16 kind)
{
    u32 cpu = bpf_get_smp_processor_id();
    struct rsslag_task *record = reserve(cpu, sizeof(*record));

    if (!record)
        return NULL;
    fill_task(record, task, cpu);
    record->kind = kind;
    return record;
}

#include "at_exec.bpf.h"

/* Sends a record of an untraced task that updates a traced mm, once for each task. */
static __always_inline void emit_seen(struct task_struct *task, u32 tid)
{
    u64 start = BPF_CORE_READ(task, start_time);
    u64 *emitted = bpf_map_lookup_elem(&seen, &tid);
    struct rsslag_task *record;

    if (emitted && *emitted == start)
        return;
    record = reserve_task(task, RSSLAG_SEEN);
    if (!record)
        return;
    send(record);
    bpf_map_update_elem(&seen, &tid, &start, BPF_ANY);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *task, u64 clone_flags)
{
    u64 id = bpf_get_current_pid_tgid();
    u64 mm = (u64)BPF_CORE_READ(task, mm);
    u32 tgid = BPF_CORE_READ(task, tgid);
    bool by_traced = group_traced(id >> 32);
    bool new_group = !(clone_flags & CLONE_THREAD);
    bool traced = by_traced && (!new_group || filter.follow || pattern_matches(task));
    struct rsslag_task *record;

    if (new_group && !traced && group_traced(tgid))
        untrace_group(tgid); /* it is that of an ended group with the same number */
    if (!by_traced && !(mm && mm_state(key_at(mm)) == TRACED))
        return 0;
    if (traced && new_group && (!trace_group(tgid) || (mm && !trace_mm(key_at(mm)))))
        count_lost_map_full();
    begin_task(BPF_CORE_READ(task, pid));
    record = reserve_task(task, RSSLAG_NEWTASK);
    if (!record)
        return 0;
    record->parent = (u32)id;
    if (clone_flags & CLONE_VM)
        record->flags |= RSSLAG_SHARES_MM;
    if (!new_group) {
        record->flags |= RSSLAG_SAME_GROUP;
        record->stack_pointer = user_stack_pointer(task);
    }
    if (traced)
        record->flags |= RSSLAG_TRACED;
    send(record);
    return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *comm)
{
    struct rsslag_task *record;

    if (!group_traced(BPF_CORE_READ(task, tgid)))
        return 0;
    record = reserve_task(task, RSSLAG_RENAME);
    if (!record)
        return 0;
    bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), comm);
    if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
        record->flags |= RSSLAG_IN_EXECVE;
    send(record);
    return 0;
}

static __always_inline int emit_exec(struct task_struct *task, int old_pid, bool by_cpu)
{
    u32 tgid = BPF_CORE_READ(task, tgid);
    u64 user_faults = 0, kernel_faults = 0;
    struct rsslag_task *record;
    bool matched = false;
    struct mm_struct *mm;

    if (!group_traced(tgid)) {
        if (!pattern_matches(task))
            return 0;
        matched = true;
        if (!trace_group(tgid))
            count_lost_map_full();
    }
    mm = BPF_CORE_READ(task, mm);
    if (mm && !trace_mm(key_at((u64)mm)))
        count_lost_map_full();
    if (mm && matched)
        send_at_exec(task, mm, by_cpu);
    if (old_pid != BPF_CORE_READ(task, pid)) /* the leader's EXIT has been sent, and this task has its number */
        end_task(old_pid, &user_faults, &kernel_faults);
    else
        read_faults(old_pid, &user_faults, &kernel_faults);
    begin_task(BPF_CORE_READ(task, pid));
    record = reserve_task(task, RSSLAG_EXEC);
    if (!record)
        return 0;
    record->old_tid = old_pid;
    record->flags = RSSLAG_TRACED;
    record->user_faults = user_faults;
    record->kernel_faults = kernel_faults;
    send(record);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(task_exec_cpu, struct task_struct *task, int old_pid)
{
    return emit_exec(task, old_pid, true);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(task_exec_thread, struct task_struct *task, int old_pid)
{
    return emit_exec(task, old_pid, false);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_exit, struct task_struct *task)
{
    u32 tid = BPF_CORE_READ(task, pid);
    u64 user_faults = 0, kernel_faults = 0;
    struct rsslag_task *record;
    bool group_dead;
    u64 mm;

    if (!group_traced(BPF_CORE_READ(task, tgid))) {
        mm = (u64)BPF_CORE_READ(task, mm);
        if (!mm || mm_state(key_at(mm)) == NOT_TRACED)
            return 0;
    }
    end_task(tid, &user_faults, &kernel_faults);
    group_dead = BPF_CORE_READ(task, signal, live.counter) == 0;
    if (group_dead) {
        group_ends(BPF_CORE_READ(task, tgid));
        note_end(task, BPF_CORE_READ(task, tgid));
    }
    record = reserve_task(task, RSSLAG_EXIT);
    if (!record)
        return 0;
    record->flags = group_dead ? RSSLAG_GROUP_DEAD : 0;
    record->user_faults = user_faults;
    record->kernel_faults = kernel_faults;
    send(record);
    return 0;
}

/* The kernel frees the leader of a group after all other tasks of the group have exited. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(task_free, struct task_struct *task)
{
    u32 tgid = BPF_CORE_READ(task, tgid);

    if ((u32)BPF_CORE_READ(task, pid) == tgid && group_traced(tgid))
        leader_is_freed(tgid);
    return 0;
}

#include "samples.bpf.h"
#include "stream_cpu.bpf.h"
#include "stream_thread.bpf.h"

/* Run by userspace: traces this group and, if it is not 0, this mm from now on. Returns 1 if a map is full. */
SEC("raw_tp")
int trace(u64 *ctx)
{
    u32 tgid = ctx[0];
    u64 mm = ctx[1];

    return (mm && !trace_mm(key_at(mm))) || !trace_group(tgid);
}

/* Run by userspace: reverts `trace` for a group that had ended before. Another group may have the TGID by now. Another
 * mm may have the address: its next update removes the entry. */
SEC("raw_tp")
int untrace(u64 *ctx)
{
    u32 tgid = ctx[0];
    u64 mm = ctx[1];

    if (mm && mm_state(key_at(mm)) == TRACED)
        mm_ends(key_at(mm));
    untrace_group(tgid);
    return 0;
}

/* Run by userspace, which has all records of the mm: removes it if its teardown started before this time in
 * 2^MM_ENDS_SHIFT ns. A later mm at the address stays, also if it is being torn down. */
SEC("raw_tp")
int forget_mm(u64 *ctx)
{
    u32 before = ctx[0];
    u64 mm = key_at(ctx[1]);
    u64 ends = mm | MM_ENDS;
    u32 *since = bpf_map_lookup_elem(&mms, &ends);

    if (since && (s32)(*since - before) < 0)
        untrace_mm(mm);
    return 0;
}

/* The number of CPUs that went offline. The kernel has added what they had cached to the counters, without a record
 * (lib/percpu_counter.c percpu_counter_cpu_dead). `cpu` scheme only. */
rsslag_u64 folded_cpus;

SEC("tp_btf/cpuhp_exit")
int BPF_PROG(cpu_folded, unsigned int cpu, int state, int step)
{
    if (step == bpf_core_enum_value(enum cpuhp_state, CPUHP_PERCPU_CNT_DEAD))
        __sync_fetch_and_add(&folded_cpus, 1);
    return 0;
}



static long learn_cpu(u32 cpu, u64 *base)
{
    struct rsslag_cpu *facts = bpf_map_lookup_elem(&cpus, &cpu);
    struct rsslag_run *run = bpf_map_lookup_elem(&runs, &cpu);
    u64 offset;

    if (facts && run && exact_rss_percpu_offset(cpu, *base, &offset)) {
        facts->offset = offset;
        run->offset = offset;
        facts->known = 1;
    }
    return 0;
}

/* Returns whether this was the first call. */
static __always_inline bool learn_own(void)
{
    if (reader.ns)
        return false;
    own_view(&reader);
    pattern.own_tgid = bpf_get_current_pid_tgid() >> 32;
    filter.self = exact_rss_number(&filter);
    return true;
}

/* Userspace runs one of these once before the trace. Both store rsslag's PID namespace and TGID, and the address of
 * `filter`; learn_offsets also the per-CPU offsets. */
SEC("iter/task")
int learn_view(struct bpf_iter__task *ctx)
{
    learn_own();
    return 0;
}

SEC("iter/task")
int learn_offsets(struct bpf_iter__task *ctx)
{
    u64 base;

    if (!learn_own())
        return 0;
    base = exact_rss_percpu_base();
    bpf_loop(possible_cpus, learn_cpu, &base, 0);
    return 0;
}
