/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The kernel's own figures for the highest rss of a process at its end; userspace looks them up by TGID. */
#ifndef RSSLAG_ENDS_BPF_H
#define RSSLAG_ENDS_BPF_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, RSSLAG_END_SLOTS);
    __type(key, u32);
    __type(value, struct rsslag_end);
} ends SEC(".maps");



/* VmHWM: the maximum of hiwater_rss and the current counters (include/linux/mm.h get_mm_hiwater_rss). Userspace treats
 * 0 as unknown. */
static __always_inline u64 high_water(struct mm_struct *mm)
{
    u64 most = BPF_CORE_READ(mm, hiwater_rss);
    s64 flushed[EXACT_RSS_MEMBERS];
    u64 now = 0;

    if (!bpf_core_field_exists(((struct mm_struct___cpu *)0)->rss_stat[0].count))
        return most;
    exact_rss_flushed_cpu(flushed, mm);
    EXACT_RSS_EACH_OF_RSS(m, now += exact_rss_clamped(flushed[m]));
    return now > most ? now : most;
}

/* Called when the last task of a group ends. Before 6.16 the task has already left its mm. */
static __always_inline void note_end(struct task_struct *task, u32 tgid)
{
    u32 index = tgid & (RSSLAG_END_SLOTS - 1);
    struct rsslag_end *end = bpf_map_lookup_elem(&ends, &index);
    struct mm_struct *mm = BPF_CORE_READ(task, mm);

    if (!end)
        return;
    *(volatile rsslag_s32 *)&end->tgid = 0; /* userspace reads concurrently */
    *(volatile rsslag_u64 *)&end->max_rss = BPF_CORE_READ(task, signal, maxrss);
    *(volatile rsslag_u64 *)&end->high_water = mm ? high_water(mm) : 0;
    *(volatile rsslag_s32 *)&end->tgid = tgid;
}

#endif
