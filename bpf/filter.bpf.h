/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Who is traced. An update counts where its mm or the group of the task that made it is wanted. Most tasks of a machine
 * are not, so the first test is one load from a table of this object; a hash map is asked only where two share a place.
 */
#ifndef RSSLAG_FILTER_BPF_H
#define RSSLAG_FILTER_BPF_H

#define PF_EXITING 0x4
#define PF_MEMALLOC 0x800
#define CLONE_VM 0x100
#define CLONE_THREAD 0x10000

/* Written by userspace and here. */
struct rsslag_filter filter;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, u64);
    __type(value, u32); /* 1, or 2 once it is being torn down */
} mms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, u32);
    __type(value, u32);
} groups SEC(".maps");

/* As as_number(), for the hot path: the verifier takes the difference of two pointers for a number. */
static __always_inline u64 number_of(const void *pointer)
{
    u64 number = (u64)pointer;

    asm volatile("%0 -= %1" : "+r"(number) : "r"(&filter));
    return number + filter.self;
}

static __always_inline rsslag_u64 *mm_place(u64 mm)
{
    return &filter.mm[RSSLAG_MM_PLACE(mm)];
}

enum mm_state { UNWANTED, WANTED, DYING };

static __always_inline enum mm_state mm_state(u64 mm)
{
    u64 place = *mm_place(mm);
    u32 *elsewhere;

    if (place == mm)
        return WANTED;
    if (place == (mm | 1))
        return DYING;
    if (!filter.mms_elsewhere)
        return UNWANTED;
    elsewhere = bpf_map_lookup_elem(&mms, &mm);
    return !elsewhere ? UNWANTED : *elsewhere == 1 ? WANTED : DYING;
}

static __always_inline bool group_wanted(u32 tgid)
{
    u32 place = filter.group[RSSLAG_GROUP_PLACE(tgid)];

    if (place == tgid)
        return true;
    return filter.groups_elsewhere && bpf_map_lookup_elem(&groups, &tgid);
}

/* false: there is no room. */
static __always_inline bool want_mm(u64 mm)
{
    rsslag_u64 *place = mm_place(mm);
    u32 one = 1;

    if (!*place || *place & 1 || *place == mm) {
        *place = mm;
        return true;
    }
    if (bpf_map_update_elem(&mms, &mm, &one, BPF_ANY))
        return false;
    __sync_fetch_and_add(&filter.mms_elsewhere, 1);
    return true;
}

static __always_inline void mm_dies(u64 mm)
{
    rsslag_u64 *place = mm_place(mm);
    u32 *elsewhere;

    if (*place == mm) {
        *place = mm | 1;
        return;
    }
    elsewhere = bpf_map_lookup_elem(&mms, &mm);
    if (elsewhere)
        *elsewhere = 2;
}

/* The address belongs to somebody else by now. */
static __always_inline void unwant_mm(u64 mm)
{
    rsslag_u64 *place = mm_place(mm);

    if ((*place & ~1ULL) == mm)
        *place = 0;
    else if (!bpf_map_delete_elem(&mms, &mm))
        __sync_fetch_and_add(&filter.mms_elsewhere, -1);
}

/* Whether an update of this mm is to be told; notices where the mm ends, and that its address is somebody else's. */
static __always_inline bool still_wanted(u64 mm, enum mm_state state, int users, bool by_wanted)
{
    if (users == 0) {
        if (state == WANTED)
            mm_dies(mm);
        return true;
    }
    if (state != DYING)
        return true;
    unwant_mm(mm);
    return by_wanted;
}

static __always_inline bool want_group(u32 tgid)
{
    rsslag_u32 *place = &filter.group[RSSLAG_GROUP_PLACE(tgid)];
    u32 one = 1;

    if (!*place || *place == tgid) {
        *place = tgid;
        return true;
    }
    if (bpf_map_update_elem(&groups, &tgid, &one, BPF_ANY))
        return false;
    __sync_fetch_and_add(&filter.groups_elsewhere, 1);
    return true;
}

static __always_inline void unwant_group(u32 tgid)
{
    rsslag_u32 *place = &filter.group[RSSLAG_GROUP_PLACE(tgid)];

    if (*place == tgid)
        *place = 0;
    else if (filter.groups_elsewhere && !bpf_map_delete_elem(&groups, &tgid))
        __sync_fetch_and_add(&filter.groups_elsewhere, -1);
}

#endif
