/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The owner of an mm. */
#ifndef RSSLAG_OWNER_BPF_H
#define RSSLAG_OWNER_BPF_H

/* include/linux/mm_types.h, with CONFIG_MEMCG: a task of the process that created the mm, or of another one that uses it
 * after that one has ended */
struct mm_struct___owner {
    struct task_struct *owner;
} __attribute__((preserve_access_index));

/* Whether no task lives in the mm yet: a fork or an exec is building it, and mm_init_owner() has set the task that will live in
 * it. Without CONFIG_MEMCG that is not known. */
static __always_inline bool may_be_newborn(struct mm_struct *mm)
{
    struct mm_struct___owner *of = (void *)mm;
    struct task_struct *owner;

    if (!bpf_core_field_exists(of->owner))
        return true;
    owner = BPF_CORE_READ(of, owner);
    return owner && BPF_CORE_READ(owner, mm) != mm;
}

#endif
