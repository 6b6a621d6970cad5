/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Who is traced. An update counts where its mm or the group of the task that made it is traced. Most tasks of a machine
 * are not, so that is told by one load each from a table of this object, and most often by what is in front of it.
 *
 * The hash maps `mms` and `groups` say who is traced: who puts a key there first, or takes it away, is one CPU, as the
 * kernel locks the bucket. That CPU alone changes the slot in the table, by an atomic add: a slot holds the sum of the
 * codes of all that are traced there. Nobody: 0. One: its code, which is no sum of several, as those differ in the number
 * of codes, which is in the low bits. Several: the hash map tells. (5.10 has no other atomic than a plain add.)
 */
#ifndef RSSLAG_FILTER_BPF_H
#define RSSLAG_FILTER_BPF_H

/* Written here, but for follow. */
struct rsslag_filter filter;

/* An mm's key is its distance from `filter`, as a program can tell that of a pointer at no cost; bit 0: of an mm that is
 * being torn down. */
#define MM_ENDS 1ULL

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, u64);
    __type(value, u32);
} mms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, u32);
    __type(value, u32);
} groups SEC(".maps");

/* As exact_rss_number(), for the hot path: the verifier takes the difference of two pointers for a number. */
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

/* 57 bits of the address, 3 for how many of them end, 4 for how many there are. */
#define MM_CODE(key) (((key) << 7) + 1)
#define MM_ENDS_CODE 16
/* Fibonacci hashing takes the high bits of the product: mm_structs come from a slab, the low ones say little. */
#define MM_SLOT(key) (((key) * 0x9e3779b97f4a7c15ULL) >> 52 & (RSSLAG_MM_SLOTS - 1))

#define GROUP_CODE(tgid) (((u64)(tgid) << 16) + 1)
#define GROUP_SLOT(tgid) ((tgid) & (RSSLAG_GROUP_SLOTS - 1))

/* A coarse filter in front of the table, within one page of memory: the table is 16 of them, and a look at one that no
 * cache has costs more than all the rest. Each slot counts the mms and groups in its part of the table. It is raised
 * before the table and lowered after it: what the table has, this never turns away. */
#define COARSE_SLOTS 64
rsslag_u64 coarse[COARSE_SLOTS] __attribute__((aligned(sizeof(rsslag_u64) * COARSE_SLOTS)));

#define COARSE_MM(mm) (&coarse[MM_SLOT(mm) / (RSSLAG_MM_SLOTS / COARSE_SLOTS)])
#define COARSE_GROUP(tgid) (&coarse[(tgid) & (COARSE_SLOTS - 1)])

static __always_inline bool may_be_traced(u64 mm, u32 tgid)
{
    return *COARSE_MM(mm) || *COARSE_GROUP(tgid);
}

enum mm_state { NOT_TRACED, TRACED, ENDING };

/* Several share the slot. */
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

/* Also where one that has ended had its address. false: there is no room. */
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

/* false: there is no room to note it. */
static __always_inline bool mm_ends(u64 mm)
{
    u64 ends = mm | MM_ENDS;
    u32 one = 1;

    if (!bpf_map_update_elem(&mms, &ends, &one, BPF_NOEXIST))
        __sync_fetch_and_add(&filter.mm[MM_SLOT(mm)], MM_ENDS_CODE);
    else if (!bpf_map_lookup_elem(&mms, &ends))
        return false;
    return true;
}

/* The address belongs to somebody else by now. */
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

/* Whether an update of this mm is to be emitted; notices where the mm ends, and that its address is somebody else's. */
static __always_inline bool still_traced(u64 mm, enum mm_state state, int users, bool by_traced)
{
    if (users == 0) {
        if (state == TRACED && !mm_ends(mm))
            count_lost_room();
        return true;
    }
    if (state != ENDING)
        return true;
    untrace_mm(mm);
    return by_traced;
}

static __always_inline bool trace_group(u32 tgid)
{
    u32 one = 1;

    if (bpf_map_update_elem(&groups, &tgid, &one, BPF_NOEXIST))
        return bpf_map_lookup_elem(&groups, &tgid);
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

#endif
