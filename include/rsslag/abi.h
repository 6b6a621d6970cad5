/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* NOLINTBEGIN: a C header, shared with BPF programs */
/* What BPF programs hand to userspace: fixed width, padded by hand, sizes asserted in both languages. Little or big
 * endian as the machine is; both sides are always the same machine. Members are in the kernel's order: file, anon,
 * swap, shmem (include/linux/mm_types_task.h). */
#ifndef RSSLAG_ABI_H
#define RSSLAG_ABI_H

#ifdef __cplusplus
#include <cstdint>
#define RSSLAG_STATIC_ASSERT static_assert
typedef std::uint32_t rsslag_u32;
typedef std::int32_t rsslag_s32;
typedef std::uint64_t rsslag_u64;
typedef std::int64_t rsslag_s64;
typedef std::uint8_t rsslag_u8;
typedef std::uint16_t rsslag_u16;
#else
#define RSSLAG_STATIC_ASSERT _Static_assert
typedef __u32 rsslag_u32;
typedef __s32 rsslag_s32;
typedef __u64 rsslag_u64;
typedef __s64 rsslag_s64;
typedef __u8 rsslag_u8;
typedef __u16 rsslag_u16;
#endif

/* One pass of the snapshot iterator writes, in this order: MM_FIRST, a CPU for each CPU that caches something (cpu
 * scheme), a TASK for each task of the mm, then MM_LAST and its CPUs as they are after the walk over the tasks. */
enum rsslag_snapshot_kind {
    RSSLAG_SNAPSHOT_MM_FIRST = 1,
    RSSLAG_SNAPSHOT_CPU = 2,
    RSSLAG_SNAPSHOT_TASK = 3,
    RSSLAG_SNAPSHOT_MM_LAST = 4,
};

struct rsslag_snapshot_mm {
    rsslag_u32 kind;
    rsslag_s32 users; /* mm->mm_users */
    rsslag_u64 mm;    /* address of the mm_struct; never shown to the user */
    rsslag_s64 flushed[4];
    rsslag_u64 total_vm;  /* pages */
    rsslag_s32 map_count; /* mappings */
    rsslag_u32 pad;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_mm) == 64, "rsslag_snapshot_mm");

struct rsslag_snapshot_cpu {
    rsslag_u32 kind;
    rsslag_u32 cpu;
    rsslag_s32 cached[4];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_cpu) == 24, "rsslag_snapshot_cpu");

enum rsslag_snapshot_task_flags {
    RSSLAG_TASK_IN_EXECVE = 1, /* task->in_execve */
};

struct rsslag_snapshot_task {
    rsslag_u32 kind;
    rsslag_u32 flags;
    rsslag_s32 tid;  /* as the reader's PID namespace numbers it; 0 where it is not visible there */
    rsslag_s32 tgid; /* likewise */
    rsslag_s32 host_tid;
    rsslag_s32 host_tgid;
    rsslag_s32 cached[4]; /* task->rss_stat.count, thread scheme only */
    rsslag_s32 events;    /* task->rss_stat.events, thread scheme only */
    rsslag_u32 pad;
    rsslag_u64 faults_before; /* min_flt + maj_flt of the task, read before its cached counts */
    rsslag_u64 faults_after;  /* … and after them */
    rsslag_u64 group_faults;  /* signal->min_flt + maj_flt: of the group's threads that have exited */
    char comm[16];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_task) == 88, "rsslag_snapshot_task");

/* Set by userspace before each pass. */
struct rsslag_snapshot_request {
    rsslag_u64 mm;   /* take the tasks of this mm … */
    rsslag_s32 tgid; /* … or, where mm is 0, those of this thread group as the reader's PID namespace numbers it */
    rsslag_u32 cpus; /* possible CPUs */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_request) == 16, "rsslag_snapshot_request");

/* A PID namespace: an identity to compare, and how deep it is. */
struct rsslag_view {
    rsslag_u64 ns;
    rsslag_u32 level;
    rsslag_u32 pad;
};

/* What a pass has found so far; zero before it. */
struct rsslag_snapshot_progress {
    rsslag_u64 mm;
    rsslag_s32 host_tid;
    rsslag_s32 host_tgid;    /* of the task before, and … */
    struct rsslag_view view; /* the reader's PID namespace */
    rsslag_s32 tgid;         /* … the number of its group there */
    rsslag_u32 pad;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_progress) == 40, "rsslag_snapshot_progress");

enum rsslag_total_flags {
    RSSLAG_TOTAL_MOVED = 1,       /* the mm's counters changed while they were read */
    RSSLAG_TOTAL_LEADER = 2,      /* of the group's leader: tgid, comm are its */
    RSSLAG_TOTAL_LEADER_GONE = 4, /* the group's leader has exited: its files of /proc see no memory */
};

/* What a pass over all tasks writes for `top`. cpu scheme: one for each run of tasks that share an mm, `cached` summed
 * over the CPUs. thread scheme: one for each task, `cached` is its own. */
struct rsslag_total {
    rsslag_u64 mm;
    rsslag_s64 flushed[4];
    rsslag_s64 cached[4];
    rsslag_s32 host_tgid;
    rsslag_s32 tgid;    /* as the reader's PID namespace numbers it; 0 where it is not visible there */
    rsslag_u32 cachers; /* CPUs or tasks whose cached file, anon or shmem is not 0 */
    rsslag_u32 tasks;   /* of the group (signal->live), the same in each of its records */
    rsslag_u32 flags;
    rsslag_u32 threads; /* signal->nr_threads, as /proc/PID/status tells: those that ended and are not reaped, too */
    rsslag_u64 started; /* the leader's start_time, ns */
    char comm[16];      /* of the group's leader */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_total) == 120, "rsslag_total");

/* The stream: what happened, one record after another, in a ring for each CPU or group of CPUs. Within a CPU records
 * are in the order in which things happened; between CPUs t_ns tells it. */
enum rsslag_record_kind {
    RSSLAG_UPDATE = 1,  /* struct rsslag_update: a counter of an mm has changed */
    RSSLAG_FAULT = 2,   /* struct rsslag_fault: what a task caches, thread scheme only */
    RSSLAG_NEWTASK = 3, /* struct rsslag_task, as all below; parent is who made it */
    RSSLAG_SEEN = 4,    /* a task that nobody asked for updates an mm that somebody did: who that is */
    RSSLAG_RENAME = 5,  /* comm is the new one */
    RSSLAG_EXEC = 6,    /* mm and comm are the new ones, old_tid what the task was called before */
    RSSLAG_EXIT = 7,    /* before or after the task has left its mm, as the kernel has it */
    RSSLAG_SUM = 8,     /* struct rsslag_sum: what one task did to one mm on one CPU, --mode counts on the cpu scheme */
};

enum rsslag_update_flags {
    RSSLAG_OF_USER_FAULT = 1,   /* caused by a page fault in user mode; address is where */
    RSSLAG_OF_KERNEL_FAULT = 2, /* … in kernel mode */
    RSSLAG_TEARDOWN = 4,        /* mm->mm_users is 0: the mm is being torn down */
    RSSLAG_OWN = 8,             /* current->mm is this mm */
    RSSLAG_EXITING = 16,        /* PF_EXITING */
    RSSLAG_EXECVE = 32,         /* current->in_execve */
    RSSLAG_BY_OTHER = 64,       /* the task is not of a traced thread group */
    RSSLAG_THRESHOLD = 128,     /* thread scheme: the task's events say that this flush is due to their number */
    RSSLAG_NEWBORN = 256,       /* an mm that a traced task makes (exec, fork) and nobody else has yet */
    RSSLAG_AFTER_FAULT = 512,   /* of a fault record: taken after it, not at its entry; in neither mode: no exception */
    RSSLAG_PARTIAL = 1024,      /* of a sum: read by userspace, in the middle; it may be sent again */
    RSSLAG_PROMPT =
        2048, /* of an update that left nothing cached: count was read RSSLAG_PROMPT_NS after t_ns at most */
};

#define RSSLAG_PROMPT_NS 1000

struct rsslag_update {
    rsslag_u16 kind;
    rsslag_u16 flags;
    rsslag_s32 tid;  /* the kernel's number of the task that made it */
    rsslag_u64 t_ns; /* CLOCK_MONOTONIC, taken before count and cached are read */
    rsslag_u64 mm;
    rsslag_u64 address; /* of the fault that caused it, else 0 */
    rsslag_s64 count;   /* flushed, after the update */
    /* cpu scheme: what this CPU caches after the update. thread scheme: what the task caches of this member, before a
     * flush takes it away. */
    rsslag_s32 cached;
    rsslag_u16 cpu;
    rsslag_u8 member;
    rsslag_u8 pad;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_update) == 48, "rsslag_update");

struct rsslag_fault {
    rsslag_u16 kind;
    rsslag_u16 flags;
    rsslag_s32 tid;
    rsslag_u64 t_ns;
    rsslag_u64 mm;
    rsslag_u64 address;
    rsslag_s32 cached[4]; /* task->rss_stat.count */
    rsslag_s32 events;    /* task->rss_stat.events */
    rsslag_u16 cpu;
    rsslag_u16 pad;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_fault) == 56, "rsslag_fault");

/* --mode counts, cpu scheme: updates that one task makes to one mm on one CPU, one after another, none of them a fold
 * and none at the begin or the end of an mm or a task. How many pages they were is in the difference to what the CPU
 * cached before. A partial sum is sent again under its number, with all that it held before. */
struct rsslag_sum {
    rsslag_u16 kind;
    rsslag_u16 flags; /* RSSLAG_OWN, RSSLAG_BY_OTHER, RSSLAG_GOES_ON */
    rsslag_s32 tid;
    rsslag_u64 t_ns; /* of sending it: later than the last of its updates */
    rsslag_u64 mm;
    rsslag_s32 cached[4]; /* what the CPU caches now, of the members in `members` */
    rsslag_u32 updates;
    rsslag_u32 number; /* of the sums of its CPU, ascending; wraps */
    rsslag_u16 cpu;    /* that sends it */
    rsslag_u16 of;     /* that it is of */
    rsslag_u8 members; /* bit by member: which were updated */
    rsslag_u8 pad[3];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_sum) == 56, "rsslag_sum");

/* The sum that a CPU is at, in an array that userspace maps; one cache line. Written by its CPU only, but for mm. */
struct rsslag_run {
    rsslag_u32 sequence; /* odd while it is being written */
    rsslag_u32 number;
    rsslag_u64 mm; /* 0: none; set to 0 by another CPU, too, where the mm comes to its end */
    rsslag_s32 cached[4];
    rsslag_u32 updates;
    rsslag_s32 tid;
    rsslag_u16 flags;
    rsslag_u8 members;
    rsslag_u8 pad[5];
    rsslag_u64 offset; /* the CPU's per-CPU offset, set by userspace */
    rsslag_u64 spare;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_run) == 64, "rsslag_run");

enum rsslag_task_flags {
    RSSLAG_SHARES_MM = 1,  /* a new task with its creator's mm: CLONE_VM */
    RSSLAG_SAME_GROUP = 2, /* a new thread: CLONE_THREAD */
    RSSLAG_GROUP_DEAD = 4, /* of an exit: no task of the group lives */
    RSSLAG_TRACED = 8,     /* the task's group is traced from now on */
    RSSLAG_IN_EXECVE = 16, /* of a rename: by an exec, which has a record of its own */
};

struct rsslag_task {
    rsslag_u16 kind;
    rsslag_u16 flags;
    rsslag_s32 tid; /* the kernel's number */
    rsslag_u64 t_ns;
    rsslag_u64 mm;     /* of the task, 0 where it has none (any more) */
    rsslag_s32 tgid;   /* the kernel's */
    rsslag_s32 ns_tid; /* in rsslag's PID namespace, 0 where it is not visible there */
    rsslag_s32 ns_tgid;
    rsslag_s32 parent;  /* the kernel's tid of who made it; 0 but for NEWTASK */
    rsslag_s32 old_tid; /* EXEC: before the exec; else 0 */
    rsslag_u16 cpu;
    rsslag_u16 pad;
    union {
        rsslag_u64 user_faults;   /* EXIT: counted over the task's life in the trace */
        rsslag_u64 stack_pointer; /* NEWTASK of a thread: what it begins with; 0: not known */
    };
    rsslag_u64 kernel_faults;
    char comm[16];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_task) == 80, "rsslag_task");

/* A change of a mapping that the kernel's own events do not tell; in a ring of its own. */
enum rsslag_mapping_kind {
    RSSLAG_MOVED = 1, /* mremap */
    RSSLAG_NAMED = 2, /* prctl(PR_SET_VMA_ANON_NAME); name is empty where it was taken away */
};

struct rsslag_mapping {
    rsslag_u16 kind;
    rsslag_u16 pad;
    rsslag_s32 pid; /* as rsslag's PID namespace numbers it, 0 where it is not visible there */
    rsslag_u64 t_ns;
    rsslag_s32 tid; /* likewise */
    rsslag_s32 pad2;
    rsslag_u64 from; /* MOVED: where it was */
    rsslag_u64 from_bytes;
    rsslag_u64 to; /* where it is */
    rsslag_u64 to_bytes;
    char name[80]; /* ANON_VMA_NAME_MAX_LEN, mm/madvise.c */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_mapping) == 136, "rsslag_mapping");

/* Who is traced: see bpf/filter.bpf.h. */
#define RSSLAG_MM_SLOTS 4096 /* powers of two */
#define RSSLAG_GROUP_SLOTS 4096
struct rsslag_filter {
    rsslag_u64 mm[RSSLAG_MM_SLOTS];       /* sum over the traced mms of this slot; 0: there is none */
    rsslag_u64 group[RSSLAG_GROUP_SLOTS]; /* the same of thread groups */
    rsslag_u64 self;   /* where the kernel has this struct: pointers become numbers by their distance from it */
    rsslag_u32 follow; /* children of traced groups are traced, too */
    rsslag_u32 pad;
};

/* Processes that are traced once they exec: all conditions that are given must hold. A name is matched by the states of
 * shell patterns, one bit each: a byte leads from a state to the next one where `takes` says so, and back to it where
 * it stands before a '*'. */
enum rsslag_condition {
    RSSLAG_BY_COMM = 1,
    RSSLAG_BY_CGROUP = 2, /* the one in the map `cgroups`, or below */
    RSSLAG_BY_USER = 4,   /* the real UID, as the initial user namespace has it */
};
struct rsslag_pattern {
    rsslag_u64 start;
    rsslag_u64 loops;
    rsslag_u64 ends;
    rsslag_u64 takes[256];
    rsslag_u32 conditions; /* 0: nobody is traced by pattern */
    rsslag_u32 uid;
    rsslag_u32 own_tgid; /* this group never is: rsslag's own */
    rsslag_u32 pad;
};

/* A CPU: what its programs need to know of it, set once before the trace, and what they have sent and lost so far. In
 * an array that userspace maps; a cache line for each of the two who write. */
struct rsslag_cpu {
    rsslag_u64 offset;    /* what makes a __percpu pointer the CPU's own address; `cpu` scheme only */
    rsslag_u32 ring;      /* which ring its records go to */
    rsslag_u32 known;     /* the offset has been found */
    rsslag_u64 updates;   /* records that the program of updates has sent: it alone adds to this, not atomically */
    rsslag_u64 others;    /* … and all other programs */
    rsslag_u64 lost_ring; /* in neither: records for which the ring, or the buffer of updates, had no room */
    rsslag_u64 lost_room; /* likewise: an mm, group or task that should be followed and for which there was no room */
    rsslag_u32 next;      /* where in the CPU's buffer of updates the next one goes */
    rsslag_u32 spare[3];
    /* By userspace: how many of `updates` it has copied out of the CPU's buffer of updates. See bpf/updates.bpf.h. */
    rsslag_u64 taken;
    rsslag_u64 pad[7];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_cpu) == 128, "rsslag_cpu");

/* A task's fault in progress and its totals: an array indexed by the low bits of the tid; one cache line. */
struct rsslag_fault_slot {
    rsslag_s32 tid;     /* whose it is; negative: whose it was, who has ended; 0: nobody's yet */
    rsslag_u32 claims;  /* 1: the slot is taken */
    rsslag_u64 address; /* of the fault */
    rsslag_u64 done;    /* min_flt + maj_flt of the task as the fault began: the kernel raises one of them as it ends */
    rsslag_u64
        frame;     /* where the kernel keeps the registers of the fault, with RSSLAG_OF_USER_FAULT or _KERNEL_FAULT */
    rsslag_u64 ip; /* two of these registers */
    rsslag_u64 sp;
    rsslag_u64 user_faults; /* totals */
    rsslag_u64 kernel_faults;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_fault_slot) == 64, "rsslag_fault_slot");

/* What the kernel told of a process as it ended, in an array that userspace maps, by the low bits of its number. Pages.
 */
#define RSSLAG_END_SLOTS 4096
struct rsslag_end {
    rsslag_s32 tgid; /* whose it is; 0: nobody's, or it is being written */
    rsslag_u32 pad;
    rsslag_u64 max_rss;    /* signal->maxrss: what getrusage(2) makes ru_maxrss of, without its children */
    rsslag_u64 high_water; /* of its last mm, as VmHWM; 0: it had left that by then */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_end) == 24, "rsslag_end");

#endif
/* NOLINTEND */
