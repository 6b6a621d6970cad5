/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* NOLINTBEGIN: a C header, shared with BPF programs */
/* The structures that BPF programs and userspace share. They have fixed widths, explicit padding, sizes that both
 * languages assert, and the machine's byte order. Arrays of RSSLAG_MEMBERS are in the kernel's order of members: file,
 * anon, swap, shmem (include/linux/mm_types_task.h). Counters are in pages. TIDs and TGIDs are the kernel's
 * numbers unless a PID namespace is named. */
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

#define RSSLAG_MEMBERS 4

/* Stands for bpf_rdonly_cast() of the kernel in calls by a program; userspace replaces it (probe/kernel_ids.cpp).
 * Larger than the number of any BPF helper. */
#define RSSLAG_RDONLY_CAST 0x5253534c

/* One pass of the snapshot iterator writes these records, in this order: MM_FIRST, a CPU for each CPU that caches
 * something (cpu scheme), a TASK for each task of the mm, then MM_LAST, and again a CPU for each CPU that caches
 * something after the pass over the tasks. */
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
    rsslag_s64 flushed[RSSLAG_MEMBERS];
    rsslag_u64 total_vm;  /* pages */
    rsslag_s32 map_count; /* mappings */
    /* Of the requested group. In MM_FIRST all are 0 if the first task of the mm belongs to another group. */
    rsslag_u32 threads; /* signal->nr_threads, as in struct rsslag_total */
    char comm[16];      /* of the leader, which may have exited and so have no TASK */
    rsslag_u64 started; /* start_time of the leader, ns */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_mm) == 88, "rsslag_snapshot_mm");

struct rsslag_snapshot_cpu {
    rsslag_u32 kind;
    rsslag_u32 cpu;
    rsslag_s32 cached[RSSLAG_MEMBERS];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_cpu) == 24, "rsslag_snapshot_cpu");

enum rsslag_snapshot_task_flags {
    RSSLAG_TASK_IN_EXECVE = 1, /* task->in_execve */
};

struct rsslag_snapshot_task {
    rsslag_u32 kind;
    rsslag_u32 flags;
    rsslag_s32 tid;  /* in the reader's PID namespace; 0 if not visible there */
    rsslag_s32 tgid; /* the same */
    rsslag_s32 host_tid;
    rsslag_s32 host_tgid;
    rsslag_s32 cached[RSSLAG_MEMBERS]; /* task->rss_stat.count, thread scheme only */
    rsslag_s32 events;                 /* task->rss_stat.events, thread scheme only */
    rsslag_u32 pad;
    rsslag_u64 faults_before; /* min_flt + maj_flt of the task, read before its cached counts */
    rsslag_u64 faults_after;  /* the same, read after them */
    rsslag_u64 group_faults;  /* signal->min_flt + maj_flt: of the group's threads that have exited */
    char comm[16];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_task) == 88, "rsslag_snapshot_task");

/* Written by userspace before each pass. */
struct rsslag_snapshot_request {
    rsslag_u64 mm;   /* the pass reads the tasks of this mm; 0: those of the group `tgid` */
    rsslag_s32 tgid; /* in the reader's PID namespace */
    rsslag_u32 cpus; /* possible CPUs */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_request) == 16, "rsslag_snapshot_request");

/* A PID namespace: its address, which is only compared, and its level. */
struct rsslag_view {
    rsslag_u64 ns;
    rsslag_u32 level;
    rsslag_u32 pad;
};

/* The state of a pass. Userspace zeroes it before the pass. */
struct rsslag_snapshot_progress {
    rsslag_u64 mm;           /* of the task host_tid */
    rsslag_s32 host_tid;     /* the task that wrote MM_FIRST; in a pass for `top`: the previous task */
    rsslag_s32 host_tgid;    /* of the previous task */
    struct rsslag_view view; /* the reader's PID namespace */
    rsslag_s32 tgid;         /* the previous task's group in that namespace */
    rsslag_u32 threads;      /* these three go into rsslag_snapshot_mm; 0: no task of the requested group yet */
    char comm[16];
    rsslag_u64 started;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_progress) == 64, "rsslag_snapshot_progress");

enum rsslag_total_flags {
    RSSLAG_TOTAL_MOVED = 1,       /* the mm's counters changed while they were read */
    RSSLAG_TOTAL_LEADER = 2,      /* this task is the group's leader */
    RSSLAG_TOTAL_LEADER_GONE = 4, /* the group's leader has exited: its files in /proc show no memory */
};

/* What a pass over all tasks writes for `top`. thread scheme: one for each task, and `cached` is the task's own. Other
 * schemes: one for each run of consecutive tasks with the same mm and group, and `cached` is the sum over the CPUs. */
struct rsslag_total {
    rsslag_u64 mm;
    rsslag_s64 flushed[RSSLAG_MEMBERS];
    rsslag_s64 cached[RSSLAG_MEMBERS];
    rsslag_s32 host_tgid;
    rsslag_s32 tgid;    /* in the reader's PID namespace; 0 if not visible there */
    rsslag_u32 cachers; /* CPUs or tasks whose cached file, anon or shmem is not 0 */
    rsslag_u32 tasks;   /* signal->live of the group */
    rsslag_u32 flags;
    rsslag_u32 threads;   /* signal->nr_threads, as in /proc/PID/status: includes ended threads not yet reaped */
    rsslag_u64 started;   /* start_time of the leader, ns */
    rsslag_s32 host_ppid; /* TGID of the leader's real_parent */
    rsslag_u32 pad;
    char comm[16]; /* of the group's leader */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_total) == 128, "rsslag_total");

/* The stream: one record after another, in a ring for each CPU or group of CPUs. The records of one CPU are in the
 * order of the events; t_ns orders those of different CPUs. */
enum rsslag_record_kind {
    RSSLAG_UPDATE = 1,  /* struct rsslag_update: a counter of an mm has changed */
    RSSLAG_FAULT = 2,   /* struct rsslag_fault: what a task caches, thread scheme only */
    RSSLAG_NEWTASK = 3, /* struct rsslag_task, as up to EXIT; parent is the creator */
    RSSLAG_SEEN = 4,    /* a task of an untraced group updates a traced mm: its numbers and comm, once per task */
    RSSLAG_RENAME = 5,  /* comm is the new one */
    RSSLAG_EXEC = 6,    /* mm and comm are the new ones, old_tid is the tid before the exec */
    RSSLAG_EXIT = 7,    /* before or after the task has left its mm, depending on the kernel version */
    RSSLAG_SUM = 8,     /* struct rsslag_sum: updates by one task of one mm on one CPU; --mode counts, cpu scheme */
    RSSLAG_AT_EXEC = 9, /* struct rsslag_at_exec: before the EXEC of a process that matches a pattern; not recorded */
};

enum rsslag_update_flags {
    RSSLAG_OF_USER_FAULT = 1,   /* caused by a page fault in user mode; address is the fault's */
    RSSLAG_OF_KERNEL_FAULT = 2, /* caused by a page fault in kernel mode */
    RSSLAG_TEARDOWN = 4,        /* mm->mm_users is 0: the mm is being torn down */
    RSSLAG_OWN = 8,             /* current->mm is this mm */
    RSSLAG_EXITING = 16,        /* PF_EXITING */
    RSSLAG_EXECVE = 32,         /* current->in_execve */
    RSSLAG_BY_OTHER = 64,       /* the task is not of a traced thread group */
    RSSLAG_THRESHOLD = 128,     /* thread scheme: task->rss_stat.events is at the threshold, which causes this flush */
    RSSLAG_NEWBORN = 256,       /* an mm that a traced task is building (exec, fork): mm_users is 1 and current->mm
                                 * is another */
    RSSLAG_AFTER_FAULT = 512,   /* fault record: made at the end of the fault, not at its start; without a fault flag
                                 * it comes from get_user_pages, not from an exception */
    RSSLAG_PARTIAL = 1024,      /* sum: read by userspace before the CPU sent it; it may be sent again */
    RSSLAG_PROMPT = 2048,       /* update with cached 0: count was read at most RSSLAG_PROMPT_NS after t_ns */
    RSSLAG_RECLAIMS = 4096,     /* sample only: PF_MEMALLOC */
};

#define RSSLAG_PROMPT_NS 1000

struct rsslag_update {
    rsslag_u16 kind;
    rsslag_u16 flags;
    rsslag_s32 tid;  /* of the task that made the update */
    rsslag_u64 t_ns; /* CLOCK_MONOTONIC, taken before count and cached are read */
    rsslag_u64 mm;
    rsslag_u64 address; /* of the page fault that caused the update, else 0 */
    rsslag_s64 count;   /* the mm's own counter, read after the update */
    /* cpu scheme: what this CPU caches of this member after the update. thread scheme: what the task caches of this
     * member; a flush has not cleared it yet. */
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
    rsslag_s32 cached[RSSLAG_MEMBERS]; /* task->rss_stat.count */
    rsslag_s32 events;                 /* task->rss_stat.events */
    rsslag_u16 cpu;
    rsslag_u16 pad;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_fault) == 56, "rsslag_fault");

/* --mode counts, cpu scheme: consecutive updates by one task of one mm on one CPU. None of them is a fold, or
 * belongs to the start or end of an mm or a task. The sum of a member's updates is `cached` minus what the CPU cached
 * before. A partial sum is sent again under the same number, and then includes all updates that it had before. */
struct rsslag_sum {
    rsslag_u16 kind;
    rsslag_u16 flags; /* RSSLAG_OWN, RSSLAG_BY_OTHER, RSSLAG_PARTIAL */
    rsslag_s32 tid;
    rsslag_u64 t_ns; /* when it was sent, after the last of its updates */
    rsslag_u64 mm;
    rsslag_s32 cached[RSSLAG_MEMBERS]; /* what CPU `of` caches after the last update, of the members in `members` */
    rsslag_u32 updates;
    rsslag_u32 number; /* of the sums of CPU `of`, ascending; wraps around */
    rsslag_u16 cpu;    /* the CPU that sends the record */
    rsslag_u16 of;     /* the CPU on which the updates were made */
    rsslag_u8 members; /* one bit for each member that was updated */
    rsslag_u8 pad[3];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_sum) == 56, "rsslag_sum");

/* The current sum of a CPU, in an array that userspace maps; one cache line. Written only by its CPU, except mm. */
struct rsslag_run {
    rsslag_u32 sequence; /* odd while the CPU is writing */
    rsslag_u32 number;
    rsslag_u64 mm; /* 0: no sum; another CPU sets it to 0 when the mm ends */
    rsslag_s32 cached[RSSLAG_MEMBERS];
    rsslag_u32 updates;
    rsslag_s32 tid;
    rsslag_u16 flags;
    rsslag_u8 members;
    rsslag_u8 pad[5];
    rsslag_u64 offset; /* as in rsslag_cpu */
    rsslag_u64 spare;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_run) == 64, "rsslag_run");

enum rsslag_task_flags {
    RSSLAG_SHARES_MM = 1,  /* a new task that shares its creator's mm: CLONE_VM */
    RSSLAG_SAME_GROUP = 2, /* a new thread: CLONE_THREAD */
    RSSLAG_GROUP_DEAD = 4, /* EXIT: it was the last task of the group */
    RSSLAG_TRACED = 8,     /* the task's group is traced from now on */
    RSSLAG_IN_EXECVE = 16, /* RENAME: by an exec, which has a record of its own */
};

struct rsslag_task {
    rsslag_u16 kind;
    rsslag_u16 flags;
    rsslag_s32 tid;
    rsslag_u64 t_ns;
    rsslag_u64 mm; /* of the task; 0 if it has none */
    rsslag_s32 tgid;
    rsslag_s32 ns_tid; /* in rsslag's PID namespace; 0 if not visible there */
    rsslag_s32 ns_tgid;
    rsslag_s32 parent;  /* NEWTASK: the creator's tid; else 0 */
    rsslag_s32 old_tid; /* EXEC: the tid before the exec; else 0 */
    rsslag_u16 cpu;
    rsslag_u16 pad;
    union {
        rsslag_u64 user_faults;   /* in user mode, see below */
        rsslag_u64 stack_pointer; /* NEWTASK of a thread: its initial user stack pointer; 0: unknown */
    };
    /* Page faults since the start of the task or the attach of its group. EXIT: of tid, EXEC: of old_tid, else 0. */
    rsslag_u64 kernel_faults; /* in kernel mode */
    char comm[16];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_task) == 80, "rsslag_task");

/* The counters of an mm at the exec at which the trace of its process starts: one record for each CPU that caches some
 * of its pages, with `cpu` and `cached` only, and then a last one. All have the same t_ns and come from the same CPU.
 */
struct rsslag_at_exec {
    rsslag_u16 kind;
    rsslag_u16 cpu;
    rsslag_s32 tid;
    rsslag_u64 t_ns;
    rsslag_u64 mm;
    rsslag_s32 cached[RSSLAG_MEMBERS]; /* what CPU `cpu` caches; last record: thread scheme, what the task caches */
    rsslag_s64 flushed[RSSLAG_MEMBERS];
    rsslag_u64 faults; /* min_flt + maj_flt of the task */
    rsslag_s32 tgid;
    rsslag_s32 ns_tid; /* in rsslag's PID namespace; 0 if not visible there */
    rsslag_s32 ns_tgid;
    rsslag_s32 events; /* thread scheme: task->rss_stat.events */
    rsslag_u16 last;   /* 1: the last record */
    rsslag_u16 caches; /* last record: how many came before it */
    rsslag_u32 pad;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_at_exec) == 104, "rsslag_at_exec");

/* A sample of an update, in a ring of its own: what the thread was doing. Stack bytes follow, from its stack pointer in
 * user mode upwards. (tid, t_ns, cpu, member) are those of the update. */
#define RSSLAG_KERNEL_FRAMES 24
#define RSSLAG_REGISTERS 21 /* struct pt_regs of x86-64 (arch/x86/include/uapi/asm/ptrace.h), from r15 to ss */
struct rsslag_sample {
    rsslag_u16 flags; /* enum rsslag_update_flags */
    rsslag_u16 cpu;
    rsslag_s32 tid;
    rsslag_u64 t_ns;
    rsslag_u64 mm;
    rsslag_u64 address; /* of the page fault, else 0 */
    rsslag_s32 tgid;
    rsslag_s32 ns_tgid;   /* in rsslag's PID namespace; 0 if not visible there */
    rsslag_s32 estimated; /* amount of the update in pages, an estimate; determines the probability of a sample */
    rsslag_u32 copied;    /* stack bytes that are valid, but for the first `absent` ones */
    rsslag_u8 member;
    rsslag_u8 kernel_frames; /* how many of `kernel` are valid; 0 if a page fault added the pages */
    rsslag_u16 absent;       /* how many of the first copied bytes are not valid, as their page was not resident */
    rsslag_u32 bytes;                         /* that follow the sample; the first `copied` of them are valid */
    rsslag_u64 registers[RSSLAG_REGISTERS];   /* in user mode */
    rsslag_u64 kernel[RSSLAG_KERNEL_FRAMES];  /* return addresses in the kernel, the innermost first */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_sample) == 416, "rsslag_sample");
#define RSSLAG_STACK_BYTES 32768 /* at most */

/* The number of sizes of stack copies. An array that userspace writes has the size of a thread, indexed by the low bits
 * of the tid: tid * RSSLAG_STACK_SIZES + index of the size. Threads without an entry have the first size. */
#define RSSLAG_STACK_SIZES 3

/* Changes of mappings that perf's side-band events (PERF_RECORD_MMAP2) do not report; in a ring of their own. */
enum rsslag_mapping_kind {
    RSSLAG_MOVED = 1, /* mremap */
    RSSLAG_NAMED = 2, /* prctl(PR_SET_VMA_ANON_NAME); an empty name removes the name */
};

struct rsslag_mapping {
    rsslag_u16 kind;
    rsslag_u16 pad;
    rsslag_s32 pid; /* in rsslag's PID namespace; 0 if not visible there */
    rsslag_u64 t_ns;
    rsslag_s32 tid; /* the same */
    rsslag_s32 pad2;
    rsslag_u64 from; /* MOVED: the old address */
    rsslag_u64 from_bytes; /* 0: the old mapping stays, too */
    rsslag_u64 to; /* MOVED: the new address; NAMED: the address */
    rsslag_u64 to_bytes;
    char name[80]; /* NAMED; ANON_VMA_NAME_MAX_LEN, mm/madvise.c */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_mapping) == 136, "rsslag_mapping");

/* The set of traced groups and mms; see bpf/filter.bpf.h. */
#define RSSLAG_MM_SLOTS 4096 /* powers of two */
#define RSSLAG_GROUP_SLOTS 4096
struct rsslag_filter {
    rsslag_u64 mm[RSSLAG_MM_SLOTS];       /* sum of the codes of the traced mms with this slot; 0: none */
    rsslag_u64 group[RSSLAG_GROUP_SLOTS]; /* the same for thread groups */
    rsslag_u64 self;   /* the kernel's address of this struct; the key of an mm is its distance from it */
    rsslag_u32 follow; /* 1: children of traced groups are traced too */
    rsslag_u32 pad;
};

/* A process is traced from an exec on, or from a fork by a traced process, if all conditions hold. A name is matched by
 * an automaton made of shell patterns (core/glob_states.h), with a bit for each state. A byte of the name moves an
 * active state to the next one if its bit is in `takes` of that byte, and keeps it active if its bit is in `loops`
 * (states before a '*'). */
enum rsslag_condition {
    RSSLAG_BY_COMM = 1,
    RSSLAG_BY_CGROUP = 2, /* in the cgroup in the map `cgroups`, or below it */
    RSSLAG_BY_USER = 4,   /* the real UID, in the initial user namespace */
};
struct rsslag_pattern {
    rsslag_u64 start; /* states that are active before the first byte */
    rsslag_u64 loops;
    rsslag_u64 ends; /* the name matches if one of these is active after the last byte */
    rsslag_u64 takes[256];
    rsslag_u32 conditions; /* 0: no process is traced by pattern */
    rsslag_u32 uid;
    rsslag_u32 own_tgid; /* rsslag's own group, which never matches */
    rsslag_u32 pad;
};

/* A CPU: facts that are determined once before the trace, and counts of what its programs have sent and lost. In an
 * array that userspace maps. Its two writers, the CPU and userspace, have one cache line each. */
struct rsslag_cpu {
    rsslag_u64 offset;    /* plus a __percpu pointer: the address on this CPU; `cpu` scheme only */
    rsslag_u32 ring;      /* index of the ring that gets its records */
    rsslag_u32 known;     /* `offset` is valid */
    rsslag_u64 updates;   /* records sent by the program of updates, the only writer; not atomic */
    rsslag_u64 others;    /* records sent by all other programs; atomic */
    rsslag_u64 lost_ring; /* records for which the ring or the buffer of updates was full; not in the counts above */
    rsslag_u64 lost_map_full; /* mms, groups or tasks that could not be followed because a map was full */
    rsslag_u32 next;          /* index of the next update in the CPU's buffer of updates */
    rsslag_u32 spare[3];
    /* Written by userspace: the number of updates that it has copied from the CPU's buffer. See bpf/updates.bpf.h. */
    rsslag_u64 taken;
    rsslag_u64 pad[7];
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_cpu) == 128, "rsslag_cpu");

/* A task's current fault and its totals, in an array indexed by the low bits of the tid; one cache line. */
struct rsslag_fault_slot {
    rsslag_s32 tid;     /* of the slot's task; negative: the task has ended; 0: none */
    rsslag_u32 claims;  /* 1: the slot is in use */
    rsslag_u64 address; /* of the fault */
    rsslag_u64 done;    /* min_flt + maj_flt at the start of the fault; its end increments one of them */
    rsslag_u64 frame;   /* address of the fault's pt_regs, or-ed with RSSLAG_OF_USER_FAULT or _KERNEL_FAULT */
    rsslag_u64 ip;      /* two of these registers, at the start of the fault */
    rsslag_u64 sp;
    rsslag_u64 user_faults; /* totals */
    rsslag_u64 kernel_faults;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_fault_slot) == 64, "rsslag_fault_slot");

/* The kernel's figures for a process at its end, in pages; an array that userspace maps, indexed by the low bits of
 * the TGID. */
#define RSSLAG_END_SLOTS 4096
struct rsslag_end {
    rsslag_s32 tgid; /* the kernel's number; 0: unused, or being written */
    rsslag_u32 pad;
    rsslag_u64 max_rss;    /* signal->maxrss: ru_maxrss of getrusage(2), without children */
    rsslag_u64 high_water; /* VmHWM of its last mm; 0: the process had left its mm */
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_end) == 24, "rsslag_end");

#endif
/* NOLINTEND */
