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
#else
#define RSSLAG_STATIC_ASSERT _Static_assert
typedef __u32 rsslag_u32;
typedef __s32 rsslag_s32;
typedef __u64 rsslag_u64;
typedef __s64 rsslag_s64;
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

/* What a pass has found so far; zero before it. */
struct rsslag_snapshot_progress {
    rsslag_u64 mm;
    rsslag_s32 host_tid;
    rsslag_s32 pad;
};
RSSLAG_STATIC_ASSERT(sizeof(struct rsslag_snapshot_progress) == 16, "rsslag_snapshot_progress");

#endif
/* NOLINTEND */
