/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --mode counts on the `cpu` scheme: each CPU sums up its updates, except folds and those at the start or end of an
 * mm or task. It sends its sum before any other record of a traced mm, so that its records stay in order. Userspace reads sums
 * that have not been sent yet (partial sums). */
#ifndef RSSLAG_SUM_BPF_H
#define RSSLAG_SUM_BPF_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* possible CPUs */
    __type(key, u32);
    __type(value, struct rsslag_run);
} runs SEC(".maps");

/* A reader on another CPU must see `sequence` change before and after everything in between. x86 keeps loads and
 * stores in order. Other architectures need an ordered atomic operation. Only an operation that returns a value is ordered
 * (Documentation/bpf/standardization: fetch is fully ordered, a plain add is not). If the value is unused, clang generates a
 * plain add. */
static __always_inline u32 sequence_plus(struct rsslag_run *run, u32 more)
{
#ifdef __TARGET_ARCH_x86
    u32 sequence;

    asm volatile("" ::: "memory");
    sequence = *(volatile u32 *)&run->sequence;
    if (more)
        *(volatile u32 *)&run->sequence = sequence + more;
    asm volatile("" ::: "memory");
    return sequence;
#else
    u32 before = __sync_fetch_and_add(&run->sequence, more);

    asm volatile("" : : "r"(before));
    return before;
#endif
}

static __always_inline void touch_sequence(struct rsslag_run *run)
{
    sequence_plus(run, 1);
}

/* Returns a record with the sum of CPU `of`, for this CPU to send. NULL if the ring is full. */
static __always_inline struct rsslag_sum *sum_record(const struct rsslag_run *run, u32 of, u32 cpu)
{
    struct rsslag_sum *record = reserve(cpu, sizeof(*record));

    if (!record)
        return NULL;
    record->kind = RSSLAG_SUM;
    record->flags = run->flags;
    record->tid = run->tid;
    record->t_ns = bpf_ktime_get_ns();
    record->mm = run->mm;
    EXACT_RSS_EACH(m, record->cached[m] = run->cached[m]);
    record->updates = run->updates;
    record->number = run->number;
    record->cpu = cpu;
    record->of = of;
    record->members = run->members;
    __builtin_memset(record->pad, 0, sizeof(record->pad));
    return record;
}

static __always_inline void end_run(struct rsslag_run *run, u32 cpu)
{
    struct rsslag_run copy = *run; /* another CPU may set mm to 0 */
    struct rsslag_sum *record = copy.mm ? sum_record(&copy, cpu, cpu) : NULL;

    if (record)
        send(record);
    touch_sequence(run);
    run->mm = 0;
    run->number++;
    touch_sequence(run);
}

static __always_inline void add_to_run(struct rsslag_run *run, u32 member, s32 cached)
{
    touch_sequence(run);
    run->cached[exact_rss_index(member)] = cached;
    run->members |= 1 << exact_rss_index(member);
    run->updates++;
    touch_sequence(run);
}

static __always_inline void begin_run(struct rsslag_run *run, u64 mm, u32 tid, u16 flags, u32 member, s32 cached)
{
    touch_sequence(run);
    run->tid = tid;
    run->flags = flags;
    run->members = 1 << exact_rss_index(member);
    run->updates = 1;
    run->cached[exact_rss_index(member)] = cached;
    run->mm = mm;
    touch_sequence(run);
}

struct ending {
    u64 mm;
    u32 cpu;
};

/* Sends the sum of CPU `of` if it is one of the ending mm. Returns false if the sum changed meanwhile. The time is
 * taken while the sum is unchanged, so the next record of its CPU has a later one. */
static __always_inline bool send_run(struct rsslag_run *run, u32 of, const struct ending *ending)
{
    u32 sequence = sequence_plus(run, 0);
    struct rsslag_run copy = *run;
    struct rsslag_sum *record;

    if (copy.mm != ending->mm || sequence & 1)
        return true; /* it is of another mm, or its CPU is switching to another sum and sends this one itself */
    record = sum_record(&copy, of, ending->cpu);
    if (record && sequence_plus(run, 0) != sequence) {
        discard(ending->cpu, record);
        return false;
    }
    if (record)
        send(record);
    __sync_val_compare_and_swap(&run->mm, ending->mm, 0);
    return true;
}

static long end_run_of(u32 of, struct ending *ending)
{
    struct rsslag_run *run = bpf_map_lookup_elem(&runs, &of);

    /* Only an update that began before the end of the mm can still change the sum, so one retry is enough. */
    if (run && !send_run(run, of, ending))
        send_run(run, of, ending);
    return 0;
}

/* Ends the sums of an mm without users; no CPU starts a new one. A sum that a CPU still has must not be attributed
 * to the next mm at this address. If its CPU sends it concurrently, it is sent twice, with the same number. */
static __always_inline void end_runs_of(u64 mm, u32 cpu)
{
    struct ending ending = {.mm = mm, .cpu = cpu};

    bpf_loop(possible_cpus, end_run_of, &ending, 0);
}

#endif
