// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Changes of mappings that PERF_RECORD_MMAP2 does not report: mremap, and names set by prctl. Userspace attaches the fexit
 * programs of these system calls if the kernel allows it. Otherwise it attaches those of their tracepoints, which make every
 * system call of the machine take the slow exit path. The last resort is the program of sys_exit, which doubles that cost. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "pids.bpf.h"
#include "rsslag/abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#if defined(__TARGET_ARCH_arm64)
#define ARGUMENT(regs, n) BPF_CORE_READ(regs, regs[(n)])
#define NUMBER_OF(regs) BPF_CORE_READ(regs, syscallno)
#define NR_MREMAP 216
#define NR_PRCTL 167
#define CALL(name) "__arm64_sys_" name
#else
#define ARGUMENT(regs, n)                \
    ((n) == 0   ? BPF_CORE_READ(regs, di)  \
     : (n) == 1 ? BPF_CORE_READ(regs, si)  \
     : (n) == 2 ? BPF_CORE_READ(regs, dx)  \
     : (n) == 3 ? BPF_CORE_READ(regs, r10) \
                : BPF_CORE_READ(regs, r8))
#define NUMBER_OF(regs) BPF_CORE_READ(regs, orig_ax)
#define NR_MREMAP 25
#define NR_PRCTL 157
#define CALL(name) "__x64_sys_" name
/* System calls of 32-bit programs, and int 0x80 of all programs. */
#define COMPAT_ARGUMENT(regs, n)              \
    ((u32)((n) == 0   ? BPF_CORE_READ(regs, bx) \
           : (n) == 1 ? BPF_CORE_READ(regs, cx) \
           : (n) == 2 ? BPF_CORE_READ(regs, dx) \
           : (n) == 3 ? BPF_CORE_READ(regs, si) \
                      : BPF_CORE_READ(regs, di)))
#define NR_COMPAT_MREMAP 163
#define NR_COMPAT_PRCTL 172
#define TS_COMPAT 2 /* arch/x86/include/asm/thread_info.h */
#endif

#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#define MAX_ERRNO 4095
#define MREMAP_DONTUNMAP 4

/* rsslag's PID namespace, copied from `reader` of the stream. */
struct rsslag_view reader;
/* Changes for which the ring had no space. */
rsslag_u64 lost;

/* The stream's map of traced thread groups (filter.bpf.h). */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, u32);
    __type(value, u32);
} groups SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 18);
} changes SEC(".maps");

static __always_inline struct rsslag_mapping *reserve_change(u16 kind)
{
    u32 tgid = bpf_get_current_pid_tgid() >> 32;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct rsslag_mapping *change;

    if (!bpf_map_lookup_elem(&groups, &tgid))
        return NULL;
    change = bpf_ringbuf_reserve(&changes, sizeof(*change), 0);
    if (!change) {
        __sync_fetch_and_add(&lost, 1);
        return NULL;
    }
    change->kind = kind;
    change->pad = 0;
    change->pad2 = 0;
    change->t_ns = bpf_ktime_get_ns();
    change->tid = number_in(task, &reader);
    change->pid = number_in(BPF_CORE_READ(task, group_leader), &reader);
    change->name[0] = 0;
    return change;
}

/* The arguments of the system call. */
struct arguments {
    u64 at[5];
};

static __always_inline struct arguments arguments_of(struct pt_regs *regs)
{
    struct arguments arguments = {{ARGUMENT(regs, 0), ARGUMENT(regs, 1), ARGUMENT(regs, 2), ARGUMENT(regs, 3),
                                   ARGUMENT(regs, 4)}};
    return arguments;
}

static __always_inline int emit_moved(struct arguments arguments, u64 to)
{
    struct rsslag_mapping *change;

    if (to >= -(u64)MAX_ERRNO)
        return 0;
    change = reserve_change(RSSLAG_MOVED);
    if (!change)
        return 0;
    change->from = arguments.at[0];
    change->from_bytes = arguments.at[3] & MREMAP_DONTUNMAP ? 0 : arguments.at[1];
    change->to = to;
    change->to_bytes = arguments.at[2];
    bpf_ringbuf_submit(change, BPF_RB_NO_WAKEUP);
    return 0;
}

static __always_inline int emit_named(struct arguments arguments, u64 result)
{
    struct rsslag_mapping *change;
    const char *name;

    if (arguments.at[0] != PR_SET_VMA || arguments.at[1] != PR_SET_VMA_ANON_NAME || result != 0)
        return 0;
    change = reserve_change(RSSLAG_NAMED);
    if (!change)
        return 0;
    change->from = change->from_bytes = 0;
    change->to = arguments.at[2];
    change->to_bytes = arguments.at[3];
    name = (const char *)arguments.at[4];
    if (name)
        bpf_probe_read_user_str(change->name, sizeof(change->name), name);
    bpf_ringbuf_submit(change, BPF_RB_NO_WAKEUP);
    return 0;
}

SEC("fexit/" CALL("mremap"))
int BPF_PROG(mremap_done, struct pt_regs *regs, long result)
{
    return emit_moved(arguments_of(regs), result);
}

SEC("fexit/" CALL("prctl"))
int BPF_PROG(prctl_done, struct pt_regs *regs, long result)
{
    return emit_named(arguments_of(regs), result);
}

#ifdef COMPAT_ARGUMENT
static __always_inline struct arguments compat_arguments_of(struct pt_regs *regs)
{
    struct arguments arguments = {{COMPAT_ARGUMENT(regs, 0), COMPAT_ARGUMENT(regs, 1), COMPAT_ARGUMENT(regs, 2),
                                   COMPAT_ARGUMENT(regs, 3), COMPAT_ARGUMENT(regs, 4)}};
    return arguments;
}

SEC("fexit/__ia32_sys_mremap")
int BPF_PROG(compat_mremap_done, struct pt_regs *regs, long result)
{
    return emit_moved(compat_arguments_of(regs), result);
}

SEC("fexit/__ia32_sys_prctl")
int BPF_PROG(compat_prctl_done, struct pt_regs *regs, long result)
{
    return emit_named(compat_arguments_of(regs), result);
}
#endif

/* Layout as in tracefs: events/syscalls/sys_exit_mremap/format. */
struct syscall_exit {
    u64 common;
    s64 number;
    s64 result;
};

static __always_inline struct pt_regs *own_registers(void)
{
    return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

SEC("tracepoint/syscalls/sys_exit_mremap")
int mremap_returned(struct syscall_exit *exit)
{
    return emit_moved(arguments_of(own_registers()), exit->result);
}

SEC("tracepoint/syscalls/sys_exit_prctl")
int prctl_returned(struct syscall_exit *exit)
{
    return emit_named(arguments_of(own_registers()), exit->result);
}

/* A raw tracepoint, because in the BTF of 5.10 struct pt_regs is only declared where a program gets it as argument. */
SEC("raw_tp/sys_exit")
int BPF_PROG(syscall_done, struct pt_regs *regs, long result)
{
    u64 number = NUMBER_OF(regs);

#ifdef COMPAT_ARGUMENT
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();

    if (BPF_CORE_READ(task, thread_info.status) & TS_COMPAT) {
        if (number == NR_COMPAT_MREMAP)
            return emit_moved(compat_arguments_of(regs), result);
        if (number == NR_COMPAT_PRCTL)
            return emit_named(compat_arguments_of(regs), result);
        return 0;
    }
#endif
    if (number == NR_MREMAP)
        return emit_moved(arguments_of(regs), result);
    if (number == NR_PRCTL)
        return emit_named(arguments_of(regs), result);
    return 0;
}
