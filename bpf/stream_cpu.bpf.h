/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* `cpu` scheme: tp_btf/rss_stat (mm, member) fires after each update (6.2+, f1a7941243c1). These kernels have
 * trusted pointers, so the programs load fields directly: one probe read costs as much as the rest of the program. */
#ifndef RSSLAG_STREAM_CPU_BPF_H
#define RSSLAG_STREAM_CPU_BPF_H

/* Returns the address as a pointer from which programs may load; the kernel handles faults (6.2, a35b9af4ec2c). Cheaper
 * than a probe read. Not declared as extern: to find such a function, libbpf would read all types of the kernel and, where it
 * is missing, search the modules, which requires CAP_SYS_ADMIN. */
static void *(*const rdonly_cast)(const void *address, u32 type) = (void *)RSSLAG_RDONLY_CAST;

/* The BTF ids of struct refcount_struct, pt_regs and task_struct in the running kernel. CO-RE cannot provide them, because
 * userspace passes libbpf a file with only some of the kernel's types, which have other ids there. */
const volatile rsslag_u32 refcount_type, registers_type, task_type;

static __always_inline s32 load_s32(u64 address)
{
    struct refcount_struct *number = rdonly_cast((void *)address, refcount_type);

    return number->refs.counter;
}

/* If a pointer is loaded from a trusted pointer, the verifier searches all types of the kernel to decide whether the result is
 * trusted too (kernel/bpf/btf.c btf_nested_type_is_trusted). This takes milliseconds for each such load. The cast avoids the
 * search. */
static __always_inline u64 mm_of(struct task_struct *task)
{
    return key_of(((struct task_struct *)rdonly_cast(task, task_type))->mm);
}

struct counter {
    s64 count;
    u64 locals; /* __percpu address of the s32s */
};

/* Has no variable index, since the verifier refuses one into a trusted pointer. */
static __always_inline struct counter counter_of(struct mm_struct *mm, u32 member)
{
    struct mm_struct___cpu *counters = (void *)mm;
    struct counter counter = {};

    switch (exact_rss_index(member))
        EXACT_RSS_EACH(m, case m:
            counter.count = counters->rss_stat[m].count;
            counter.locals = (u64)counters->rss_stat[m].counters;
            break);
    return counter;
}

/* Whether this code runs within the fault. If so, its frame is below the fault's pt_regs on the kernel stack. These registers
 * stay unchanged until the fault ends, and may stay there afterwards. Then the position on the stack, or the count of faults
 * in fault_of(), shows that the fault has ended. */
static __always_inline bool within_frame(const void *ctx, const struct rsslag_fault_slot *slot)
{
    u64 frame = FAULT_FRAME(slot);
    struct pt_regs *regs = rdonly_cast((void *)frame, registers_type);

    return address_of(key_of(ctx)) < frame && regs->REGS_IP == slot->ip && regs->sp == slot->sp;
}

/* The fault that caused an update of the task's own mm; 0 unless it is certain. */
static __always_inline u16 fault_of(const void *ctx, struct task_struct *task, u32 tid, u64 *address)
{
    struct rsslag_fault_slot *slot = fault_slot(tid);
    u16 kind;

    if (!slot || !slot->frame || slot->done != task->min_flt + task->maj_flt)
        return 0;
    kind = FAULT_KIND(slot);
    if (kind == RSSLAG_OF_USER_FAULT && bpf_core_field_exists(task->in_user_fault)) {
        if (!BPF_CORE_READ_BITFIELD(task, in_user_fault))
            return 0;
    } else if (task->flags & PF_SIGNALED || !within_frame(ctx, slot)) {
        return 0;
    }
    *address = slot->address;
    return kind;
}

#include "sum.bpf.h"
#include "updates.bpf.h"

/* Adds the update to the CPU's current sum, or sends that sum and starts a new one. If the update cannot be part of a
 * sum, sends the current one and returns false. Only updates of a traced mm are summed up, because the programs detect the end
 * of such an mm, and then end its sums. */
static __always_inline bool summed_up(struct mm_struct *mm, u64 key, struct task_struct *task, u32 member, bool traced,
                                      bool by_traced)
{
    u32 cpu = bpf_get_smp_processor_id();
    struct rsslag_run *run = bpf_map_lookup_elem(&runs, &cpu);
    u32 tid = task->pid;
    struct counter counter;
    s32 cached;
    bool own;

    if (!run)
        return false;
    own = mm_of(task) == key;
    counter = counter_of(mm, member);
    cached = counter.locals ? load_s32(counter.locals + run->offset) : 0;
    if (!cached || !traced || mm->mm_users.counter == 0 || task->flags & PF_EXITING || (by_traced && !own)) {
        end_run(run, cpu);
        return false;
    }
    if (run->mm == address_of(key) && run->tid == tid) {
        add_to_run(run, member, cached);
        return true;
    }
    end_run(run, cpu);
    if (!by_traced)
        emit_seen(task, tid);
    begin_run(run, address_of(key), tid, (own ? RSSLAG_OWN : 0) | (by_traced ? 0 : RSSLAG_BY_OTHER), member, cached);
    return true;
}

SEC("tp_btf/rss_stat")
int BPF_PROG(rss_stat_cpu, struct mm_struct *mm, int member)
{
    struct task_struct *task = bpf_get_current_task_btf();
    u64 key = key_of(mm);
    struct rsslag_update *record;
    struct counter counter;
    struct rsslag_cpu *cpu;
    u32 task_flags;
    enum mm_state state;
    u16 flags = 0;
    bool by_traced;
    u32 number;
    int users;
    u32 tid;

    if (!may_be_traced(key, task->tgid))
        return 0;
    state = mm_state(key);
    by_traced = group_traced(task->tgid);
    if (state == NOT_TRACED && !by_traced)
        return 0;
    number = bpf_get_smp_processor_id();
    users = mm->mm_users.counter;
    if (!still_traced(key, state, users, by_traced))
        return 0;
    if (counting && users == 0 && state == TRACED)
        end_runs_of(address_of(key), number);
    if (counting && summed_up(mm, key, task, member, state == TRACED, by_traced))
        return 0;
    cpu = cpu_at(number);
    if (!cpu)
        return 0;
    tid = task->pid;
    if (users == 0)
        flags |= RSSLAG_TEARDOWN;
    if (!by_traced) {
        flags |= RSSLAG_BY_OTHER;
        emit_seen(task, tid);
    }
    record = next_update(cpu, number);
    if (!record)
        return 0;
    record->t_ns = bpf_ktime_get_ns();
    counter = counter_of(mm, member);
    record->count = counter.count;
    record->cached = 0;
    if (counter.locals)
        record->cached = load_s32(counter.locals + cpu->offset);
    /* Only the count gives the amount then, so the ledger must know how long after t_ns it was read. */
    if (!record->cached && bpf_ktime_get_ns() - record->t_ns < RSSLAG_PROMPT_NS)
        flags |= RSSLAG_PROMPT;
    record->kind = RSSLAG_UPDATE;
    record->tid = tid;
    record->mm = address_of(key);
    record->cpu = number;
    record->member = exact_rss_index(member);
    record->pad = 0;
    record->address = 0;
    task_flags = task->flags;
    if (task_flags & PF_EXITING)
        flags |= RSSLAG_EXITING;
    if (mm_of(task) == key) {
        flags |= RSSLAG_OWN;
        /* An update by reclaim within a fault is not caused by the fault. */
        if (!(task_flags & (PF_EXITING | PF_MEMALLOC)) && users != 0)
            flags |= fault_of(ctx, task, tid, &record->address);
    } else if (by_traced && users == 1 && !(task_flags & PF_MEMALLOC) && may_be_newborn(mm)) {
        flags |= RSSLAG_NEWBORN;
    }
    record->flags = flags;
    if (sample_period) {
        struct last_update *last = last_update_of(address_of(key));

        if (last)
            sample(ctx, task, record, last->mixed_mm, estimated_amount(last, member, record->count, record->cached));
    }
    send_update(cpu, record);
    return 0;
}

static __always_inline bool faulting_task_traced(struct task_struct *task)
{
    u64 mm = mm_of(task);
    u32 tgid = task->tgid;

    return may_be_traced(mm, tgid) && (group_traced(tgid) || mm_state(mm) == TRACED);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(page_fault_user_cpu, unsigned long address, struct pt_regs *regs)
{
    struct task_struct *task = bpf_get_current_task_btf();

    if (faulting_task_traced(task))
        begin_fault(task->pid, address, task->min_flt + task->maj_flt, address_of(key_of(regs)), regs->REGS_IP,
                    regs->sp, RSSLAG_OF_USER_FAULT);
    return 0;
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel_cpu, unsigned long address, struct pt_regs *regs)
{
    struct task_struct *task = bpf_get_current_task_btf();

    if (!faulting_task_traced(task))
        return 0;
    if (task->pagefault_disabled)
        count_failing_fault(task->pid);
    else
        begin_fault(task->pid, address, task->min_flt + task->maj_flt, address_of(key_of(regs)), regs->REGS_IP,
                    regs->sp, RSSLAG_OF_KERNEL_FAULT);
    return 0;
}

#endif
