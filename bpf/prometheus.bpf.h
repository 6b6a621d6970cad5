/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Prints the sums as Prometheus text 0.0.4: one metric after another, each with the lines of all groups. */
#ifndef RSSLAG_PROMETHEUS_BPF_H
#define RSSLAG_PROMETHEUS_BPF_H

/* Printing stops at a task once this number is reached. Six lines of a group take less than 1.2 KiB, so the lines
 * of a task take less than 16 KiB. A group has 11 lines, and there are no more groups than tasks: less than a fifth
 * of the tasks, rounded up, prints all groups. The other tasks may end between two reads. If more end, print_rest()
 * prints what is left. */
#define LINES_PER_TASK 64

enum family { RESIDENT, SWAP, PROCESSES, THREADS, INEXACT, FAMILIES };

static __always_inline s64 bytes(s64 pages)
{
    return pages * page_kib * 1024;
}

#define PRINT_HEAD(seq, name, help) \
    do { \
        static const char kHead[] = "# HELP " name " " help "\n# TYPE " name " gauge\n"; \
        bpf_seq_write(seq, kHead, sizeof(kHead) - 1); \
    } while (0)

static __noinline void print_head(struct seq_file *seq, u32 family)
{
    if (family == RESIDENT)
        PRINT_HEAD(seq, "rsslag_process_resident_memory_bytes", RSSLAG_HELP_RESIDENT);
    else if (family == SWAP)
        PRINT_HEAD(seq, "rsslag_process_swap_bytes", RSSLAG_HELP_SWAP);
    else if (family == PROCESSES)
        PRINT_HEAD(seq, "rsslag_processes", RSSLAG_HELP_PROCESSES);
    else if (family == THREADS)
        PRINT_HEAD(seq, "rsslag_threads", RSSLAG_HELP_THREADS);
    else
        PRINT_HEAD(seq, "rsslag_processes_inexact", RSSLAG_HELP_INEXACT);
}

static const char member_names[EXACT_RSS_MEMBERS][8] = EXACT_RSS_NAMES;

#define PRINT_MEMBER(seq, label, group, member) \
    BPF_SEQ_PRINTF(seq, \
                   "rsslag_process_resident_memory_bytes{comm=\"%s\",member=\"%s\",part=\"flushed\"} %lld\n" \
                   "rsslag_process_resident_memory_bytes{comm=\"%s\",member=\"%s\",part=\"cached\"} %lld\n", \
                   label, member_names[member], bytes((group)->flushed[member]), \
                   label, member_names[member], bytes((group)->cached[member]))

/* Returns the number of lines. */
static __noinline u32 print_resident(struct seq_file *seq, const char *label, const struct group *group)
{
    u32 lines = 0;

    EXACT_RSS_EACH_OF_RSS(m, PRINT_MEMBER(seq, label, group, m); lines += 2);
    return lines;
}

/* Returns the number of lines. */
static __always_inline u32 print_values_of(struct seq_file *seq, u32 family, const char *label, const struct group *group)
{
    switch (family) {
    case RESIDENT:
        return print_resident(seq, label, group);
    case SWAP:
        BPF_SEQ_PRINTF(seq,
                       "rsslag_process_swap_bytes{comm=\"%s\",part=\"flushed\"} %lld\n"
                       "rsslag_process_swap_bytes{comm=\"%s\",part=\"cached\"} %lld\n",
                       label, bytes(group->flushed[EXACT_RSS_SWAP]), label, bytes(group->cached[EXACT_RSS_SWAP]));
        return 2;
    case PROCESSES:
        BPF_SEQ_PRINTF(seq, "rsslag_processes{comm=\"%s\"} %u\n", label, group->processes);
        return 1;
    case THREADS:
        BPF_SEQ_PRINTF(seq, "rsslag_threads{comm=\"%s\"} %u\n", label, group->threads);
        return 1;
    default:
        BPF_SEQ_PRINTF(seq, "rsslag_processes_inexact{comm=\"%s\"} %u\n", label, group->inexact);
        return 1;
    }
}

/* Prints `sum` as `other`, which is always the last group of a family. */
static __noinline void print_other(struct seq_file *seq, u32 family, const struct group *sum)
{
    if (sum->processes)
        print_values_of(seq, family, "other", sum);
}

static __noinline u32 print_group(struct seq_file *seq, struct session *session, u32 family, u32 at)
{
    struct escaping it = {.label = 1};
    struct group *group = group_at(session, at);

    if (!group || !group->processes)
        return 0;
    if (at == GROUPS)
        __builtin_memcpy(it.comm, "other", 6);
    else
        bpf_probe_read_kernel(it.comm, sizeof(it.comm), group->name);
    escape(&it);
    it.text[it.used & (ESCAPED_COMM_LEN - 1)] = 0;
    return print_values_of(seq, family, it.text, group);
}

struct printing {
    struct seq_file *seq;
    struct session *session;
    u32 item;
    u32 lines;
};

/* The items are the groups of the first family, then those of the second, and so on. */
static long print_item(u32 i, struct printing *it)
{
    u32 family = it->item / (GROUPS + 1);
    u32 at = it->item % (GROUPS + 1);

    if (family >= FAMILIES || it->lines >= LINES_PER_TASK)
        return 1;
    if (at == 0)
        print_head(it->seq, family);
    it->lines += print_group(it->seq, it->session, family, at);
    it->item++;
    return 0;
}

static __always_inline void print_some(struct seq_file *seq, struct session *session, u64 visit)
{
    struct printing it = {.seq = seq, .session = session};

    if (session->visit != visit)
        session->start = session->next;
    session->visit = visit;
    it.item = session->start;
    bpf_loop(FAMILIES * (GROUPS + 1), print_item, &it, 0);
    session->next = it.item;
}

/* Only at a later task or after the last one, because not before then the last output is certain to have fitted. */
static __always_inline bool all_printed(const struct session *session, u64 visit, bool task)
{
    return session->next >= FAMILIES * (GROUPS + 1) && (!task || session->visit != visit);
}

struct folding {
    struct session *session;
    u32 first;
    u32 pad;
};

static long fold_group(u32 i, struct folding *it)
{
    struct group *rest = &it->session->rest;
    struct group *group = group_at(it->session, it->first + i);

    if (!group)
        return 1;
    if (!group->processes)
        return 0;
    EXACT_RSS_EACH(m, rest->flushed[m] += group->flushed[m]);
    EXACT_RSS_EACH(m, rest->cached[m] += group->cached[m]);
    rest->processes += group->processes;
    rest->threads += group->threads;
    rest->inexact += group->inexact;
    return 0;
}

/* Prints the sum of the groups that the family still lacks as `other`. */
static long print_rest_of_family(u32 family, struct printing *it)
{
    u32 begun = it->item / (GROUPS + 1);
    struct folding folding = {.session = it->session};

    if (family < begun)
        return 0;
    if (family == begun)
        folding.first = it->item % (GROUPS + 1);
    if (folding.first == 0)
        print_head(it->seq, family);
    __builtin_memset(&it->session->rest, 0, sizeof(it->session->rest));
    bpf_loop(GROUPS + 1, fold_group, &folding, 0);
    print_other(it->seq, family, &it->session->rest);
    return 0;
}

/* To be called after the last task, if the tasks were too few to print everything, and in a spare slot. The output takes less
 * than 24 KiB. The kernel repeats the call after the last task if that did not fit behind the output of the last
 * tasks, so `session` keeps its slot and its position. */
static __always_inline void print_rest(struct seq_file *seq, struct session *session)
{
    struct printing it = {.seq = seq, .session = session, .item = session->next};

    bpf_loop(FAMILIES * (GROUPS + 1), print_item, &it, 0);
    bpf_loop(FAMILIES, print_rest_of_family, &it, 0);
}

/* The iterator may show tasks that have started since. */
static __always_inline bool rest_is_printed(struct seq_file *seq)
{
    struct bpf_iter_priv_data *iterator = iterator_of((struct seq_file___session *)seq);

    return BPF_CORE_READ(iterator, done_stop);
}

#endif
