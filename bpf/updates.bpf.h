/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Sends updates on the `cpu` scheme through a buffer for each CPU, in an array that userspace maps. A ring buffer's
 * lock and header would take a third of the time of an update. A lock is not needed: only one program writes, and on a CPU it
 * never runs twice at the same time. Before 7.0 this is so because rss_stat fires only in tasks, and tracepoints run programs
 * with preemption disabled. From 7.0 on a program may be preempted, but the kernel skips a second run of it on that CPU. It
 * counts the skip in recursion_misses, which rsslag reports as a loss.
 *
 * A CPU's buffer is circular: rsslag_cpu.updates is the number of records written, rsslag_cpu.taken the number that
 * userspace has copied. When a CPU goes offline, its buffer keeps its content.
 *
 * If there are more CPUs than rings, the buffers would take too much memory. Updates then go through the rings. */
#ifndef RSSLAG_UPDATES_BPF_H
#define RSSLAG_UPDATES_BPF_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* possible CPUs times updates of each */
    __type(key, u32);
    __type(value, struct rsslag_update);
} updates SEC(".maps");

/* Returns the place of this CPU's next update. Returns NULL and counts a loss if the buffer is full. */
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

/* Publishes the record, which must be visible before the counter. x86 keeps stores in order. Other architectures
 * need an ordered atomic: see sequence_plus(). */
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
