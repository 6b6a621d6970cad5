/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The text of a reader of rss.prom for which no slot is left: one group, `other`, with the sum over all processes. The sum
 * is computed on the stack of the program, of which the loops over processes, threads and CPUs leave about 250 bytes. So there
 * is no space for the names of groups, nor for a list of the mms that several processes share. */
#ifndef RSSLAG_OTHER_BPF_H
#define RSSLAG_OTHER_BPF_H

#include "owner.bpf.h"
#include "prometheus.bpf.h"

struct sum {
    struct process_list list;
    struct group all;
    struct exact_rss_walk walk;
};

static __noinline bool is_visible(struct task_struct *leader)
{
    struct rsslag_view view;

    own_view(&view);
    return number_in(leader, &view);
}

enum share { IS_NOT_SHARED, COUNTS_HERE, COUNTS_FOR_OWNER };

/* A shared mm counts for its owner. If the reader cannot see that process, or the kernel does not keep the owner, it counts for
 * each process. */
static __noinline enum share share_of(struct task_struct *leader, u64 number)
{
    struct mm_struct *mm = (void *)number;
    struct task_struct *owner;

    if (!is_shared(leader, mm))
        return IS_NOT_SHARED;
    if (!bpf_core_field_exists(((struct mm_struct___owner *)mm)->owner))
        return COUNTS_HERE;
    owner = BPF_CORE_READ((struct mm_struct___owner *)mm, owner, group_leader);
    return owner && owner != leader && is_visible(owner) ? COUNTS_FOR_OWNER : COUNTS_HERE;
}

/* If the owner of a shared mm changes during the sum, the mm may count twice or not at all. So all processes that share it are
 * inexact. */
static __always_inline void add_rss(struct sum *sum, struct task_struct *leader, struct mm_struct *mm)
{
    enum share share = share_of(leader, exact_rss_number(mm));

    exact_rss_prepare(&sum->walk, mm);
    for (u32 i = 0; i == 0 || (i < 3 && sum->walk.rss.moved); i++)
        exact_rss_read_once(&sum->walk, leader, mm);
    if (share != IS_NOT_SHARED)
        sum->walk.rss.moved = 1;
    if (share != COUNTS_FOR_OWNER) {
        add_to_group(&sum->all, &sum->walk.rss);
        return;
    }
    count_inexact(&sum->all, &sum->walk.rss);
    if (exact_rss_scheme() == EXACT_RSS_THREAD)
        add_cached(&sum->all, &sum->walk.rss);
}

static long add_to_sum(u32 i, struct sum *sum)
{
    struct task_struct *leader = next_leader(&sum->list, i == 0);
    struct mm_struct *mm;

    if (!leader)
        return 1;
    mm = exact_rss_mm_by(&sum->walk, leader);
    if (!mm || exact_rss_scheme() == EXACT_RSS_UNKNOWN || !is_visible(leader))
        return 0;
    sum->all.processes++;
    sum->all.threads += threads_of(leader);
    add_rss(sum, leader, mm);
    return 0;
}

static __noinline void print_all_as_other(struct seq_file *seq)
{
    struct sum sum = {.list = all_processes()};

    bpf_loop(EXACT_RSS_MANY, add_to_sum, &sum, 0);
    for (u32 family = 0; family < FAMILIES; family++) {
        print_head(seq, family);
        print_other(seq, family, &sum.all);
    }
}

#endif
