/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* `thread` scheme, and `plain`: tp_btf/rss_stat (mm, member, count) fires where the mm's own counter changes, which is at
 * flushes and direct updates (5.5 to 6.1). What a task caches is told at its faults. Must load on 5.10, which lacks
 * bpf_get_current_task_btf, bpf_task_pt_regs and direct loads of much. */
#ifndef RSSLAG_STREAM_THREAD_BPF_H
#define RSSLAG_STREAM_THREAD_BPF_H

static __always_inline s32 cached_of(struct task_struct *task, u32 member)
{
    struct task_struct___thread *thread = (void *)task;

    if (!bpf_core_field_exists(thread->rss_stat))
        return 0;
    switch (member & 3) {
    case 0:
        return BPF_CORE_READ(thread, rss_stat.count[0]);
    case 1:
        return BPF_CORE_READ(thread, rss_stat.count[1]);
    case 2:
        return BPF_CORE_READ(thread, rss_stat.count[2]);
    default:
        return BPF_CORE_READ(thread, rss_stat.count[3]);
    }
}

static __always_inline s32 events_of(struct task_struct *task)
{
    struct task_struct___thread *thread = (void *)task;

    return bpf_core_field_exists(thread->rss_stat) ? BPF_CORE_READ(thread, rss_stat.events) : 0;
}

/* The fault in which this update falls: from its entry to the first update that is not the flush at its start. */
static __always_inline u16 fault_of_thread(u32 tid, bool at_threshold, u64 *address)
{
    struct rsslag_fault_slot *slot = fault_slot(tid, false);
    u16 kind;

    if (!slot || !slot->kind)
        return 0;
    kind = slot->kind;
    *address = slot->address;
    if (!at_threshold)
        slot->kind = 0;
    return kind;
}

SEC("tp_btf/rss_stat")
int BPF_PROG(rss_stat_thread, struct mm_struct *mm, int member, long count)
{
    u64 key = number_of(mm);
    enum mm_state state = mm_state(key);
    u64 id = bpf_get_current_pid_tgid();
    bool by_wanted = group_wanted(id >> 32);
    struct rsslag_update *record;
    struct task_struct *task;
    struct cpu_facts *facts;
    u32 task_flags;
    u16 flags = 0;
    int users;
    u32 cpu;

    if (state == UNWANTED && !by_wanted)
        return 0;
    users = BPF_CORE_READ(mm, mm_users.counter);
    if (!still_wanted(key, state, users, by_wanted))
        return 0;
    if (users == 0)
        flags |= RSSLAG_TEARDOWN;
    cpu = bpf_get_smp_processor_id();
    facts = bpf_map_lookup_elem(&cpus, &cpu);
    if (!facts)
        return 0;
    task = (struct task_struct *)bpf_get_current_task();
    if (!by_wanted) {
        flags |= RSSLAG_BY_OTHER;
        tell_of(task, (u32)id);
    }
    record = reserve(facts, sizeof(*record));
    if (!record)
        return 0;
    record->t_ns = bpf_ktime_get_ns();
    record->count = count;
    record->cached = 0;
    record->kind = RSSLAG_UPDATE;
    record->tid = (u32)id;
    record->mm = key;
    record->cpu = cpu;
    record->member = member & 3;
    record->pad = 0;
    record->address = 0;
    task_flags = BPF_CORE_READ(task, flags);
    if ((u64)BPF_CORE_READ(task, mm) == key)
        flags |= RSSLAG_OWN;
    else if (by_wanted && users == 1 && !(task_flags & PF_MEMALLOC))
        flags |= RSSLAG_NEWBORN;
    /* exit_mm() and exec_mmap() flush before they leave the mm, do_exit() once more after. */
    record->cached = cached_of(task, member);
    if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
        flags |= RSSLAG_EXECVE;
    if (events_of(task) == EVENTS_AT_THRESHOLD)
        flags |= RSSLAG_THRESHOLD;
    if (task_flags & PF_EXITING)
        flags |= RSSLAG_EXITING;
    else if (!(task_flags & PF_MEMALLOC)) /* reclaim within a fault is not the fault's */
        flags |= fault_of_thread((u32)id, flags & RSSLAG_THRESHOLD, &record->address);
    record->flags = flags;
    send(record);
    return 0;
}

static __always_inline void tell_fault(struct task_struct *task, u64 mm, u32 tid, u64 address, u16 flags)
{
    struct task_struct___thread *thread = (void *)task;
    u32 cpu = bpf_get_smp_processor_id();
    struct cpu_facts *facts = bpf_map_lookup_elem(&cpus, &cpu);
    struct rsslag_fault *record;

    if (!facts || !bpf_core_field_exists(thread->rss_stat))
        return;
    record = reserve(facts, sizeof(*record));
    if (!record)
        return;
    record->t_ns = bpf_ktime_get_ns();
    record->kind = RSSLAG_FAULT;
    record->flags = flags;
    record->tid = tid;
    record->mm = mm;
    record->address = address;
    record->cached[0] = BPF_CORE_READ(thread, rss_stat.count[0]);
    record->cached[1] = BPF_CORE_READ(thread, rss_stat.count[1]);
    record->cached[2] = BPF_CORE_READ(thread, rss_stat.count[2]);
    record->cached[3] = BPF_CORE_READ(thread, rss_stat.count[3]);
    record->events = BPF_CORE_READ(thread, rss_stat.events);
    record->cpu = cpu;
    record->pad = 0;
    send(record);
}

static __always_inline int enter_fault(u64 address, u32 kind)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    u64 mm = (u64)BPF_CORE_READ(task, mm);
    u64 id = bpf_get_current_pid_tgid();
    bool mm_wanted = mm_state(mm) == WANTED;

    if (!mm_wanted && !group_wanted(id >> 32))
        return 0;
    begin_fault((u32)id, address, 0, kind);
    if (!fault_told_at_exit && !counting && mm_wanted)
        tell_fault(task, mm, (u32)id, address, kind);
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(page_fault_user_thread, unsigned long address)
{
    return enter_fault(address, RSSLAG_OF_USER_FAULT);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel_thread, unsigned long address)
{
    return enter_fault(address, RSSLAG_OF_KERNEL_FAULT);
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fault_done, struct vm_area_struct *vma, unsigned long address)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    u64 mm = (u64)BPF_CORE_READ(task, mm);

    if (mm_state(mm) == WANTED)
        tell_fault(task, mm, (u32)bpf_get_current_pid_tgid(), address, RSSLAG_AFTER_FAULT);
    return 0;
}

#endif
