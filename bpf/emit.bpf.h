/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Sends records. A record for which there is no space counts as lost on its CPU, by cause. */
#ifndef RSSLAG_EMIT_BPF_H
#define RSSLAG_EMIT_BPF_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* possible CPUs */
    __type(key, u32);
    __type(value, struct rsslag_cpu);
} cpus SEC(".maps");

/* Losses on a CPU that `cpus` does not contain. 0 unless something is wrong. Atomic. */
rsslag_u64 lost_without_cpu;

struct ring {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1); /* rings */
    __type(key, u32);
    __array(values, struct ring);
} rings SEC(".maps");

static __always_inline struct rsslag_cpu *cpu_at(u32 number)
{
    struct rsslag_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);

    if (!cpu)
        __sync_fetch_and_add(&lost_without_cpu, 1);
    return cpu;
}

/* Counts a group, mm or task that cannot be followed because a map is full. */
static __always_inline void count_lost_map_full(void)
{
    struct rsslag_cpu *cpu = cpu_at(bpf_get_smp_processor_id());

    if (cpu)
        __sync_fetch_and_add(&cpu->lost_map_full, 1);
}

static __always_inline void *reserve_on(struct rsslag_cpu *cpu, u64 size)
{
    u32 index = cpu->ring;
    void *ring = bpf_map_lookup_elem(&rings, &index);
    void *record = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

    if (!record)
        __sync_fetch_and_add(&cpu->lost_ring, 1);
    return record;
}

/* Reserves `size` bytes in this CPU's ring. Returns NULL and counts a loss if it is full. Only for the program of
 * updates, which never runs twice at the same time on a CPU. */
static __always_inline void *reserve_update(struct rsslag_cpu *cpu, u64 size)
{
    void *record = reserve_on(cpu, size);

    if (record)
        cpu->updates++;
    return record;
}

/* The same for all other programs. The count is atomic, because from 7.0 on they may be preempted. */
static __always_inline void *reserve(u32 number, u64 size)
{
    struct rsslag_cpu *cpu = cpu_at(number);
    void *record = cpu ? reserve_on(cpu, size) : NULL;

    if (record)
        __sync_fetch_and_add(&cpu->others, 1);
    return record;
}

/* Discards a record that reserve() returned. */
static __always_inline void discard(u32 number, void *record)
{
    struct rsslag_cpu *cpu = cpu_at(number);

    bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
    if (cpu)
        __sync_fetch_and_add(&cpu->others, -1);
}

/* Sends a record without a wakeup: userspace reads the rings at intervals. */
#define send(record) bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP)

#endif
