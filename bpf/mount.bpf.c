// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The files of `rsslag mount`: iterators pinned in a bpffs, which produce their text when they are read. They need
 * no daemon and no event stream, and their readers need no capability. Parallel readers are independent: `rss` and
 * `self` keep no state between calls, rss.prom keeps its sums by session (sessions.bpf.h). The iterator shows a task
 * again if its output did not fit; the task must count only once. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "rsslag/abi.h"
#include "rsslag/exact_rss.bpf.h"
#include "rsslag/metric_help.h"
#include "pids.bpf.h"
#include "escape.bpf.h"
#include "process.bpf.h"
#include "groups.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile unsigned int page_kib = 4;

static __always_inline s64 kib(s64 pages)
{
    return pages * page_kib;
}

#include "prometheus.bpf.h"
#include "other.bpf.h"

static __noinline void print_comm(struct seq_file *seq, struct task_struct *leader)
{
    struct escaping it = {};

    bpf_probe_read_kernel_str(it.comm, sizeof(it.comm), &leader->comm);
    escape(&it);
    it.text[it.used] = '\n';
    bpf_seq_write(seq, it.text, it.used + 1);
}

/* "+": the mm has other users, and what their threads cache is missing. "~": the mm changed while it was read. */
static __always_inline void print_marks(struct seq_file *seq, const struct exact_rss *rss)
{
    if (rss->foreign)
        bpf_seq_write(seq, "+", 1);
    if (rss->moved)
        bpf_seq_write(seq, "~", 1);
    bpf_seq_write(seq, " ", 1);
}

static __noinline void print_line(struct seq_file *seq, const struct process *process)
{
    const struct exact_rss *rss = &process->rss;

    BPF_SEQ_PRINTF(seq, "%d %u %lld %lld %lld %lld %lld %lld %lld %u", process->pid, process->uid,
                   kib(shown(rss, EXACT_RSS_FILE)), kib(shown(rss, EXACT_RSS_ANON)), kib(shown(rss, EXACT_RSS_SHMEM)),
                   kib(shown(rss, EXACT_RSS_SWAP)), kib(shown_total(rss)), kib(cached_total(rss)), kib(lag(rss)),
                   process->threads);
}

/* One line for each process, in the iterator's order: by ascending TID of the leader. */
SEC("iter/task")
int rsslag_rss(struct bpf_iter__task *ctx)
{
    static const char kHeader[] = "pid uid file anon shmem swap rss cached lag threads comm\n";
    struct seq_file *seq = ctx->meta->seq;
    struct task_struct *task = ctx->task;
    struct process process = {};

    if (!task)
        return 0;
    if (ctx->meta->seq_num == 0)
        bpf_seq_write(seq, kHeader, sizeof(kHeader) - 1);
    if (task->pid != task->tgid || !read_process(task, &process))
        return 0;
    print_line(seq, &process);
    print_marks(seq, &process.rss);
    print_comm(seq, task);
    return 0;
}

static __noinline void print_values(struct seq_file *seq, const struct process *process)
{
    const struct exact_rss *rss = &process->rss;

    BPF_SEQ_PRINTF(seq, "pid %d\nuid %u\nfile %lld\nanon %lld\nshmem %lld\nswap %lld\nrss %lld\ncached %lld\nlag %lld\n",
                   process->pid, process->uid, kib(shown(rss, EXACT_RSS_FILE)), kib(shown(rss, EXACT_RSS_ANON)),
                   kib(shown(rss, EXACT_RSS_SHMEM)), kib(shown(rss, EXACT_RSS_SWAP)), kib(shown_total(rss)),
                   kib(cached_total(rss)), kib(lag(rss)));
    BPF_SEQ_PRINTF(seq, "threads %u\nforeign %d\nmoved %d\ncomm ", process->threads, rss->foreign, rss->moved);
}

/* Prints the reading process, in the call after the last task. Userspace limits the iterator to one task, so it
 * does not visit all tasks. The output always fits into that call. */
SEC("iter/task")
int rsslag_self(struct bpf_iter__task *ctx)
{
    struct task_struct *self = (struct task_struct *)bpf_get_current_task();
    struct task_struct *leader = BPF_CORE_READ(self, group_leader);
    struct seq_file *seq = ctx->meta->seq;
    struct process process = {};

    if (ctx->task || !read_process(leader, &process))
        return 0;
    print_values(seq, &process);
    print_comm(seq, leader);
    return 0;
}

static __always_inline void begin(struct seq_file *seq, u64 id)
{
    struct session *session = take_slot(seq, id);

    if (!session) {
        print_all_as_other(seq);
        return;
    }
    fill_session(session);
    if (session->id)
        print_some(seq, session, 0);
    else
        print_rest(seq, session);
    unlock_slot(session);
}

/* A read that shows a million tasks (MAX_ITER_OBJECTS, kernel/bpf/bpf_iter.c) without any output fails with EAGAIN. So every
 * SILENT_TASKS tasks after the end of the text an empty line follows, which readers of the format ignore. */
#define SILENT_TASKS 8192

/* Sums over the processes with the same name. The iterator may also show tasks that have started after the end of the session. */
SEC("iter/task")
int rsslag_prom(struct bpf_iter__task *ctx)
{
    struct seq_file *seq = ctx->meta->seq;
    u64 id = ctx->meta->session_id;
    u64 visit = ctx->meta->seq_num;
    bool task = ctx->task;
    struct session *session = session_of(id);

    if (!session) {
        if (task && visit == 0)
            begin(seq, id);
        else if (task && visit % SILENT_TASKS == 0)
            bpf_seq_write(seq, "\n", 1);
        return 0;
    }
    if (all_printed(session, visit, task) || rest_is_printed(seq))
        end_session(session);
    else if (task)
        print_some(seq, session, visit);
    else
        print_rest(seq, session);
    return 0;
}
