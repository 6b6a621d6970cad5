/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Names for registers that struct pt_regs names differently on each architecture. */
#ifndef RSSLAG_REGS_BPF_H
#define RSSLAG_REGS_BPF_H

#if defined(__TARGET_ARCH_arm64)
#define REGS_IP pc
#else
#define REGS_IP ip
#endif

enum bpf_func_id___with_regs {
    BPF_FUNC_task_pt_regs___with_regs = 175, /* 5.15, dd6e10fbd9fb */
};

/* THREAD_SIZE of x86-64 without KASAN (arch/x86/include/asm/page_64_types.h). The registers of user mode are at the end of it. */
#define X86_THREAD_SIZE 16384

/* The task's stack pointer in user mode; 0 if unknown. */
static __always_inline u64 user_stack_pointer(struct task_struct *task)
{
    struct pt_regs *regs = NULL;

    if (bpf_core_enum_value_exists(enum bpf_func_id___with_regs, BPF_FUNC_task_pt_regs___with_regs))
        regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
    else
        regs = (struct pt_regs *)((u64)BPF_CORE_READ(task, stack) + X86_THREAD_SIZE - bpf_core_type_size(struct pt_regs));
#endif
    return regs ? BPF_CORE_READ(regs, sp) : 0;
}

/* An estimate of the end of the user stack that contains the address `sp`: the stack pointer that the process was started with, or
 * the thread control block, which the C libraries keep at the upper end of a thread's stack. 0: it is below neither. */
static __always_inline u64 end_of_user_stack(struct task_struct *task, u64 sp)
{
    u64 start = BPF_CORE_READ(task, mm, start_stack), end = start > sp ? start : 0;
#if defined(__TARGET_ARCH_x86)
    u64 block = BPF_CORE_READ(task, thread.fsbase);

    if (block > sp && (!end || block < end))
        end = block;
#endif
    return end;
}

#endif
