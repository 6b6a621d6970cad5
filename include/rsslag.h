/* SPDX-License-Identifier: BSD-2-Clause */
/* librsslag: the exact RSS of processes, for programs that want the number and not the tool.
 *
 *     #include <rsslag.h>                            cc program.c $(pkg-config --cflags --libs rsslag)
 *
 *     struct rsslag_handle *handle;
 *     struct rsslag_reading reading = RSSLAG_READING_INIT;
 *     struct rsslag_error error = RSSLAG_ERROR_INIT;
 *
 *     if (rsslag_open(NULL, &handle, &error) != RSSLAG_OK || rsslag_exact(handle, pid, &reading, &error) != RSSLAG_OK)
 *         errx(1, "%s; %s", error.what, error.remedy);
 *     printf("%lld bytes\n", (long long)(reading.rss * reading.page_size));
 *     rsslag_close(handle);
 *
 * Units. Sizes are counts of pages of `page_size` bytes, signed, unless a name says otherwise (_ns).
 *
 * Words. flushed: what the address space's own counters hold, as /proc/PID/stat shows it. cached: updates that threads or
 * CPUs hold back. exact: flushed + cached. rss: exact file + anon + shmem. lag: what a reader of the flushed counters misses:
 * exact rss less the sum of the flushed file, anon and shmem, each at least 0.
 *
 * Threads. A handle may be used by any number of threads at once; its readings by BPF take turns, so a handle for each thread
 * is faster. After fork() a child must open its own; of its parent's it may only rsslag_close() its copy.
 *
 * What it leaves alone. No global state, no thread, no child process, no signal handler, no limit, no capability is made or
 * changed, nothing is written to stdout or stderr, and nothing is set in the libbpf of the program that uses this: the library
 * has a copy of its own. Descriptors that it holds are closed on exec.
 *
 * Versions. Structures that callers make begin with `size`, which the _INIT macros set. Fields are only added, at the end: an
 * older program gets what it knows of, a newer one gets zeros for what an older library does not know. */
#ifndef RSSLAG_H
#define RSSLAG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RSSLAG_API __attribute__((visibility("default")))
#else
#define RSSLAG_API
#endif

/* What the functions return. */
enum rsslag_status {
    RSSLAG_OK = 0,
    RSSLAG_ERROR_ARGUMENT = 1,    /* the call cannot be meant: a PID that is a thread's, a handle from before a fork() */
    RSSLAG_ERROR_GONE = 2,        /* there is no such process */
    RSSLAG_ERROR_NO_MEMORY = 3,   /* the process has none of its own: a zombie, or a kernel thread */
    RSSLAG_ERROR_DENIED = 4,      /* this process may not; `remedy` says what would let it */
    RSSLAG_ERROR_UNSUPPORTED = 5, /* this kernel or machine cannot */
    RSSLAG_ERROR_IO = 6,          /* reading failed, or a file holds what it should not */
    RSSLAG_ERROR_INTERNAL = 7     /* the library's own fault, or no memory left */
};

/* How a reading was made. One process: BPF, else the file, else status, else smaps_rollup. This process: the file first, as
 * that costs least. All processes: the file, BPF, status, smaps_rollup.
 *
 *              needs                              cost of one process                       tells
 *   BPF        CAP_BPF, CAP_PERFMON, Linux 5.8    50 us for 100 threads                     everything
 *   FILE       `rsslag mount` by root, once       10 us for oneself, else 5 us for each     members, cached, lag
 *                                                 process of the machine
 *   STATUS     a kernel that sums up for it       50 us                                     members, lag
 *   ROLLUP     to be its user, or CAP_SYS_PTRACE  0.2 us a page, so 40 ms a GiB; holds      rss, swap, lag
 *                                                 its mmap_lock meanwhile
 *
 * Whether status is exact here, and whether stat lags, is found out by an experiment with 24 pages of this process's own, once
 * a handle and only when STATUS or ROLLUP is asked; it takes 3 ms. Where other threads of this process touch so much memory
 * meanwhile that it finds nothing, it is made again at a later call, once a second at most. */
enum rsslag_way { RSSLAG_WAY_BPF = 1, RSSLAG_WAY_FILE = 2, RSSLAG_WAY_STATUS = 4, RSSLAG_WAY_ROLLUP = 8 };

/* How this kernel keeps the counters. */
enum rsslag_scheme {
    RSSLAG_SCHEME_UNKNOWN = 0, /* no BTF, or a layout that this version does not know */
    RSSLAG_SCHEME_THREAD = 1,  /* each thread caches its own updates: up to Linux 6.1 */
    RSSLAG_SCHEME_CPU = 2,     /* each CPU caches: from 6.2 */
    RSSLAG_SCHEME_PLAIN = 3    /* nothing is cached */
};

/* What of a reading is known beside rss: what is not is 0 there. */
enum rsslag_known {
    RSSLAG_KNOWN_MEMBERS = 1,   /* exact, by member */
    RSSLAG_KNOWN_FLUSHED = 2,   /* flushed and cached, by member */
    RSSLAG_KNOWN_CACHED = 4,    /* cached_rss */
    RSSLAG_KNOWN_LAG = 8,       /* lag */
    RSSLAG_KNOWN_BOUND = 16,    /* bound and bound_rss */
    RSSLAG_KNOWN_SWAP = 32,     /* exact.swap */
    RSSLAG_KNOWN_THREADS = 64   /* threads */
};

enum rsslag_mark {
    RSSLAG_MARK_MOVED = 1,     /* it moved each of three times that it was read: pages may be missing or count twice */
    RSSLAG_MARK_FOREIGN = 2,   /* others hold its memory too, and what their threads cache is not in it (FILE, scheme THREAD) */
    RSSLAG_MARK_HARD_BOUND = 4 /* the bound is never passed; without this mark it is one that is seldom passed */
};

/* Pages of each counter of an address space. */
struct rsslag_members {
    int64_t file;
    int64_t anon;
    int64_t shmem;
    int64_t swap;
};

/* One process, at one moment. */
struct rsslag_reading {
    uint32_t size;                 /* the caller's sizeof, see Versions */
    int32_t pid;                   /* of the caller's PID namespace */
    uint32_t way;                  /* enum rsslag_way */
    uint32_t scheme;               /* enum rsslag_scheme */
    uint32_t known;                /* enum rsslag_known, or-ed */
    uint32_t marks;                /* enum rsslag_mark, or-ed */
    int64_t page_size;             /* bytes */
    int64_t rss;                   /* exact: file + anon + shmem */
    int64_t cached_rss;            /* of file, anon and shmem together; may be less than 0 */
    int64_t lag;                   /* what /proc/PID/stat misses */
    int64_t bound_rss;             /* the most that may be cached of file, anon and shmem together */
    int64_t threads;               /* as many share the memory */
    int64_t took_ns;               /* what the reading cost; of rsslag_all() that of the whole pass */
    struct rsslag_members exact;
    struct rsslag_members flushed; /* may be less than 0 for a moment */
    struct rsslag_members cached;
    struct rsslag_members bound;   /* the most that may be cached of each member */
    char comm[16];                 /* the name as the kernel has it, any bytes; ends with a 0 */
};
#define RSSLAG_READING_INIT { sizeof(struct rsslag_reading), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0, 0, 0, 0 }, \
        { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0 } }

/* Why not, and what would help. Where a function takes one it may be NULL. */
struct rsslag_error {
    uint32_t size;     /* the caller's sizeof, see Versions */
    int32_t status;    /* enum rsslag_status, what the function returned */
    int32_t err;       /* the errno behind it, or 0 */
    char what[500];    /* what was wrong, a line without its end */
    char remedy[500];  /* what would be right, or empty */
};
#define RSSLAG_ERROR_INIT { sizeof(struct rsslag_error), 0, 0, { 0 }, { 0 } }

struct rsslag_options {
    uint32_t size;         /* the caller's sizeof, see Versions */
    uint32_t ways;         /* enum rsslag_way, or-ed: those that may be used; 0 is all */
    const char *directory; /* where the files of `rsslag mount` are; NULL is /run/rsslag. Copied */
};
#define RSSLAG_OPTIONS_INIT { sizeof(struct rsslag_options), 0, NULL }

struct rsslag_handle; /* a handle */
struct rsslag_list;   /* what rsslag_all() found */

/* Makes a handle. `options` may be NULL. It reads the kernel's types and loads two BPF programs, if it may: some 50 ms, and a
 * handful of descriptors until rsslag_close(). That BPF is refused is no error: rsslag_why_not() tells it, and other ways are
 * used. */
RSSLAG_API int rsslag_open(const struct rsslag_options *options, struct rsslag_handle **handle, struct rsslag_error *error);

/* Takes NULL, too. No other thread may be in a call with this handle. */
RSSLAG_API void rsslag_close(struct rsslag_handle *handle);

/* RSSLAG_OK where this handle may use `way` (one of enum rsslag_way), else what stands in the way. */
RSSLAG_API int rsslag_why_not(struct rsslag_handle *handle, uint32_t way, struct rsslag_error *error);

/* The process whose main thread is `pid`, in the caller's PID namespace. */
RSSLAG_API int rsslag_exact(struct rsslag_handle *handle, int pid, struct rsslag_reading *reading, struct rsslag_error *error);

/* The calling process. */
RSSLAG_API int rsslag_exact_self(struct rsslag_handle *handle, struct rsslag_reading *reading, struct rsslag_error *error);

/* Each process of the caller's PID namespace that has memory of its own, all in the same way. Processes that share memory each
 * come with all of it. By FILE and by BPF 5 us a process. */
RSSLAG_API int rsslag_all(struct rsslag_handle *handle, struct rsslag_list **list, struct rsslag_error *error);

/* As many readings. */
RSSLAG_API size_t rsslag_list_count(const struct rsslag_list *list);

/* As many processes were there that this caller may not read; only by STATUS and ROLLUP. */
RSSLAG_API size_t rsslag_list_unreadable(const struct rsslag_list *list);

/* A copy of reading `index`, ascending by PID. */
RSSLAG_API int rsslag_list_get(const struct rsslag_list *list, size_t index, struct rsslag_reading *reading,
                               struct rsslag_error *error);

/* Takes NULL, too. */
RSSLAG_API void rsslag_list_free(struct rsslag_list *list);

/* Words for what is not an enum of this library are "unknown". They stay the library's. */
RSSLAG_API const char *rsslag_way_name(uint32_t way);
RSSLAG_API const char *rsslag_scheme_name(uint32_t scheme);
/* "0.1.0" */
RSSLAG_API const char *rsslag_version(void);

#ifdef __cplusplus
}
#endif

#endif
