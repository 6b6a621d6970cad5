/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Sends updates on the `cpu` scheme: a buffer for each CPU, an array that userspace maps. A ring buffer's lock and its
 * header cost a third of an update; here a place needs neither, as one program alone writes, one run at a time on a CPU:
 * rss_stat fires in tasks only, and tracepoints run programs with preemption off. From 7.0 they may be preempted, but then
 * the kernel skips a second run of the same program on that CPU and counts it (recursion_misses), which is counted as lost.
 *
 * A CPU's records are one after another, round and round; rsslag_cpu.updates says how many there have been. Userspace says
 * with rsslag_cpu.taken how many of them it has copied out. A CPU that goes offline leaves its buffer as it is.
 *
 * Where there are more CPUs than rings, so many buffers would take too much memory: updates go through the rings. */
#ifndef RSSLAG_UPDATES_BPF_H
#define RSSLAG_UPDATES_BPF_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* possible CPUs times updates of each */
    __type(key, u32);
    __type(value, struct rsslag_update);
} updates SEC(".maps");

/* Where the next update of this CPU is to be written, NULL (counted) where there is no room. */
static __always_inline struct rsslag_update *next_update(struct rsslag_cpu *cpu, u32 number)
{
    struct rsslag_update *record = NULL;
    u32 index = number * update_places + cpu->next;

    if (!update_places)
        return reserve_update(cpu, sizeof(*record));
    if (cpu->updates - *(volatile rsslag_u64 *)&cpu->taken < update_places)
        record = bpf_map_lookup_elem(&updates, &index);
    if (!record)
        __sync_fetch_and_add(&cpu->lost_ring, 1);
    return record;
}

/* The record first, then that it is there: x86 keeps stores in order, where others need an atomic that does, as in
 * sequence_plus(). */
static __always_inline void send_update(struct rsslag_cpu *cpu, struct rsslag_update *record)
{
    if (!update_places) {
        send(record);
        return;
    }
    cpu->next = cpu->next + 1 < update_places ? cpu->next + 1 : 0;
#ifdef __TARGET_ARCH_x86
    asm volatile("" ::: "memory");
    *(volatile rsslag_u64 *)&cpu->updates = cpu->updates + 1;
#else
    u64 before = __sync_fetch_and_add(&cpu->updates, 1);

    asm volatile("" : : "r"(before));
#endif
}

#endif
