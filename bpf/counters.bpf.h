/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* How kernels keep mm->rss_stat; which of these a kernel has is told from its BTF by userspace/probe/traits.cpp. */
#ifndef RSSLAG_COUNTERS_BPF_H
#define RSSLAG_COUNTERS_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* `thread` scheme, 2.6.34 (34e55232e59f) to 6.1, and `plain`, which lacks task_struct.rss_stat. */
struct mm_rss_stat___thread {
    atomic_long_t count[4];
};

struct mm_struct___thread {
    struct mm_rss_stat___thread rss_stat;
};

struct task_rss_stat___thread {
    int events;
    int count[4];
};

struct task_struct___thread {
    struct task_rss_stat___thread rss_stat;
};

/* `cpu` scheme, from 6.2 (f1a7941243c1). */
struct mm_struct___cpu {
    struct percpu_counter rss_stat[4];
};

#pragma clang attribute pop

#endif
