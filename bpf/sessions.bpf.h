/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The readers of rss.prom. Each open file is a session (bpf_iter_meta.session_id). It has a slot for its sums from its
 * first task to its last line, however long the reader waits between two reads. No program runs when a file is closed early, so a
 * reader takes a slot that is free or whose file is closed. If there is none, it takes a spare slot, and the call at
 * its first task prints everything that it will get: some groups, and the others as `other`. A spare slot is free again
 * after that call. If there is no spare slot either, that call sums all processes on its stack and prints `other` alone.
 * So no reader waits for another one, which it may have preempted, and none gets an error. */
#ifndef RSSLAG_SESSIONS_BPF_H
#define RSSLAG_SESSIONS_BPF_H

#define GROUPS 512
#define SESSIONS 112
#define SPARE 16
#define SLOTS (SESSIONS + SPARE)
#define SHARED_MMS 256
#define NO_GROUP (GROUPS + 1)

struct group {
    u64 name[2]; /* task_struct.comm */
    s64 flushed[EXACT_RSS_MEMBERS];
    s32 cached[EXACT_RSS_MEMBERS];
    u32 processes; /* 0: unused */
    u32 threads;
    u32 inexact; /* processes that the file `rss` marks with + or ~ */
    u32 pad;
};

/* The group in which an mm counts that several processes share. */
struct shared_mm {
    u64 mm;
    u32 group;
    u32 pad;
};

enum session_state { IDLE, FILLING };

struct session {
    u64 id;   /* 0: none */
    u64 seq;  /* struct seq_file */
    u64 file; /* struct file */
    u32 state;
    u32 shared; /* number of shared_mms */
    u64 visit;  /* bpf_iter_meta.seq_num of the last task; it is shown again if its output did not fit */
    u32 start;  /* first item printed at that task */
    u32 next;   /* first item not printed at that task */
    struct process process;
    struct shared_mm shared_mms[SHARED_MMS];
    struct group groups[GROUPS + 1]; /* the last one is `other`, for names that do not fit */
    struct group rest;               /* of print_rest() */
};

/* The last SPARE slots are the spare ones. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, SLOTS);
    __type(key, u32);
    __type(value, struct session);
} sessions SEC(".maps");

/* From a session's id to its slot. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 2 * SESSIONS);
    __type(key, u64);
    __type(value, u32);
} slots SEC(".maps");

/* include/linux/seq_file.h */
struct seq_file___session {
    struct file *file;
    void *private;
};

/* include/linux/fs.h: the number of references, since 6.13 as file_ref_t, which is negative after the last one */
struct file___count {
    void *private_data;
    atomic_long_t f_count;
};

struct file___ref {
    struct {
        atomic_long_t refcnt;
    } f_ref;
};

/* kernel/bpf/bpf_iter.c */
struct bpf_iter_priv_data {
    u64 session_id;
    bool done_stop; /* the output of the call after the last task has fitted */
    u8 target_private[0];
};

static __always_inline struct bpf_iter_priv_data *iterator_of(struct seq_file___session *seq)
{
    char *private = BPF_CORE_READ(seq, private);

    return (void *)(private - bpf_core_field_offset(struct bpf_iter_priv_data, target_private));
}

static __always_inline bool has_references(struct file___count *file)
{
    long references = 0;

    if (bpf_core_field_exists(file->f_count)) {
        bpf_core_read(&references, sizeof(references), &file->f_count);
        return references > 0;
    }
    bpf_core_read(&references, sizeof(references), &((struct file___ref *)file)->f_ref);
    return references >= 0;
}

/* True as long as the session's file is open. After that, the kernel may have used the memory again, so all of it must
 * still be what it was: the file leads to the seq_file, and the seq_file to this session. */
static __noinline bool is_open(const struct session *session)
{
    struct file___count *file = (void *)session->file;
    struct seq_file___session *seq = (void *)session->seq;
    struct bpf_iter_priv_data *iterator;

    if (!session->id || !has_references(file) || (u64)BPF_CORE_READ(file, private_data) != (u64)seq)
        return false;
    iterator = iterator_of(seq);
    return BPF_CORE_READ(iterator, session_id) == session->id;
}

static __always_inline struct session *session_of(u64 id)
{
    u32 *slot = bpf_map_lookup_elem(&slots, &id);

    return slot ? bpf_map_lookup_elem(&sessions, slot) : 0;
}

/* The verifier needs the bounds check right before the use. barrier_var() keeps the compiler from omitting a check that
 * it can prove. */
static __always_inline struct group *group_at(struct session *session, u32 at)
{
    u64 index = at;

    barrier_var(index);
    if (index > GROUPS)
        return 0;
    barrier_var(index);
    return &session->groups[index];
}

static __always_inline void end_session(struct session *session)
{
    bpf_map_delete_elem(&slots, &session->id);
    __sync_lock_test_and_set(&session->id, 0);
}

static __always_inline bool lock_slot(struct session *session)
{
    return __sync_val_compare_and_swap(&session->state, IDLE, FILLING) == IDLE;
}

static __always_inline void unlock_slot(struct session *session)
{
    __sync_lock_test_and_set(&session->state, IDLE);
}

struct claim {
    u32 slot; /* SLOTS: none */
    u32 pad;
};

static long try_slot(u32 i, struct claim *claim)
{
    u32 slot = i;
    struct session *session = bpf_map_lookup_elem(&sessions, &slot);

    if (!session || is_open(session) || !lock_slot(session))
        return 0;
    if (is_open(session)) { /* another reader was faster */
        unlock_slot(session);
        return 0;
    }
    claim->slot = slot;
    return 1;
}

static long try_spare(u32 i, struct claim *claim)
{
    u32 slot = SESSIONS + i;
    struct session *session = bpf_map_lookup_elem(&sessions, &slot);

    if (!session || !lock_slot(session))
        return 0;
    claim->slot = slot;
    return 1;
}

static long clear_group(u32 i, struct session **session)
{
    struct group *group = group_at(*session, i);

    if (group)
        __builtin_memset(group, 0, sizeof(*group));
    return 0;
}

/* Returns a slot and locks it: that of the new session `id`, or a spare one, which has no id. Returns NULL if there is
 * none. */
static __noinline struct session *take_slot(struct seq_file *seq, u64 id)
{
    struct claim claim = {.slot = SLOTS};
    struct session *session;

    bpf_loop(SESSIONS, try_slot, &claim, 0);
    if (claim.slot == SLOTS)
        bpf_loop(SPARE, try_spare, &claim, 0);
    session = bpf_map_lookup_elem(&sessions, &claim.slot);
    if (!session)
        return 0;
    bpf_map_delete_elem(&slots, &session->id);
    session->id = 0;
    if (claim.slot < SESSIONS && !bpf_map_update_elem(&slots, &id, &claim.slot, BPF_ANY)) {
        session->seq = (u64)seq;
        session->file = (u64)BPF_CORE_READ((struct seq_file___session *)seq, file);
        session->id = id;
    }
    session->visit = -1;
    session->next = 0;
    session->shared = 0;
    bpf_loop(GROUPS + 1, clear_group, &session, 0);
    return session;
}

#endif
