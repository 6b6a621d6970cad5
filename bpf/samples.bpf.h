/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Samples of updates: the registers and the top of the stack of the thread, for --stacks. An update that a page fault caused is
 * sampled by a hash of its mm and page, so that each arrival at a chosen page has a sample. Any other is sampled at random. The
 * probability is the amount that the program estimates, divided by `sample_period`, and at most 1. Userspace knows the true amount,
 * and divides it by that probability.
 *
 * On the `thread` scheme a flush moves pages of up to 65 faults, so it has no sample. What a thread caches more or less after a fault
 * is sampled as that fault ends. */
#ifndef RSSLAG_SAMPLES_BPF_H
#define RSSLAG_SAMPLES_BPF_H

/* In pages; 0: no samples. */
const volatile rsslag_u32 sample_period;
const volatile rsslag_u64 sample_seed;
/* In ascending order; at most RSSLAG_STACK_BYTES. */
const volatile rsslag_u32 sample_stack_bytes[RSSLAG_STACK_SIZES];
/* A stack of at most so many bytes is copied as a whole. */
const volatile rsslag_u32 sample_whole_stack_bytes;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u64);
} stack_sizes SEC(".maps");

#define PF_KTHREAD 0x200000
#define PAGE_BYTES_LOG2 12
#define MAX_ESTIMATE (1 << 18)

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} samples SEC(".maps");

/* Samples that did not fit into the ring. */
rsslag_u64 lost_samples;

/* The number of the largest size that is used. */
rsslag_u32 largest_stack_size = RSSLAG_STACK_SIZES - 1;

/* The last update on this CPU, from which the next one's amount is estimated. */
struct last_update {
    u64 mm, mixed_mm;
    s64 count[EXACT_RSS_MEMBERS];
    s32 cached[EXACT_RSS_MEMBERS];
};
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct last_update);
} last_updates SEC(".maps");

/* The finalizer of splitmix64: each bit of the result depends on each bit of the input. */
static __always_inline u64 mixed(u64 value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

static __always_inline u64 mixed_mm(u64 mm)
{
    return mixed(mm ^ sample_seed);
}

/* The one of the mm. If the last update was of another mm, all amounts are 0. */
static __always_inline struct last_update *last_update_of(u64 mm)
{
    u32 zero = 0;
    struct last_update *last = bpf_map_lookup_elem(&last_updates, &zero);

    if (last && last->mm != mm) {
        last->mm = mm;
        last->mixed_mm = mixed_mm(mm);
        EXACT_RSS_EACH(m, last->cached[m] = 0; last->count[m] = 0);
    }
    return last;
}

/* The amount in pages if no other CPU has folded since; 1 for the first update of an mm on this CPU. */
static __always_inline s32 estimated_amount(struct last_update *last, u32 member, s64 count, s32 cached)
{
    s64 amount = 1;

    member = exact_rss_index(member);
    if (last->count[member] || last->cached[member]) {
        amount = cached - last->cached[member];
        if (!cached)
            amount += count - last->count[member];
    }
    last->count[member] = count;
    last->cached[member] = cached;
    if (!amount)
        return 1;
    return amount > MAX_ESTIMATE ? MAX_ESTIMATE : amount < -MAX_ESTIMATE ? -MAX_ESTIMATE : amount;
}

static __always_inline bool is_sampled(u64 mixed_mm, u64 address, s32 estimated)
{
    u64 pages = estimated < 0 ? -estimated : estimated;
    u64 random = address ? (u32)mixed((address >> PAGE_BYTES_LOG2) ^ mixed_mm) : bpf_get_prandom_u32();

    return random * sample_period < pages << 32;
}

#define PAGE_BYTES (1 << PAGE_BYTES_LOG2)

/* The top of a stack that is larger than a page: up to the end of its page, then whole pages. So the last bytes are missing
 * unless the stack ends before. `absent`: NULL, or how much is skipped if the first page is not resident. */
static __always_inline u32 copy_pages(u8 *to, u64 from, u32 bytes, rsslag_u16 *absent)
{
    u32 done = PAGE_BYTES - (from & (PAGE_BYTES - 1));

    if (bpf_probe_read_user(to, done, (void *)from)) {
        if (!absent)
            return 0;
        *absent = done;
    }
    for (int i = 1; i < RSSLAG_STACK_BYTES / PAGE_BYTES; i++) {
        u32 at = done;

        barrier_var(at); /* else the address is computed before the check, which the verifier of 6.1 then does not apply to it */
        if (at > bytes - PAGE_BYTES || bpf_probe_read_user(to + at, PAGE_BYTES, (void *)(from + at)))
            break;
        done = at + PAGE_BYTES;
    }
    return done;
}

/* The top of the stack; less of it if the stack ends before, or a page of it is not resident. */
static __always_inline u32 copy_stack(u8 *to, u64 from, u32 bytes, rsslag_u16 *absent)
{
    u32 of_page;

    if (bytes > PAGE_BYTES)
        return copy_pages(to, from, bytes, absent);
    if (bpf_probe_read_user(to, bytes & (RSSLAG_STACK_BYTES * 2 - 1), (void *)from) == 0)
        return bytes;
    /* Not computed before: the verifier of 6.1 does not see that the check also bounds a copy on the stack. */
    barrier_var(from);
    of_page = PAGE_BYTES - (from & (PAGE_BYTES - 1));
    if (of_page > bytes)
        return 0;
    return bpf_probe_read_user(to, of_page & (RSSLAG_STACK_BYTES * 2 - 1), (void *)from) == 0 ? of_page : 0;
}

/* The number of the smallest size that contains the whole stack; 0 if none does, or if its end is not known. A copy that is larger
 * than a page may lack the last page. */
static __always_inline u32 whole_size_of(struct task_struct *task)
{
    u64 sp = user_stack_pointer(task), end = sp ? end_of_user_stack(task, sp) : 0, bytes = end - sp;

    if (!end || bytes > sample_whole_stack_bytes)
        return 0;
    for (u32 size = 0; size < RSSLAG_STACK_SIZES; size++) {
        u32 copied = sample_stack_bytes[size];

        if (bytes <= (copied > PAGE_BYTES ? copied - PAGE_BYTES : copied))
            return size;
    }
    return 0;
}

/* The number of the size of the thread's copy. */
static __always_inline u32 stack_size_of(struct task_struct *task, u32 tid)
{
    u32 index = tid & fault_mask, whole = whole_size_of(task);
    u64 *entry = bpf_map_lookup_elem(&stack_sizes, &index);
    u32 size = entry && *entry / RSSLAG_STACK_SIZES == tid ? *entry % RSSLAG_STACK_SIZES : 0;

    if (whole > size)
        size = whole;
    return size < largest_stack_size ? size : largest_stack_size;
}

/* How the kernel came to this update, unless a page fault added the pages. `ctx`: of the program, or NULL. */
static __always_inline u32 copy_kernel_stack(void *ctx, rsslag_u64 *to, const struct rsslag_update *update, s32 estimated)
{
    long bytes = 0;

    if (ctx && (!update->address || estimated < 0))
        bytes = bpf_get_stack(ctx, to, RSSLAG_KERNEL_FRAMES * sizeof(*to), 0);
    return bytes > 0 ? bytes / sizeof(*to) : 0;
}

/* `bytes`: to be copied of the stack; a constant. */
static __always_inline void send_sample(void *ctx, struct task_struct *task, const struct rsslag_update *update, s32 estimated,
                                        u32 bytes)
{
    struct rsslag_sample *record;
    struct pt_regs *registers;

    record = bpf_ringbuf_reserve(&samples, sizeof(*record) + bytes, 0);
    if (!record) {
        __sync_fetch_and_add(&lost_samples, 1);
        return;
    }
    record->flags = update->flags | (task->flags & PF_MEMALLOC ? RSSLAG_RECLAIMS : 0);
    record->cpu = update->cpu;
    record->tid = update->tid;
    record->t_ns = update->t_ns;
    record->mm = update->mm;
    record->address = update->address;
    record->tgid = task->tgid;
    record->ns_tgid = number_in(BPF_CORE_READ(task, group_leader), &reader);
    record->estimated = estimated;
    record->copied = 0;
    record->absent = 0;
    record->bytes = bytes;
    record->member = update->member;
    record->kernel_frames = copy_kernel_stack(ctx, record->kernel, update, estimated);
    registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if (task->flags & PF_KTHREAD || bpf_probe_read_kernel(record->registers, sizeof(record->registers), registers))
        __builtin_memset(record->registers, 0, sizeof(record->registers));
    else
        /* The first page may be that of the fault. At an exit, all pages may be gone. */
        record->copied = copy_stack((u8 *)(record + 1), registers->sp, bytes, update->address && estimated > 0 ? &record->absent : NULL);
    send(record);
}

static __noinline void send_sample_of_size(void *ctx, struct task_struct *task, const struct rsslag_update *update, s32 estimated)
{
    switch (stack_size_of(task, update->tid)) {
    case 0:
        send_sample(ctx, task, update, estimated, sample_stack_bytes[0]);
        break;
    case 1:
        send_sample(ctx, task, update, estimated, sample_stack_bytes[1]);
        break;
    default:
        send_sample(ctx, task, update, estimated, sample_stack_bytes[2]);
    }
}

/* `task` is the current one; of the update, `count` and `cached` are not used. Most updates have no sample, and cost no call. */
static __always_inline void sample(void *ctx, struct task_struct *task, const struct rsslag_update *update, u64 mixed_mm,
                                   s32 estimated)
{
    if (is_sampled(mixed_mm, update->address, estimated))
        send_sample_of_size(ctx, task, update, estimated);
}

#endif
