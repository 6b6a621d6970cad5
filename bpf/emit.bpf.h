/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Sends records. Nothing is dropped quietly: what finds no room is counted on its CPU under its cause. */
#ifndef RSSLAG_EMIT_BPF_H
#define RSSLAG_EMIT_BPF_H

/* What a CPU needs to know of itself, told by userspace. */
struct cpu_facts {
    u64 offset; /* per-CPU offset, `cpu` scheme only */
    u32 ring;   /* which ring its records go to */
    u32 pad;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* possible CPUs */
    __type(key, u32);
    __type(value, struct cpu_facts);
} cpus SEC(".maps");

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

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct rsslag_tally);
} tallies SEC(".maps");

static __always_inline struct rsslag_tally *tally(void)
{
    u32 zero = 0;

    return bpf_map_lookup_elem(&tallies, &zero);
}

static __always_inline void count_lost_filter(void)
{
    struct rsslag_tally *counts = tally();

    if (counts)
        counts->lost_filter++;
}

/* Room for a record of `size` bytes on this CPU's ring, NULL (counted) where there is none. */
static __always_inline void *reserve(const struct cpu_facts *cpu, u64 size)
{
    struct rsslag_tally *counts = tally();
    u32 index = cpu->ring;
    void *ring = bpf_map_lookup_elem(&rings, &index);
    void *record = NULL;

    if (!counts)
        return NULL;
    counts->emitted++;
    if (ring)
        record = bpf_ringbuf_reserve(ring, size, 0);
    if (!record)
        counts->lost_ring++;
    return record;
}

/* Nobody is woken: userspace drains in time. */
#define send(record) bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP)

#endif
