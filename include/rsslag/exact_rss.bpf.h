/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Reads the exact RSS in any libbpf program: the mm's own counters (flushed), and the updates that threads or CPUs have
 * not added to them yet (cached). The sum of both is what a walk of the page tables would find. Requires no event
 * stream, no walk and no kernel symbol.
 *
 *     #include "vmlinux.h"               (bpftool btf dump file /sys/kernel/btf/vmlinux format c)
 *     #include <bpf/bpf_helpers.h>
 *     #include <bpf/bpf_core_read.h>
 *     #include "rsslag/exact_rss.bpf.h"
 *
 *     struct exact_rss rss;
 *     if (exact_rss_read(task, exact_rss_mm(task), &rss))
 *         total = exact_rss_total(&rss);   (pages)
 *
 * One object works with all schemes: CO-RE chooses at load time, and the verifier drops the other branches. Requires
 * bpf_loop (5.17) and bpf_map_lookup_percpu_elem (5.19); on older kernels read the counters and the caches in a loop of your own. The program must
 * run under RCU, as iterators and tracepoints do, and loading it requires CAP_BPF and CAP_PERFMON. Defines one map,
 * exact_rss_anchor, with one u64 per CPU; bpf_map__set_autocreate() can omit it if the kernel's CPUs cache nothing. */
#ifndef RSSLAG_EXACT_RSS_BPF_H
#define RSSLAG_EXACT_RSS_BPF_H

/* include/linux/mm_types_task.h; RSS is file + anon + shmem */
enum exact_rss_member { EXACT_RSS_FILE, EXACT_RSS_ANON, EXACT_RSS_SWAP, EXACT_RSS_SHMEM, EXACT_RSS_MEMBERS };

/* The initializer of an array of strings by member. */
#define EXACT_RSS_NAMES { "file", "anon", "swap", "shmem" }

/* Repeats the statements for each member, with its constant `m`. It is no loop, because CO-RE relocates only constant indexes,
 * and no do-while, so that the statements can be the cases of a switch. */
#define EXACT_RSS_EACH(m, ...) \
    { \
        { enum { m = EXACT_RSS_FILE }; __VA_ARGS__; } \
        { enum { m = EXACT_RSS_ANON }; __VA_ARGS__; } \
        { enum { m = EXACT_RSS_SWAP }; __VA_ARGS__; } \
        { enum { m = EXACT_RSS_SHMEM }; __VA_ARGS__; } \
    }

/* The same for the members that RSS includes. */
#define EXACT_RSS_EACH_OF_RSS(m, ...) \
    EXACT_RSS_EACH(m, if (m != EXACT_RSS_SWAP) { __VA_ARGS__; })

_Static_assert((EXACT_RSS_MEMBERS & (EXACT_RSS_MEMBERS - 1)) == 0, "exact_rss_index() requires a power of two");

/* Converts the number of a member to an index that the verifier accepts as within bounds. */
static __always_inline u32 exact_rss_index(u32 member)
{
    return member & (EXACT_RSS_MEMBERS - 1);
}

/* The layouts of mm->rss_stat. The kernel's BTF decides which one is used, not its version, since vendors backport. */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* `thread` scheme, 2.6.34 (34e55232e59f) to 6.1, and `plain`, which lacks task_struct.rss_stat. */
struct mm_rss_stat___thread {
    atomic_long_t count[EXACT_RSS_MEMBERS];
};

struct mm_struct___thread {
    struct mm_rss_stat___thread rss_stat;
};

struct task_rss_stat___thread {
    int events;
    int count[EXACT_RSS_MEMBERS];
};

struct task_struct___thread {
    struct task_rss_stat___thread rss_stat;
};

/* `cpu` scheme, from 6.2 (f1a7941243c1). */
struct mm_struct___cpu {
    struct percpu_counter rss_stat[EXACT_RSS_MEMBERS];
};

/* kernel/bpf/arraymap.c: a per-CPU array has one __percpu pointer per element */
struct bpf_array___exact_rss {
    void *pptrs[1];
};

/* The threads of a group: signal->thread_head links their thread_node (include/linux/sched/signal.h
 * __for_each_thread). */
struct list_head___exact_rss {
    struct list_head___exact_rss *next;
};

struct signal_struct___exact_rss {
    struct list_head___exact_rss thread_head;
};

struct mm_struct___exact_rss {
    atomic_t mm_users;
};

struct task_struct___exact_rss {
    struct mm_struct *mm;
    unsigned int flags;
    struct signal_struct___exact_rss *signal;
    struct list_head___exact_rss thread_node;
};

#pragma clang attribute pop

enum exact_rss_scheme { EXACT_RSS_UNKNOWN, EXACT_RSS_PLAIN, EXACT_RSS_THREAD, EXACT_RSS_CPU };

/* The running kernel's scheme. CO-RE makes it a constant when the program is loaded. */
static __always_inline enum exact_rss_scheme exact_rss_scheme(void)
{
    if (bpf_core_field_exists(((struct mm_struct___cpu *)0)->rss_stat[0].counters))
        return EXACT_RSS_CPU;
    if (!bpf_core_field_exists(((struct mm_struct___thread *)0)->rss_stat.count[0].counter))
        return EXACT_RSS_UNKNOWN;
    return bpf_core_field_exists(((struct task_struct___thread *)0)->rss_stat.count) ? EXACT_RSS_THREAD : EXACT_RSS_PLAIN;
}

/* Converts a kernel pointer to a number. The verifier does not allow arithmetic on the pointer. */
static __always_inline u64 exact_rss_number(const void *pointer)
{
    const void *volatile slot = pointer;
    u64 number = 0;

    bpf_probe_read_kernel(&number, sizeof(number), (const void *)&slot);
    return number;
}

/* Gives the per-CPU offset of each CPU: the address of an element on that CPU minus the element's __percpu pointer.
 * The map's contents are not used. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u64);
} exact_rss_anchor SEC(".maps");

/* The __percpu pointer of the anchor's element. */
static __always_inline u64 exact_rss_percpu_base(void)
{
    struct bpf_array___exact_rss *array = (void *)exact_rss_number(&exact_rss_anchor);

    return (u64)BPF_CORE_READ(array, pptrs[0]);
}

/* Sets the offset to add to a __percpu pointer for the address on this CPU. Returns false if there is no such CPU. */
static __always_inline bool exact_rss_percpu_offset(u32 cpu, u64 base, u64 *offset)
{
    u32 zero = 0;
    void *element = bpf_map_lookup_percpu_elem(&exact_rss_anchor, &zero, cpu);

    if (!element)
        return false;
    *offset = exact_rss_number(element) - base;
    return true;
}

/* The mm's own counters, in pages, by member. */

static __always_inline void exact_rss_flushed_thread(s64 *flushed, struct mm_struct *mm)
{
    struct mm_struct___thread *counters = (void *)mm;

    EXACT_RSS_EACH(m, flushed[m] = BPF_CORE_READ(counters, rss_stat.count[m].counter));
}

static __always_inline void exact_rss_flushed_cpu(s64 *flushed, struct mm_struct *mm)
{
    struct mm_struct___cpu *counters = (void *)mm;

    EXACT_RSS_EACH(m, flushed[m] = BPF_CORE_READ(counters, rss_stat[m].count));
}

/* percpu_counter.counters of each member: the __percpu pointer to what the CPUs cache of it. */

static __always_inline void exact_rss_counters(u64 *counters, struct mm_struct *mm)
{
    struct mm_struct___cpu *of = (void *)mm;

    EXACT_RSS_EACH(m, counters[m] = (u64)BPF_CORE_READ(of, rss_stat[m].counters));
}

/* What a CPU caches of a member. If `counters` is NULL, the mm's own counter has the whole value: some vendor kernels
 * keep it NULL until a second thread starts. */
static __always_inline s32 exact_rss_local(u64 counters, u64 offset)
{
    s32 value = 0;

    if (counters)
        bpf_probe_read_kernel(&value, sizeof(value), (void *)(counters + offset));
    return value;
}

/* What a CPU caches of all members, adjacent since percpu_counter_init_many (6.6, c439d5e8a0de). */
static __always_inline void exact_rss_locals(s32 *cached, const u64 *counters, u64 offset)
{
    u64 first = counters[0];
    bool adjacent = first;

    EXACT_RSS_EACH(m, adjacent = adjacent && counters[m] == first + m * sizeof(*cached));
    if (adjacent) {
        bpf_probe_read_kernel(cached, EXACT_RSS_MEMBERS * sizeof(*cached), (void *)(first + offset));
        return;
    }
    EXACT_RSS_EACH(m, cached[m] = exact_rss_local(counters[m], offset));
}

/* A complete reading. */

struct exact_rss {
    s64 flushed[EXACT_RSS_MEMBERS]; /* pages; may be negative */
    s64 cached[EXACT_RSS_MEMBERS];  /* pages; may be negative; exact is flushed + cached */
    u32 cachers; /* CPUs or threads with cached file, anon or shmem */
    u32 tasks;   /* `thread` scheme: threads of this group with this mm; `cached` is theirs */
    u32 moved;   /* the counters changed in every attempt to read them: pages may be missing or count twice */
    u32 foreign; /* `thread` scheme: the mm has other users (CLONE_VM, vfork, or a reader of its /proc files); what
                  * such tasks cache is missing */
};

/* Flushed + cached of one member in pages. May be below 0 while the counters change. */
static __always_inline s64 exact_rss_member(const struct exact_rss *rss, enum exact_rss_member member)
{
    return rss->flushed[member] + rss->cached[member];
}

/* As /proc shows a counter: 0 if it is below 0. */
static __always_inline s64 exact_rss_clamped(s64 pages)
{
    return pages > 0 ? pages : 0;
}

/* The exact RSS in pages. */
static __always_inline s64 exact_rss_total(const struct exact_rss *rss)
{
    s64 total = 0;

    EXACT_RSS_EACH_OF_RSS(m, total += exact_rss_member(rss, m));
    return total;
}

struct exact_rss_walk {
    struct exact_rss rss;
    u64 base; /* for CPUs: the anchor's __percpu pointer */
    u64 counters[EXACT_RSS_MEMBERS];
    u64 mm; /* for threads */
    u64 node;
    u64 head;
};

static __always_inline void exact_rss_add(struct exact_rss *rss, const s32 *cached)
{
    s32 any = 0;

    EXACT_RSS_EACH(m, rss->cached[m] += cached[m]);
    EXACT_RSS_EACH_OF_RSS(m, any |= cached[m]);
    if (any)
        rss->cachers++;
}

static __attribute__((unused)) long exact_rss_add_cpu(u32 cpu, struct exact_rss_walk *walk)
{
    s32 cached[EXACT_RSS_MEMBERS] = {};
    u64 offset;

    if (!exact_rss_percpu_offset(cpu, walk->base, &offset))
        return 1;
    exact_rss_locals(cached, walk->counters, offset);
    exact_rss_add(&walk->rss, cached);
    return 0;
}

/* Returns NULL after the last thread. A thread that is removed meanwhile keeps its `next` pointer, since the list is
 * protected by RCU. */
static __always_inline struct task_struct *exact_rss_next_thread(struct exact_rss_walk *walk)
{
    u64 node = walk->node;

    if (!node || node == walk->head)
        return 0;
    walk->node = (u64)BPF_CORE_READ((struct list_head___exact_rss *)node, next);
    return (void *)(node - bpf_core_field_offset(struct task_struct___exact_rss, thread_node));
}

static __attribute__((unused)) long exact_rss_add_thread(u32 i, struct exact_rss_walk *walk)
{
    struct task_struct *task = exact_rss_next_thread(walk);
    s32 cached[EXACT_RSS_MEMBERS];

    if (!task)
        return 1;
    if ((u64)BPF_CORE_READ((struct task_struct___exact_rss *)task, mm) != walk->mm)
        return 0;
    walk->rss.tasks++;
    BPF_CORE_READ_INTO(&cached, (struct task_struct___thread *)task, rss_stat.count);
    exact_rss_add(&walk->rss, cached);
    return 0;
}

static __attribute__((unused)) long exact_rss_find_mm(u32 i, struct exact_rss_walk *walk)
{
    struct task_struct *task = exact_rss_next_thread(walk);

    if (!task)
        return 1;
    walk->mm = (u64)BPF_CORE_READ((struct task_struct___exact_rss *)task, mm);
    return walk->mm != 0;
}

static __always_inline void exact_rss_begin_threads(struct exact_rss_walk *walk, struct task_struct *task)
{
    struct signal_struct___exact_rss *signal = BPF_CORE_READ((struct task_struct___exact_rss *)task, signal);

    walk->head = (u64)signal + bpf_core_field_offset(struct signal_struct___exact_rss, thread_head);
    walk->node = (u64)BPF_CORE_READ(signal, thread_head.next);
}

/* The most iterations that bpf_loop allows. Each loop ends earlier. */
#define EXACT_RSS_MANY (1 << 23)

/* As exact_rss_mm(), in the memory of the caller. */
static __always_inline struct mm_struct *exact_rss_mm_by(struct exact_rss_walk *walk, struct task_struct *task)
{
    struct task_struct___exact_rss *of = (void *)task;

    if (BPF_CORE_READ(of, flags) & 0x00200000) /* PF_KTHREAD */
        return 0;
    walk->mm = (u64)BPF_CORE_READ(of, mm);
    if (!walk->mm) {
        exact_rss_begin_threads(walk, task);
        bpf_loop(EXACT_RSS_MANY, exact_rss_find_mm, walk, 0);
    }
    return (void *)walk->mm;
}

/* The mm of a task, or of another thread of its group if this one has exited. NULL for kernel threads, even while
 * they use a process's mm, and for zombies. The verifier treats the result as a number: read it with BPF_CORE_READ. */
static __always_inline struct mm_struct *exact_rss_mm(struct task_struct *task)
{
    struct exact_rss_walk walk = {};

    return exact_rss_mm_by(&walk, task);
}

static __always_inline bool exact_rss_equal(const s64 *a, const s64 *b)
{
    bool equal = true;

    EXACT_RSS_EACH(m, equal = equal && a[m] == b[m]);
    return equal;
}

static __always_inline void exact_rss_read_cpu(struct exact_rss_walk *walk, struct mm_struct *mm)
{
    s64 after[EXACT_RSS_MEMBERS];

    exact_rss_flushed_cpu(walk->rss.flushed, mm);
    bpf_loop(EXACT_RSS_MANY, exact_rss_add_cpu, walk, 0);
    exact_rss_flushed_cpu(after, mm);
    walk->rss.moved = !exact_rss_equal(after, walk->rss.flushed);
}

static __always_inline void exact_rss_read_thread(struct exact_rss_walk *walk, struct task_struct *task,
                                                  struct mm_struct *mm)
{
    s64 after[EXACT_RSS_MEMBERS];

    exact_rss_begin_threads(walk, task);
    walk->mm = (u64)mm;
    exact_rss_flushed_thread(walk->rss.flushed, mm);
    bpf_loop(EXACT_RSS_MANY, exact_rss_add_thread, walk, 0);
    exact_rss_flushed_thread(after, mm);
    walk->rss.moved = !exact_rss_equal(after, walk->rss.flushed);
    walk->rss.foreign = (u32)BPF_CORE_READ((struct mm_struct___exact_rss *)mm, mm_users.counter) > walk->rss.tasks;
}

struct exact_rss_tries {
    struct exact_rss_walk walk;
    u64 task;
    u64 mm;
};

static __always_inline void exact_rss_prepare(struct exact_rss_walk *walk, struct mm_struct *mm)
{
    if (exact_rss_scheme() != EXACT_RSS_CPU)
        return;
    walk->base = exact_rss_percpu_base();
    exact_rss_counters(walk->counters, mm);
}

/* One attempt to read. Sets `moved` if a counter changed meanwhile. A flush or a fold changes one. */
static __always_inline void exact_rss_read_once(struct exact_rss_walk *walk, struct task_struct *task,
                                                struct mm_struct *mm)
{
    __builtin_memset(&walk->rss, 0, sizeof(walk->rss));
    if (exact_rss_scheme() == EXACT_RSS_CPU)
        exact_rss_read_cpu(walk, mm);
    else if (exact_rss_scheme() == EXACT_RSS_THREAD)
        exact_rss_read_thread(walk, task, mm);
    else
        exact_rss_flushed_thread(walk->rss.flushed, mm);
}

/* Returns 1, which ends the loop, if no counter changed meanwhile. */
static __attribute__((unused)) long exact_rss_try(u32 i, struct exact_rss_tries *tries)
{
    exact_rss_read_once(&tries->walk, (void *)tries->task, (void *)tries->mm);
    return tries->walk.rss.moved ? 0 : 1;
}

/* Reads the counters and caches of `mm`, which must be the mm of a task in the group of `task`. Returns false if `mm`
 * is NULL or the kernel's layout is unknown. Sets `moved` if the counters changed in each of three attempts. */
static __always_inline bool exact_rss_read(struct task_struct *task, struct mm_struct *mm, struct exact_rss *rss)
{
    struct exact_rss_tries tries = {.task = exact_rss_number(task), .mm = exact_rss_number(mm)};

    if (!mm || exact_rss_scheme() == EXACT_RSS_UNKNOWN)
        return false;
    exact_rss_prepare(&tries.walk, mm);
    bpf_loop(3, exact_rss_try, &tries, 0);
    *rss = tries.walk.rss;
    return true;
}

#endif
