/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Prints the sums as Prometheus text 0.0.4: one metric after another, each with the lines of all groups. */
#ifndef RSSLAG_PROMETHEUS_BPF_H
#define RSSLAG_PROMETHEUS_BPF_H

/* Printing stops at a task once this number is reached. Six lines of a group take less than 1.2 KiB, so the lines
 * of a task take less than 16 KiB. A group has 11 lines, and there are no more groups than tasks: less than a fifth
 * of the tasks, rounded up, prints all groups. The other tasks may end between two reads. */
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

/* To be called at a later task or after the last one, because only then the last output is certain to have fitted. */
static __always_inline bool all_printed(const struct session *session)
{
    return session->next >= FAMILIES * (GROUPS + 1);
}

static long write_all(u32 i, struct printing *it)
{
    bpf_seq_write(it->seq, it->session->groups, sizeof(it->session->groups));
    return 0;
}

/* Writes more than the seq_file's buffer holds with any page size, so that the read fails with E2BIG. */
static __always_inline void overflow(struct seq_file *seq)
{
    struct printing it = {.seq = seq};
    u32 zero = 0;

    it.session = bpf_map_lookup_elem(&sessions, &zero);
    if (it.session)
        bpf_loop(32, write_all, &it, 0);
}

#endif
