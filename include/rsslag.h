/* SPDX-License-Identifier: BSD-2-Clause */
/* librsslag: the exact RSS of processes, as a C library.
 *
 *     #include <rsslag.h>                            cc program.c $(pkg-config --cflags --libs rsslag)
 *
 *     struct rsslag_handle *handle;
 *     struct rsslag_reading reading = RSSLAG_READING_INIT;
 *     struct rsslag_error error = RSSLAG_ERROR_INIT;
 *
 *     if (rsslag_open(NULL, &handle, &error) != RSSLAG_OK || rsslag_exact(handle, pid, &reading, &error) != RSSLAG_OK)
 *         errx(1, "%s; %s", error.what, error.remedy);          the remedy may be empty
 *     printf("%lld bytes\n", (long long)(reading.rss * reading.page_size));
 *     rsslag_close(handle);
 *
 * Units. Sizes are signed numbers of pages of `page_size` bytes. Times (_ns) are in nanoseconds.
 *
 * Terms. flushed: the values of the address space's own counters, on which /proc/PID/stat is based. cached: updates
 * that threads or CPUs have not added to these counters yet. exact: flushed + cached. rss: exact file + anon + shmem.
 * lag: what a reader of the flushed counters misses, i.e. rss minus the sum of the flushed file, anon and shmem, each
 * at least 0.
 *
 * Threads. Any number of threads may use a handle concurrently. Its readings by BPF are serialised, so a handle per
 * thread is faster. After fork() the child must open its own handle; it may only rsslag_close() the parent's.
 *
 * Side effects. The library has no global state. It creates no thread and no child process; it changes no signal
 * handler, limit or capability; it writes nothing to stdout or stderr. It contains its own copy of libbpf and changes
 * no setting of the program's libbpf. Its descriptors are closed on exec.
 *
 * Versions. Structures that the caller creates start with `size`, which the _INIT macros set. Fields are only added, at
 * the end: the library writes no more than `size` bytes and fills fields that it does not have with zeros. */
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

/* Return values. */
enum rsslag_status {
    RSSLAG_OK = 0,
    RSSLAG_ERROR_ARGUMENT = 1,    /* invalid call: e.g. the PID of a thread, or a handle from before a fork() */
    RSSLAG_ERROR_GONE = 2,        /* no such process */
    RSSLAG_ERROR_NO_MEMORY = 3,   /* the process has no memory: a zombie or a kernel thread */
    RSSLAG_ERROR_DENIED = 4,      /* missing privileges; `remedy` names them */
    RSSLAG_ERROR_UNSUPPORTED = 5, /* not possible here: e.g. not mounted, or excluded by options */
    RSSLAG_ERROR_IO = 6,          /* reading failed, or a file has invalid contents */
    RSSLAG_ERROR_INTERNAL = 7     /* a bug in the library, or out of memory */
};

/* How a reading was made. A function uses the first way that works, in this order. rsslag_exact(): BPF, FILE, STATUS,
 * ROLLUP. rsslag_exact_self() and rsslag_all(): FILE, BPF, STATUS, ROLLUP.
 *
 *              requires                           cost of one process                       provides
 *   BPF        CAP_BPF, CAP_PERFMON, Linux 5.8    50 to 200 us for 100 threads              everything
 *   FILE       `rsslag mount` by root, once       10 us for the caller, else 5 us for each  members, cached_rss, lag,
 *                                                 process of the machine                    bound
 *   STATUS     a kernel with an exact status      50 to 150 us                              members, lag, bound
 *   ROLLUP     the same user, or CAP_SYS_PTRACE   up to 0.2 us a page, 50 ms a GiB; holds     rss, swap, lag, bound
 *                                                 the process's mmap_lock meanwhile
 *
 * An experiment with 24 pages of the calling process determines whether status is exact on this kernel, and whether
 * stat lags. It takes 3 ms and runs once per handle, when STATUS or ROLLUP is first used. If other threads touch so
 * much memory that the result is uncertain, a later call repeats the experiment, at most once per second. */
enum rsslag_way { RSSLAG_WAY_BPF = 1, RSSLAG_WAY_FILE = 2, RSSLAG_WAY_STATUS = 4, RSSLAG_WAY_ROLLUP = 8 };

/* How this kernel keeps the counters. */
enum rsslag_scheme {
    RSSLAG_SCHEME_UNKNOWN = 0, /* no BTF, or a layout that this version does not know */
    RSSLAG_SCHEME_THREAD = 1,  /* each thread caches its own updates: Linux 2.6.34 to 6.1 */
    RSSLAG_SCHEME_CPU = 2,     /* each CPU caches updates: from 6.2 */
    RSSLAG_SCHEME_PLAIN = 3    /* nothing is cached */
};

/* The fields of a reading that are known besides rss. Unknown ones are 0. */
enum rsslag_known {
    RSSLAG_KNOWN_MEMBERS = 1,   /* exact, by member */
    RSSLAG_KNOWN_FLUSHED = 2,   /* flushed and cached, by member, with swap */
    RSSLAG_KNOWN_CACHED = 4,    /* cached_rss */
    RSSLAG_KNOWN_LAG = 8,       /* lag */
    RSSLAG_KNOWN_BOUND = 16,    /* bound and bound_rss */
    RSSLAG_KNOWN_SWAP = 32,     /* exact.swap */
    RSSLAG_KNOWN_THREADS = 64   /* threads */
};

enum rsslag_mark {
    RSSLAG_MARK_MOVED = 1,     /* the process changed while it was read; pages may be missing or count twice.
                                * rsslag_exact() by BPF and all functions by FILE read up to three times to avoid it */
    RSSLAG_MARK_FOREIGN = 2,   /* other processes share its memory, and what their threads cache is missing (FILE,
                                * scheme THREAD) */
    RSSLAG_MARK_HARD_BOUND = 4 /* the process never exceeds the bound; without this mark it seldom does */
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
    uint32_t size;                 /* sizeof of the caller's structure, see Versions */
    int32_t pid;                   /* in the caller's PID namespace */
    uint32_t way;                  /* enum rsslag_way */
    uint32_t scheme;               /* enum rsslag_scheme */
    uint32_t known;                /* enum rsslag_known, or-ed */
    uint32_t marks;                /* enum rsslag_mark, or-ed */
    int64_t page_size;             /* bytes */
    int64_t rss;                   /* exact: file + anon + shmem */
    int64_t cached_rss;            /* of file, anon and shmem together; may be negative */
    int64_t lag;                   /* see Terms; by STATUS and ROLLUP: rss minus the rss in /proc/PID/stat */
    int64_t bound_rss;             /* the most that may be cached of file, anon and shmem together */
    int64_t threads;               /* of the process, as in /proc/PID/status */
    int64_t took_ns;               /* duration of the reading; of rsslag_all(): of the whole pass */
    struct rsslag_members exact;
    struct rsslag_members flushed; /* may be negative for a moment */
    struct rsslag_members cached;
    struct rsslag_members bound;   /* the most that may be cached of each member */
    char comm[16];                 /* the kernel's name of the process, any bytes, zero-terminated */
};
#define RSSLAG_READING_INIT { sizeof(struct rsslag_reading), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0, 0, 0, 0 }, \
        { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0 } }

/* The reason for a failure, and the remedy. Written on failure only. Every function accepts NULL instead. */
struct rsslag_error {
    uint32_t size;     /* sizeof of the caller's structure, see Versions */
    int32_t status;    /* enum rsslag_status, as returned */
    int32_t err;       /* the errno that caused it, or 0 */
    char what[500];    /* what failed and why; one line without a newline */
    char remedy[500];  /* what to do about it, or empty */
};
#define RSSLAG_ERROR_INIT { sizeof(struct rsslag_error), 0, 0, { 0 }, { 0 } }

struct rsslag_options {
    uint32_t size;         /* sizeof of the caller's structure, see Versions */
    uint32_t ways;         /* enum rsslag_way, or-ed: the ways that may be used; 0: all */
    const char *directory; /* of the files of `rsslag mount`; NULL: /run/rsslag. Copied */
};
#define RSSLAG_OPTIONS_INIT { sizeof(struct rsslag_options), 0, NULL }

struct rsslag_handle; /* an opened library */
struct rsslag_list;   /* the readings of rsslag_all() */

/* Opens a handle. `options` may be NULL. Reads the kernel's BTF and loads two BPF programs, if permitted. This takes
 * about 50 ms, and a few descriptors until rsslag_close(). It is no error if the kernel refuses BPF: the handle then
 * uses the other ways, and rsslag_why_not() returns the reason. Errors: ARGUMENT, INTERNAL; *handle is NULL then. */
RSSLAG_API int rsslag_open(const struct rsslag_options *options, struct rsslag_handle **handle, struct rsslag_error *error);

/* Closes a handle; NULL is ignored. No other thread may be in a call with the handle. */
RSSLAG_API void rsslag_close(struct rsslag_handle *handle);

/* Checks whether this handle can use `way`, one of enum rsslag_way. RSSLAG_OK: it can, but single processes may still be
 * refused. Otherwise returns the status, and sets `error` to the reason.
 * ARGUMENT: `way` is invalid, or the handle is from before a fork(). May run the experiment (STATUS and ROLLUP). */
RSSLAG_API int rsslag_why_not(struct rsslag_handle *handle, uint32_t way, struct rsslag_error *error);

/* Reads the process whose main thread is `pid`, in the caller's PID namespace. Errors: all of enum rsslag_status;
 * ARGUMENT also if `pid` is a thread that is not the main thread. */
RSSLAG_API int rsslag_exact(struct rsslag_handle *handle, int pid, struct rsslag_reading *reading, struct rsslag_error *error);

/* Reads the calling process. Errors: as rsslag_exact(). */
RSSLAG_API int rsslag_exact_self(struct rsslag_handle *handle, struct rsslag_reading *reading, struct rsslag_error *error);

/* Reads all processes of the caller's PID namespace that have memory, all in the same way. Each process that shares
 * memory is listed with all of it. Takes 5 to 10 us per process by FILE and by BPF. Free the list with rsslag_list_free().
 * Errors: ARGUMENT, DENIED, UNSUPPORTED, IO, INTERNAL; *list is NULL then. */
RSSLAG_API int rsslag_all(struct rsslag_handle *handle, struct rsslag_list **list, struct rsslag_error *error);

/* The number of readings; 0 if `list` is NULL. */
RSSLAG_API size_t rsslag_list_count(const struct rsslag_list *list);

/* The number of processes that this caller may not read; not 0 only by STATUS and ROLLUP. 0 if `list` is NULL. */
RSSLAG_API size_t rsslag_list_unreadable(const struct rsslag_list *list);

/* Copies reading `index`; readings are ascending by PID. ARGUMENT if there are fewer. */
RSSLAG_API int rsslag_list_get(const struct rsslag_list *list, size_t index, struct rsslag_reading *reading,
                               struct rsslag_error *error);

/* Frees a list; NULL is ignored. */
RSSLAG_API void rsslag_list_free(struct rsslag_list *list);

/* The name of an enumerator; "unknown" for any other value. The strings are static. */
RSSLAG_API const char *rsslag_way_name(uint32_t way);
RSSLAG_API const char *rsslag_scheme_name(uint32_t scheme);
/* The version of the library: "0.9.0". The string is static. */
RSSLAG_API const char *rsslag_version(void);

#ifdef __cplusplus
}
#endif

#endif
