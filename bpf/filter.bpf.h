/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Which groups and mms are traced. An update is traced if its mm is traced, or the group of the task that made it. Most
 * updates on a machine are not traced, so rejecting one must be cheap. A coarse filter rejects most of them, and a
 * table nearly all others, with one load for the mm and one for the group.
 *
 * The hash maps `mms` and `groups` are authoritative. The kernel locks the bucket, so exactly one CPU inserts or
 * deletes a key. Only that CPU changes the table, by an atomic add (5.10 has no other atomic operation). A slot of the
 * table contains the sum of the codes of all traced keys that share it:
 * - 0: no key with this slot is traced.
 * - The code of a key: only this key is traced. The low bits of a code count the codes in a sum, so a sum of several
 *   codes is different.
 * - Any other value: the hash map decides. */
#ifndef RSSLAG_FILTER_BPF_H
#define RSSLAG_FILTER_BPF_H

/* Only programs write to it, except `follow`. */
struct rsslag_filter filter;

/* The key of an mm is its distance from `filter`, which programs can compute from a pointer at no cost. A second
 * key with this bit set exists for an mm that is being torn down. Its value is the time when that started. */
#define MM_ENDS 1ULL

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, u64);
    __type(value, u32);
} mms SEC(".maps");

/* An ended group stays in the map until the kernel frees its leader. Exits and updates of its other tasks may come after
 * the exit that ends it. */
#define GROUP_RUNS 1
#define GROUP_ENDED 2

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, u32);
    __type(value, u32);
} groups SEC(".maps");

/* Like exact_rss_number(), for the hot path: the verifier treats the difference of two pointers as a number. */
static __always_inline u64 key_of(const void *pointer)
{
    u64 key = (u64)pointer;

    asm volatile("%0 -= %1" : "+r"(key) : "r"(&filter));
    return key;
}

static __always_inline u64 address_of(u64 key)
{
    return key + filter.self;
}

static __always_inline u64 key_at(u64 address)
{
    return address - filter.self;
}

/* 57 bits of the key, 3 bits for the number of ending mms, 4 bits for the number of mms. */
#define MM_CODE(key) (((key) << 7) + 1)
#define MM_ENDS_CODE 16
/* Fibonacci hashing uses the high bits of the product. mm_structs are allocated from a slab, so the low bits of their
 * addresses vary little. */
#define MM_SLOT(key) (((key) * 0x9e3779b97f4a7c15ULL) >> 52 & (RSSLAG_MM_SLOTS - 1))

#define GROUP_CODE(tgid) (((u64)(tgid) << 16) + 1)
#define GROUP_SLOT(tgid) ((tgid) & (RSSLAG_GROUP_SLOTS - 1))

/* The coarse filter lies within one page of memory. The table has 16 pages, and a lookup that misses the CPU's cache
 * costs more than the rest of the program. Each slot counts the mms and groups in its part of the table. It is
 * incremented before the table changes and decremented after it, so it never rejects a key that the table contains. */
#define COARSE_SLOTS 64
rsslag_u64 coarse[COARSE_SLOTS] __attribute__((aligned(sizeof(rsslag_u64) * COARSE_SLOTS)));

#define COARSE_MM(mm) (&coarse[MM_SLOT(mm) / (RSSLAG_MM_SLOTS / COARSE_SLOTS)])
#define COARSE_GROUP(tgid) (&coarse[(tgid) & (COARSE_SLOTS - 1)])

static __always_inline bool may_be_traced(u64 mm, u32 tgid)
{
    return *COARSE_MM(mm) || *COARSE_GROUP(tgid);
}

enum mm_state { NOT_TRACED, TRACED, ENDING };

/* Looks the mm up in the hash map, because several mms share the slot. */
static __always_inline enum mm_state mm_state_in_map(u64 mm)
{
    u64 ends = mm | MM_ENDS;

    if (bpf_map_lookup_elem(&mms, &ends))
        return ENDING;
    return bpf_map_lookup_elem(&mms, &mm) ? TRACED : NOT_TRACED;
}

static __always_inline enum mm_state mm_state(u64 mm)
{
    u64 slot = filter.mm[MM_SLOT(mm)];

    if (!slot)
        return NOT_TRACED;
    if (slot == MM_CODE(mm))
        return TRACED;
    if (slot == MM_CODE(mm) + MM_ENDS_CODE)
        return ENDING;
    return mm_state_in_map(mm);
}

static __always_inline bool group_traced(u32 tgid)
{
    u64 slot = filter.group[GROUP_SLOT(tgid)];

    if (!slot)
        return false;
    return slot == GROUP_CODE(tgid) || bpf_map_lookup_elem(&groups, &tgid);
}

/* Traces an mm, even if an ended mm at the same address is still in the map. Returns false if the map is full. */
static __always_inline bool trace_mm(u64 mm)
{
    rsslag_u64 *slot = &filter.mm[MM_SLOT(mm)];
    u64 ends = mm | MM_ENDS;
    u32 one = 1;

    if (!bpf_map_update_elem(&mms, &mm, &one, BPF_NOEXIST)) {
        __sync_fetch_and_add(COARSE_MM(mm), 1);
        __sync_fetch_and_add(slot, MM_CODE(mm));
    } else if (!bpf_map_lookup_elem(&mms, &mm)) {
        return false;
    }
    if (!bpf_map_delete_elem(&mms, &ends))
        __sync_fetch_and_add(slot, -MM_ENDS_CODE);
    return true;
}

/* The unit of the value of an ending mm. */
#define MM_ENDS_SHIFT 20

/* Marks the mm as ending. Returns false if the map is full. */
static __always_inline bool mm_ends(u64 mm)
{
    u64 ends = mm | MM_ENDS;
    u32 since = bpf_ktime_get_ns() >> MM_ENDS_SHIFT;

    if (!bpf_map_update_elem(&mms, &ends, &since, BPF_NOEXIST))
        __sync_fetch_and_add(&filter.mm[MM_SLOT(mm)], MM_ENDS_CODE);
    else if (!bpf_map_lookup_elem(&mms, &ends))
        return false;
    return true;
}

/* Removes an ended mm. */
static __always_inline void untrace_mm(u64 mm)
{
    u64 ends = mm | MM_ENDS;
    rsslag_u64 *slot = &filter.mm[MM_SLOT(mm)];

    if (bpf_map_delete_elem(&mms, &ends))
        return; /* another CPU does it */
    if (bpf_map_delete_elem(&mms, &mm)) {
        __sync_fetch_and_add(slot, -MM_ENDS_CODE);
        return;
    }
    __sync_fetch_and_add(slot, -(MM_CODE(mm) + MM_ENDS_CODE));
    __sync_fetch_and_add(COARSE_MM(mm), -1);
}

/* Returns whether to send an update of this mm. Marks the mm as ending if it has no users, and removes an ended mm if a
 * new one has its address. */
static __always_inline bool still_traced(u64 mm, enum mm_state state, int users, bool by_traced)
{
    if (users == 0) {
        if (state == TRACED && !mm_ends(mm))
            count_lost_map_full();
        return true;
    }
    if (state != ENDING)
        return true;
    untrace_mm(mm);
    return by_traced;
}

/* Traces a group, even if an ended group with the same number is still in the map. Returns false if the map is full. */
static __always_inline bool trace_group(u32 tgid)
{
    u32 runs = GROUP_RUNS;

    if (bpf_map_update_elem(&groups, &tgid, &runs, BPF_NOEXIST))
        return !bpf_map_update_elem(&groups, &tgid, &runs, BPF_EXIST);
    __sync_fetch_and_add(COARSE_GROUP(tgid), 1);
    __sync_fetch_and_add(&filter.group[GROUP_SLOT(tgid)], GROUP_CODE(tgid));
    return true;
}

static __always_inline void untrace_group(u32 tgid)
{
    if (bpf_map_delete_elem(&groups, &tgid))
        return;
    __sync_fetch_and_add(&filter.group[GROUP_SLOT(tgid)], -GROUP_CODE(tgid));
    __sync_fetch_and_add(COARSE_GROUP(tgid), -1);
}

static __always_inline void group_ends(u32 tgid)
{
    u32 ended = GROUP_ENDED;

    bpf_map_update_elem(&groups, &tgid, &ended, BPF_EXIST);
}

/* The leader of a group with this number is freed. Another group may have got the number before. */
static __always_inline void leader_is_freed(u32 tgid)
{
    u32 *state = bpf_map_lookup_elem(&groups, &tgid);

    if (state && *state == GROUP_ENDED)
        untrace_group(tgid);
}

#endif
