/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Page faults of each task: their counts, and the fault that is in progress. */
#ifndef RSSLAG_FAULTS_BPF_H
#define RSSLAG_FAULTS_BPF_H

/* Number of fault slots, a power of two, minus 1. */
const volatile rsslag_u32 fault_mask;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct rsslag_fault_slot);
} fault_slots SEC(".maps");

/* For tasks whose slot belongs to another live task. Entries of ended tasks stay until the map is full. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, u32);
    __type(value, struct rsslag_fault_slot);
} fault_slots_overflow SEC(".maps");

/* Whether a task has ever been in that map, so that userspace need not look. */
rsslag_u32 fault_slots_overflowed;

/* The number of page faults that the task has finished. */
static __always_inline u64 faults_done(struct task_struct *task)
{
    return (u64)BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
}

/* The task's slot, or NULL. */
static __always_inline struct rsslag_fault_slot *fault_slot(u32 tid)
{
    u32 index = tid & fault_mask;
    struct rsslag_fault_slot *slot = bpf_map_lookup_elem(&fault_slots, &index);

    if (slot && slot->tid == (s32)tid)
        return slot;
    slot = bpf_map_lookup_elem(&fault_slots_overflow, &tid);
    return slot && slot->tid == (s32)tid ? slot : NULL;
}

/* The first claimer gets the slot; if two race, both may use the overflow map. */
static __always_inline bool claim(struct rsslag_fault_slot *slot)
{
    if (*(volatile rsslag_u32 *)&slot->claims)
        return false;
    __sync_fetch_and_add(&slot->claims, 1);
    if (*(volatile rsslag_u32 *)&slot->claims == 1)
        return true;
    __sync_fetch_and_add(&slot->claims, -1);
    return false;
}

/* Creates a slot with counts of 0 for a task that has no slot. Returns NULL and counts a loss if there is no space. */
static __always_inline struct rsslag_fault_slot *new_fault_slot(u32 tid)
{
    struct rsslag_fault_slot fresh = {.tid = tid};
    u32 index = tid & fault_mask;
    struct rsslag_fault_slot *slot = bpf_map_lookup_elem(&fault_slots, &index);

    if (slot && claim(slot)) {
        *(volatile rsslag_s32 *)&slot->tid = 0; /* userspace reads concurrently */
        slot->frame = 0;
        *(volatile rsslag_u64 *)&slot->user_faults = 0;
        *(volatile rsslag_u64 *)&slot->kernel_faults = 0;
        *(volatile rsslag_s32 *)&slot->tid = tid;
        return slot;
    }
    *(volatile rsslag_u32 *)&fault_slots_overflowed = 1;
    bpf_map_update_elem(&fault_slots_overflow, &tid, &fresh, BPF_ANY);
    slot = bpf_map_lookup_elem(&fault_slots_overflow, &tid);
    if (!slot)
        count_lost_map_full();
    return slot;
}

/* Makes sure that a new task has a slot. The slot of an ended task with the same tid does not match, because its tid is
 * negative. */
static __always_inline void begin_task(u32 tid)
{
    if (!fault_slot(tid))
        new_fault_slot(tid);
}

/* Returns the task's slot and its counts. Without a slot returns NULL and leaves the counts as they are. */
static __always_inline struct rsslag_fault_slot *read_faults(u32 tid, u64 *user_faults, u64 *kernel_faults)
{
    struct rsslag_fault_slot *slot = fault_slot(tid);

    if (!slot)
        return NULL;
    *user_faults = slot->user_faults;
    *kernel_faults = slot->kernel_faults;
    return slot;
}

/* Returns the task's counts, for its EXIT or EXEC record, and releases the slot. Userspace can still read the counts. */
static __always_inline void end_task(u32 tid, u64 *user_faults, u64 *kernel_faults)
{
    struct rsslag_fault_slot *slot = read_faults(tid, user_faults, kernel_faults);

    if (!slot)
        return;
    slot->frame = 0;
    *(volatile rsslag_s32 *)&slot->tid = -(s32)tid;
    if (slot->claims)
        __sync_fetch_and_add(&slot->claims, -1);
}

static __always_inline void begin_fault(u32 tid, u64 address, u64 done, u64 frame, u64 ip, u64 sp, u32 kind)
{
    struct rsslag_fault_slot *slot = fault_slot(tid);

    if (!slot)
        slot = new_fault_slot(tid);
    if (!slot)
        return;
    slot->address = address;
    slot->done = done;
    slot->ip = ip;
    slot->sp = sp;
    slot->frame = frame | kind;
    if (kind == RSSLAG_OF_USER_FAULT)
        slot->user_faults++;
    else
        slot->kernel_faults++;
}

/* Counts a fault that the kernel does not handle, because page faults are disabled. No update belongs to it. */
static __always_inline void count_failing_fault(u32 tid)
{
    struct rsslag_fault_slot *slot = fault_slot(tid);

    if (!slot)
        slot = new_fault_slot(tid);
    if (slot)
        slot->kernel_faults++;
}

#define FAULT_KIND(slot) ((slot)->frame & (RSSLAG_OF_USER_FAULT | RSSLAG_OF_KERNEL_FAULT))
#define FAULT_FRAME(slot) ((slot)->frame & ~7ULL)

#endif
