/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The kernel's types as far as rsslag's BPF programs use them, kept by hand, so that a build needs no kernel's BTF.
 *
 * How to extend it: declare a struct with only the fields that are read; their order, offset and size do not matter,
 * since CO-RE relocates each access by name when the object is loaded. Names must be the kernel's. Where kernels differ,
 * declare the layouts side by side as struct NAME___flavor in the bpf/ header that chooses between them.
 */
#ifndef RSSLAG_VMLINUX_H
#define RSSLAG_VMLINUX_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 u16;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* include/uapi/linux/bpf.h */
enum bpf_map_type {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_CGROUP_ARRAY = 8,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1 << 0, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 << 0 };
enum { BPF_RB_NO_WAKEUP = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
    int counter;
} atomic_t;

typedef struct {
    long counter;
} atomic_long_t;

/* include/linux/percpu_counter.h; counters is a __percpu pointer */
struct percpu_counter {
    s64 count;
    s32 *counters;
};

struct pid_namespace;

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1];
};

struct signal_struct {
    atomic_t live;
    int nr_threads;
    unsigned long min_flt;
    unsigned long maj_flt;
    unsigned long maxrss;
};

typedef struct {
    unsigned int val;
} kuid_t;

struct cred {
    kuid_t euid;
};

struct mm_struct {
    atomic_t mm_users;
    unsigned long hiwater_rss;
    unsigned long total_vm;
    unsigned long start_stack;
    int map_count;
};

/* arch/ARCH/include/asm/ptrace.h; bpf/regs.bpf.h tells what is what */
#if defined(__TARGET_ARCH_arm64)
struct pt_regs {
    u64 regs[31];
    u64 sp;
    u64 pc;
    s32 syscallno;
};
#else
struct pt_regs {
    unsigned long di, si, dx, r10, r8;
    unsigned long bx, cx;
    unsigned long orig_ax;
    unsigned long ip;
    unsigned long sp;
};
#endif

struct list_head {
    struct list_head *next;
};

struct thread_info {
    u32 status; /* x86 */
};

struct thread_struct {
    unsigned long fsbase; /* x86-64 */
};

struct task_struct {
    struct thread_info thread_info;
    struct thread_struct thread;
    void *stack;
    struct list_head tasks;
    struct mm_struct *mm;
    unsigned int flags;
    u64 start_time;
    unsigned int in_execve : 1;
    unsigned int in_user_fault : 1; /* CONFIG_MEMCG, from 6.11 on CONFIG_MEMCG_V1 */
    int pagefault_disabled;
    int pid;
    int tgid;
    struct task_struct *real_parent;
    struct task_struct *group_leader;
    struct pid *thread_pid;
    unsigned long min_flt;
    unsigned long maj_flt;
    const struct cred *real_cred;
    char comm[16];
    struct signal_struct *signal;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
    u64 session_id;
    u64 seq_num;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

/* include/linux/refcount.h: an s32 in a struct, which bpf_rdonly_cast() asks for */
struct refcount_struct {
    atomic_t refs;
};

struct vm_area_struct {
    struct mm_struct *vm_mm;
};

struct linux_binprm;

/* include/linux/cpuhotplug.h; the value is relocated */
enum cpuhp_state {
    CPUHP_PERCPU_CNT_DEAD = 28,
};

#pragma clang attribute pop

#endif
