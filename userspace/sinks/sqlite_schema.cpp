// SPDX-License-Identifier: BSD-2-Clause
#include "sqlite_schema.h"

namespace rsslag::sinks {

namespace {

constexpr const char *kTables = R"sql(
CREATE TABLE facts (  -- where and how it was recorded, and how it ended
    key TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;
CREATE TABLE trace (             -- one row: what tells this recording's rows from those of others in one table
    trace_id TEXT,               -- of all segments of a recording; NULL, as below: an older recording does not tell
    segment INTEGER NOT NULL,
    host TEXT,
    boot_id TEXT,
    kernel TEXT,                 -- uname -r
    scheme TEXT NOT NULL,        -- thread, cpu, plain
    cpus_online INTEGER NOT NULL,
    page_size INTEGER NOT NULL,  -- bytes
    start_time TEXT NOT NULL     -- of the attach; RFC 3339, UTC
);
CREATE TABLE processes (
    id INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,        -- may be that of an earlier process too
    comm TEXT,                   -- its last name; control and invisible characters as \xNN
    first_t_ns INTEGER NOT NULL, -- ns since the attach, as every t_ns
    last_t_ns INTEGER NOT NULL,
    state TEXT                   -- running, exited, exec: at its last tick; NULL: no tick tells of it
);
CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    process_id INTEGER REFERENCES processes (id),
    tid INTEGER NOT NULL,        -- may be that of an earlier thread too
    comm TEXT,
    first_t_ns INTEGER NOT NULL,
    last_t_ns INTEGER NOT NULL
);
CREATE TABLE mms (               -- address spaces
    id INTEGER PRIMARY KEY,
    process_id INTEGER REFERENCES processes (id),  -- the first process known to have it
    first_t_ns INTEGER NOT NULL,
    last_t_ns INTEGER NOT NULL
);
CREATE TABLE events (            -- every record that the probe sent, in the order of time
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,          -- update, flush, fold, fault, sum, thread_start, thread_end, rename, exec, fork, exit, seen
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    thread_id INTEGER REFERENCES threads (id),
    cpu INTEGER,
    mm_id INTEGER REFERENCES mms (id),
    member TEXT,                 -- file, anon, swap, shmem; NULL: a counter that this rsslag has no name for
    pages INTEGER,               -- change of the member; NULL: a fold whose amount stayed open
    cached INTEGER,              -- pages that the thread or CPU caches after it
    flushed INTEGER,             -- pages in the mm's counter after it; NULL where member is
    reason TEXT,                 -- threshold, zap, exec, exit, direct, fold
    fault TEXT,                  -- user, kernel: mode of the page fault that caused it
    address INTEGER,             -- of that fault
    by_other INTEGER,            -- 1: by a task that is not of the process
    newborn INTEGER,             -- 1: of an mm that is being made
    teardown INTEGER,            -- 1: of an mm that is coming to its end
    known INTEGER,               -- 0: of an mm that was not asked for
    mapping TEXT                 -- what the address is in
);
CREATE TABLE caches (            -- more about events of type fault and sum
    event_id INTEGER PRIMARY KEY REFERENCES events (id),
    file INTEGER,                -- pages that the thread (fault) or CPU (sum) caches; NULL: not reported
    anon INTEGER,
    shmem INTEGER,
    swap INTEGER,
    faults_since_flush INTEGER,  -- of a fault
    updates INTEGER,             -- of a sum: how many it stands for
    of_cpu INTEGER               -- of a sum
);
CREATE TABLE lives (             -- more about events of tasks
    event_id INTEGER PRIMARY KEY REFERENCES events (id),
    comm TEXT,
    host_pid INTEGER,            -- as the kernel numbers them
    host_tid INTEGER,
    parent_host_tid INTEGER,
    old_host_tid INTEGER,        -- of an exec: before it
    shares_mm INTEGER,
    user_faults INTEGER,         -- over the life of the task in the trace, of an end only
    kernel_faults INTEGER
);
CREATE TABLE flushes (           -- events that moved what was cached into the mm's counter: flush and fold
    event_id INTEGER PRIMARY KEY REFERENCES events (id),
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    thread_id INTEGER REFERENCES threads (id),
    cpu INTEGER,
    mm_id INTEGER REFERENCES mms (id),
    member TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE ticks (             -- one process at one tick; counts are since the attach
    id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    t_ns INTEGER NOT NULL,
    time TEXT NOT NULL,          -- RFC 3339, UTC
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    state TEXT NOT NULL,
    reported INTEGER,            -- pages, as /proc/PID/stat said
    walked INTEGER,              -- pages, as the page tables said
    flushed_file INTEGER, flushed_anon INTEGER, flushed_shmem INTEGER, flushed_swap INTEGER, flushed_rss INTEGER,  -- pages
    cached_file INTEGER, cached_anon INTEGER, cached_shmem INTEGER, cached_swap INTEGER, cached_rss INTEGER,       -- pages
    exact_file INTEGER, exact_anon INTEGER, exact_shmem INTEGER, exact_swap INTEGER, exact_rss INTEGER,            -- pages
    lag INTEGER,                 -- pages: exact - flushed, each member of that at least 0
    behind INTEGER,              -- pages: exact - reported, which was read at another moment
    residual INTEGER,            -- pages: walked - exact
    verdict TEXT NOT NULL,       -- agrees, explained, moving, unexplained, unwalked
    updates INTEGER, updates_by_others INTEGER, faults INTEGER, flushes INTEGER,
    lost INTEGER, disagreements INTEGER, resyncs INTEGER,
    image INTEGER,               -- which of its programs held most, from 1 on; 0: what a fork held before the first
    peak_min INTEGER, peak_max INTEGER,  -- pages: the most that its rss was until then, by every record
    peak_t_ns INTEGER,
    peak_tid INTEGER,            -- whose update that was
    peak_lag INTEGER,            -- pages: the most that the counters alone did not show at one instant until then
    peak_lag_t_ns INTEGER
);
CREATE TABLE holders (           -- who cached something at a tick: a thread or a CPU
    tick_id INTEGER NOT NULL REFERENCES ticks (id),
    thread_id INTEGER REFERENCES threads (id),
    cpu INTEGER,
    file INTEGER, anon INTEGER, shmem INTEGER, swap INTEGER, rss INTEGER  -- pages
);
CREATE TABLE readings (          -- counters as they were read, and what the files of /proc said just then
    id INTEGER PRIMARY KEY,
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    tasks INTEGER,
    took_us INTEGER,
    stat INTEGER, statm INTEGER,                     -- pages
    status_rss_kb INTEGER, status_anon_kb INTEGER, status_file_kb INTEGER, status_shmem_kb INTEGER,
    status_swap_kb INTEGER, status_hwm_kb INTEGER,   -- kB of 1,024 bytes
    flushed_file INTEGER, flushed_anon INTEGER, flushed_shmem INTEGER, flushed_swap INTEGER, flushed_rss INTEGER,  -- pages
    cached_file INTEGER, cached_anon INTEGER, cached_shmem INTEGER, cached_swap INTEGER, cached_rss INTEGER        -- pages
);
CREATE TABLE walks (             -- page tables as they were walked
    id INTEGER PRIMARY KEY,
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    file TEXT NOT NULL,          -- smaps_rollup, smaps
    rss_kb INTEGER, pss_kb INTEGER, swap_kb INTEGER,
    took_us INTEGER
);
CREATE TABLE mappings (          -- how mappings changed, and listings of all of a process
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,          -- mapped, moved, named, listed
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    mapping TEXT NOT NULL,       -- what it is called; ~ behind it: by its shape alone
    "from" INTEGER, "to" INTEGER,  -- addresses; to: the first one behind it
    perms TEXT NOT NULL,         -- rw-p
    old_from INTEGER,            -- of one that moved
    held_kb INTEGER,             -- kB of 1,024 bytes that it held; NULL: not listed with a walk
    build_id TEXT                -- of the file, hexadecimal; NULL: not told
);
CREATE TABLE losses (            -- records that are not here
    id INTEGER PRIMARY KEY,
    t_ns INTEGER NOT NULL,
    cause TEXT NOT NULL,
    records INTEGER              -- NULL: nobody knows how many
);
)sql";

constexpr const char *kIndexes = R"sql(
CREATE INDEX events_by_time ON events (t_ns);
CREATE INDEX events_by_thread ON events (thread_id);
CREATE INDEX threads_by_process ON threads (process_id);
CREATE INDEX flushes_by_reason ON flushes (reason);
CREATE INDEX flushes_by_thread ON flushes (thread_id);
CREATE INDEX ticks_by_process ON ticks (process_id, t_ns);
CREATE INDEX ticks_by_lag ON ticks (lag);
CREATE INDEX holders_by_tick ON holders (tick_id);
CREATE INDEX readings_by_process ON readings (process_id, t_ns);
)sql";

}  // namespace

const char *sqlite_tables() {
    return kTables;
}

const char *sqlite_indexes() {
    return kIndexes;
}

}  // namespace rsslag::sinks
