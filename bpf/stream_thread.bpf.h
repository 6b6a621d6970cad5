/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* `thread` scheme, and `plain`: tp_btf/rss_stat (mm, member, count) fires when the mm's own counter changes, i.e. at
 * flushes and direct updates (5.5 to 6.1). Fault records contain what a task caches. The programs must load on 5.10,
 * which lacks bpf_get_current_task_btf, bpf_task_pt_regs and most direct loads. */
#ifndef RSSLAG_STREAM_THREAD_BPF_H
#define RSSLAG_STREAM_THREAD_BPF_H

/* include/linux/mm_types.h enum fault_flag */
#define FAULT_FLAG_USER 0x40

static __always_inline s32 cached_of(struct task_struct *task, u32 member)
{
    struct task_struct___thread *thread = (void *)task;

    if (!bpf_core_field_exists(thread->rss_stat))
        return 0;
    switch (exact_rss_index(member))
        EXACT_RSS_EACH(m, case m: return BPF_CORE_READ(thread, rss_stat.count[m]));
    return 0;
}

static __always_inline s32 events_of(struct task_struct *task)
{
    struct task_struct___thread *thread = (void *)task;

    return bpf_core_field_exists(thread->rss_stat) ? BPF_CORE_READ(thread, rss_stat.events) : 0;
}


/* For samples: what the task cached at its last record. */
struct thread_cache {
    s32 count[EXACT_RSS_MEMBERS];
};
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread_cache);
} thread_caches SEC(".maps");

/* Samples an update, unless it is a flush: the faults that cached its pages have samples. Whether it is one is not always
 * certain. A sample of a flush has no effect, as userspace knows the amount. */
static __always_inline void sample_update(void *ctx, const struct rsslag_update *update)
{
    struct last_update *last = last_update_of(update->mm);
    struct task_struct *task = bpf_get_current_task_btf();
    struct thread_cache *cache;
    s32 amount;

    if (!last)
        return;
    amount = estimated_amount(last, update->member, update->count, 0);
    if (update->flags & RSSLAG_OWN && update->cached) {
        cache = bpf_task_storage_get(&thread_caches, task, NULL, 0);
        if (cache)
            cache->count[exact_rss_index(update->member)] = 0;
        if (update->flags & RSSLAG_THRESHOLD || amount == update->cached)
            return;
    }
    sample(ctx, task, update, last->mixed_mm, amount);
}

/* Samples what the fault has added to or removed from the cache of the current task. */
static __always_inline void sample_fault(const struct rsslag_fault *fault)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct rsslag_update update = {};
    struct thread_cache *cache = bpf_task_storage_get(&thread_caches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    u64 mm = mixed_mm(fault->mm);
    s32 amount;

    if (!cache)
        return;
    update.flags = fault->flags;
    update.cpu = fault->cpu;
    update.tid = fault->tid;
    update.t_ns = fault->t_ns;
    update.mm = fault->mm;
    if (fault->flags & (RSSLAG_OF_USER_FAULT | RSSLAG_OF_KERNEL_FAULT)) /* else get_user_pages: no page fault */
        update.address = fault->address;
    EXACT_RSS_EACH(m, {
        amount = fault->cached[m] - cache->count[m];
        cache->count[m] = fault->cached[m];
        update.member = m;
        if (amount)
            sample(NULL, task, &update, mm, amount);
    });
}

/* See within_frame() in stream_cpu.bpf.h. */
static __always_inline bool within_frame_thread(const void *ctx, const struct rsslag_fault_slot *slot)
{
    u64 frame = FAULT_FRAME(slot);
    struct pt_regs *regs = (struct pt_regs *)frame;

    return address_of(key_of(ctx)) < frame && BPF_CORE_READ(regs, REGS_IP) == slot->ip &&
           BPF_CORE_READ(regs, sp) == slot->sp;
}

/* The fault that caused an update of the task's own mm; 0 unless it is certain. The threshold flush at the start of
 * a fault comes before the kernel sets in_user_fault. */
static __always_inline u16 fault_of_thread(const void *ctx, struct task_struct *task, u32 tid, bool at_threshold,
                                           u64 *address)
{
    struct rsslag_fault_slot *slot = fault_slot(tid);
    u16 kind;

    if (!slot || !slot->frame || slot->done != faults_done(task))
        return 0;
    kind = FAULT_KIND(slot);
    if (kind == RSSLAG_OF_USER_FAULT && !at_threshold && bpf_core_field_exists(task->in_user_fault)) {
        if (!BPF_CORE_READ_BITFIELD_PROBED(task, in_user_fault))
            return 0;
    } else if (BPF_CORE_READ(task, flags) & PF_SIGNALED || !within_frame_thread(ctx, slot)) {
        return 0;
    }
    *address = slot->address;
    return kind;
}

SEC("tp_btf/rss_stat")
int BPF_PROG(rss_stat_thread, struct mm_struct *mm, int member, long count)
{
    u64 id = bpf_get_current_pid_tgid();
    u64 key = key_of(mm);
    struct rsslag_update *record;
    struct task_struct *task;
    struct rsslag_cpu *cpu;
    enum mm_state state;
    u32 task_flags;
    u16 flags = 0;
    bool by_traced;
    u32 number;
    int users;

    if (!may_be_traced(key, id >> 32))
        return 0;
    state = mm_state(key);
    by_traced = group_traced(id >> 32);
    if (state == NOT_TRACED && !by_traced)
        return 0;
    users = BPF_CORE_READ(mm, mm_users.counter);
    if (!still_traced(key, state, users, by_traced))
        return 0;
    if (users == 0)
        flags |= RSSLAG_TEARDOWN;
    number = bpf_get_smp_processor_id();
    cpu = cpu_at(number);
    if (!cpu)
        return 0;
    task = (struct task_struct *)bpf_get_current_task();
    if (!by_traced) {
        flags |= RSSLAG_BY_OTHER;
        emit_seen(task, (u32)id);
    }
    record = reserve_update(cpu, sizeof(*record));
    if (!record)
        return 0;
    record->t_ns = bpf_ktime_get_ns();
    record->count = count;
    record->cached = 0;
    record->kind = RSSLAG_UPDATE;
    record->tid = (u32)id;
    record->mm = address_of(key);
    record->cpu = number;
    record->member = exact_rss_index(member);
    record->pad = 0;
    record->address = 0;
    task_flags = BPF_CORE_READ(task, flags);
    if (record->mm == (u64)BPF_CORE_READ(task, mm))
        flags |= RSSLAG_OWN;
    else if (by_traced && users == 1 && !(task_flags & PF_MEMALLOC) && may_be_newborn(mm))
        flags |= RSSLAG_NEWBORN;
    /* At exit and exec, exit_mm() and exec_mmap() flush before the task leaves the mm. do_exit() flushes again
     * later. */
    record->cached = cached_of(task, member);
    if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
        flags |= RSSLAG_EXECVE;
    if (events_of(task) == EVENTS_AT_THRESHOLD)
        flags |= RSSLAG_THRESHOLD;
    if (task_flags & PF_EXITING)
        flags |= RSSLAG_EXITING;
    else if (flags & RSSLAG_OWN && !(task_flags & PF_MEMALLOC)) /* a fault does not cause reclaim's updates */
        flags |= fault_of_thread(ctx, task, (u32)id, flags & RSSLAG_THRESHOLD, &record->address);
    record->flags = flags;
    if (sample_period)
        sample_update(ctx, record);
    send(record);
    return 0;
}

static __always_inline void emit_fault(struct task_struct *task, u64 mm, u32 tid, u64 address, u16 flags)
{
    struct task_struct___thread *thread = (void *)task;
    u32 cpu = bpf_get_smp_processor_id();
    struct rsslag_fault *record;

    if (!bpf_core_field_exists(thread->rss_stat))
        return;
    record = reserve(cpu, sizeof(*record));
    if (!record)
        return;
    record->t_ns = bpf_ktime_get_ns();
    record->kind = RSSLAG_FAULT;
    record->flags = flags;
    record->tid = tid;
    record->mm = mm;
    record->address = address;
    EXACT_RSS_EACH(m, record->cached[m] = BPF_CORE_READ(thread, rss_stat.count[m]));
    record->events = BPF_CORE_READ(thread, rss_stat.events);
    record->cpu = cpu;
    record->pad = 0;
    if (sample_period)
        sample_fault(record);
    send(record);
}

static __always_inline int enter_fault(u64 address, const struct pt_regs *regs, u32 kind)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    u64 mm = (u64)BPF_CORE_READ(task, mm);
    u64 id = bpf_get_current_pid_tgid();
    bool mm_traced = mm_state(key_at(mm)) == TRACED;

    if (!mm_traced && !group_traced(id >> 32))
        return 0;
    if (kind == RSSLAG_OF_KERNEL_FAULT && BPF_CORE_READ(task, pagefault_disabled)) {
        count_failing_fault((u32)id);
        return 0;
    }
    begin_fault((u32)id, address, faults_done(task), address_of(key_of(regs)), BPF_CORE_READ(regs, REGS_IP),
                BPF_CORE_READ(regs, sp), kind);
    if (!fault_emitted_at_exit && !counting && mm_traced)
        emit_fault(task, mm, (u32)id, address, kind);
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(page_fault_user_thread, unsigned long address, struct pt_regs *regs)
{
    return enter_fault(address, regs, RSSLAG_OF_USER_FAULT);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel_thread, unsigned long address, struct pt_regs *regs)
{
    return enter_fault(address, regs, RSSLAG_OF_KERNEL_FAULT);
}

/* `regs` is NULL for get_user_pages, which is no exception (mm/gup.c faultin_page). */
SEC("fexit/handle_mm_fault")
int BPF_PROG(fault_done, struct vm_area_struct *vma, unsigned long address, unsigned int how, struct pt_regs *regs)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    u64 mm = (u64)BPF_CORE_READ(task, mm);
    u16 flags = RSSLAG_AFTER_FAULT;

    if (mm_state(key_at(mm)) != TRACED)
        return 0;
    if (address_of(key_of(regs)))
        flags |= how & FAULT_FLAG_USER ? RSSLAG_OF_USER_FAULT : RSSLAG_OF_KERNEL_FAULT;
    emit_fault(task, mm, (u32)bpf_get_current_pid_tgid(), address, flags);
    return 0;
}

#endif
