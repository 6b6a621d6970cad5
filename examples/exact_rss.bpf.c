// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Exact RSS of every process from a BPF program of your own, by nothing but one header of rsslag:
//
//     clang -target bpf -mcpu=v3 -O2 -g -I../vmlinux -I../include -c exact_rss.bpf.c
//     sudo bpftool iter pin exact_rss.bpf.o /sys/fs/bpf/exact_rss && sudo cat /sys/fs/bpf/exact_rss
//
// In the place of ../vmlinux, whatever `bpftool btf dump file /sys/kernel/btf/vmlinux format c` wrote as vmlinux.h will do.
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "rsslag/exact_rss.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* One line a process, in pages. `+`: others hold its memory, too, and may cache a part; `~`: it moved meanwhile. */
SEC("iter/task")
int exact_rss(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    struct exact_rss rss;
    s64 flushed, exact;

    if (!task || task->pid != task->tgid || !exact_rss_read(task, exact_rss_mm(task), &rss))
        return 0;
    exact = exact_rss_total(&rss);
    flushed = rss.flushed[EXACT_RSS_FILE] + rss.flushed[EXACT_RSS_ANON] + rss.flushed[EXACT_RSS_SHMEM];
    BPF_SEQ_PRINTF(ctx->meta->seq, "%d flushed %lld cached %lld exact %lld %s%s\n", task->tgid, flushed, exact - flushed, exact,
                   rss.foreign ? "+" : "", rss.moved ? "~" : "");
    return 0;
}
