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
#define ARGUMENT(regs, n) ((regs)->regs[(n)])
#define NUMBER_OF(regs) ((regs)->syscallno)
#define NR_MREMAP 216
#define NR_PRCTL 167
#define CALL(name) "__arm64_sys_" name
#else
#define ARGUMENT(regs, n) \
    ((n) == 0 ? (regs)->di : (n) == 1 ? (regs)->si : (n) == 2 ? (regs)->dx : (n) == 3 ? (regs)->r10 : (regs)->r8)
#define NUMBER_OF(regs) ((regs)->orig_ax)
#define NR_MREMAP 25
#define NR_PRCTL 157
#define CALL(name) "__x64_sys_" name
#endif

#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#define MAX_ERRNO 4095

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

static __always_inline int emit_moved(struct pt_regs *regs, u64 to)
{
    struct rsslag_mapping *change;

    if (to >= -(u64)MAX_ERRNO)
        return 0;
    change = reserve_change(RSSLAG_MOVED);
    if (!change)
        return 0;
    change->from = ARGUMENT(regs, 0);
    change->from_bytes = ARGUMENT(regs, 1);
    change->to = to;
    change->to_bytes = ARGUMENT(regs, 2);
    bpf_ringbuf_submit(change, BPF_RB_NO_WAKEUP);
    return 0;
}

static __always_inline int emit_named(struct pt_regs *regs, u64 result)
{
    struct rsslag_mapping *change;
    const char *name;

    if (ARGUMENT(regs, 0) != PR_SET_VMA || ARGUMENT(regs, 1) != PR_SET_VMA_ANON_NAME || result != 0)
        return 0;
    change = reserve_change(RSSLAG_NAMED);
    if (!change)
        return 0;
    change->from = change->from_bytes = 0;
    change->to = ARGUMENT(regs, 2);
    change->to_bytes = ARGUMENT(regs, 3);
    name = (const char *)ARGUMENT(regs, 4);
    if (name)
        bpf_probe_read_user_str(change->name, sizeof(change->name), name);
    bpf_ringbuf_submit(change, BPF_RB_NO_WAKEUP);
    return 0;
}

SEC("fexit/" CALL("mremap"))
int BPF_PROG(mremap_done, struct pt_regs *regs, long result)
{
    return emit_moved(regs, result);
}

SEC("fexit/" CALL("prctl"))
int BPF_PROG(prctl_done, struct pt_regs *regs, long result)
{
    return emit_named(regs, result);
}

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
    return emit_moved(own_registers(), exit->result);
}

SEC("tracepoint/syscalls/sys_exit_prctl")
int prctl_returned(struct syscall_exit *exit)
{
    return emit_named(own_registers(), exit->result);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall_done, struct pt_regs *regs, long result)
{
    u64 number = NUMBER_OF(regs);

    if (number == NR_MREMAP)
        return emit_moved(regs, result);
    if (number == NR_PRCTL)
        return emit_named(regs, result);
    return 0;
}
