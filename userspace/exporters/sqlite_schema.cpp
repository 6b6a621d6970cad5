// SPDX-License-Identifier: BSD-2-Clause
#include "sqlite_schema.h"

#include <fmt/format.h>

#include "core/member_name.h"

namespace rsslag::exporters {

namespace {

/// {status} are columns for the members in /proc/PID/status. {flushed}, {cached}, {exact} and {members} are columns for
/// the members and their sum, {first} and {others} are members.
constexpr const char *kTables = R"sql(
CREATE TABLE facts (  -- where and how it was recorded, and how it ended
    key TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;
CREATE TABLE trace (             -- one row: identifies the recording if rows of several are in one table
    trace_id TEXT,               -- same for all segments of a recording; NULL, here and below: not in older recordings
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
    pid INTEGER NOT NULL,        -- not unique: PIDs are reused
    comm TEXT,                   -- its last name; control and invisible characters as \xNN
    first_t_ns INTEGER NOT NULL, -- ns since the attach, as every t_ns
    last_t_ns INTEGER NOT NULL,
    state TEXT                   -- running, exited, exec: at its last tick; NULL: it has no tick
);
CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    process_id INTEGER REFERENCES processes (id),
    tid INTEGER NOT NULL,        -- not unique: TIDs are reused
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
CREATE TABLE events (            -- every record that the BPF programs sent, in the order of time
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,          -- update, flush, fold, fault, sum, thread_start, thread_end, rename, exec, fork, exit, seen
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    thread_id INTEGER REFERENCES threads (id),
    cpu INTEGER,
    mm_id INTEGER REFERENCES mms (id),
    member TEXT,                 -- file, anon, swap, shmem; NULL: a counter unknown to this rsslag
    pages INTEGER,               -- change of the member; NULL: unknown (an unsettled fold, or an mm that is not traced)
    cached INTEGER,              -- pages that the thread or CPU caches after it
    flushed INTEGER,             -- pages in the mm's counter after it; NULL if member is NULL
    reason TEXT,                 -- threshold, zap, exec, exit, direct, fold
    fault TEXT,                  -- user, kernel: mode of the page fault that caused it
    address INTEGER,             -- of that fault
    by_other INTEGER,            -- 1: by a task that does not live in the mm
    newborn INTEGER,             -- 1: the mm is being created
    teardown INTEGER,            -- 1: the mm is being torn down
    known INTEGER,               -- 0: the mm is not traced
    mapping TEXT                 -- that holds the address
);
CREATE TABLE caches (            -- details of events of type fault and sum
    event_id INTEGER PRIMARY KEY REFERENCES events (id),
    {first} INTEGER,                -- pages that the thread (fault) or CPU (sum) caches; NULL: not reported
{others}    faults_since_flush INTEGER,  -- fault only
    updates INTEGER,             -- sum only: number of updates in it
    of_cpu INTEGER               -- sum only: the CPU whose updates it counts
);
CREATE TABLE lives (             -- details of events of tasks
    event_id INTEGER PRIMARY KEY REFERENCES events (id),
    comm TEXT,
    host_pid INTEGER,            -- host_*: the kernel's numbers
    host_tid INTEGER,
    parent_host_tid INTEGER,
    old_host_tid INTEGER,        -- exec only: TID before it
    shares_mm INTEGER,
    user_faults INTEGER,         -- over the traced life of the task; only in events of its end
    kernel_faults INTEGER
);
CREATE TABLE flushes (           -- flush and fold events, which add cached pages to the mm's counter
    event_id INTEGER PRIMARY KEY REFERENCES events (id),
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    thread_id INTEGER REFERENCES threads (id),
    cpu INTEGER,
    mm_id INTEGER REFERENCES mms (id),
    member TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE ticks (             -- one process at one tick; counts are totals since the attach
    id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    t_ns INTEGER NOT NULL,
    time TEXT NOT NULL,          -- RFC 3339, UTC
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    state TEXT NOT NULL,
    reported INTEGER,            -- pages, from /proc/PID/stat
    walked INTEGER,              -- pages, from the page tables
    {flushed},  -- pages
    {cached},       -- pages
    {exact},            -- pages
    lag INTEGER,                 -- pages: exact - the flushed members, each at least 0
    behind INTEGER,              -- pages: exact - reported, which was read at another moment
    residual INTEGER,            -- pages: walked - exact
    verdict TEXT NOT NULL,       -- agrees, explained, moving, unexplained, unwalked
    updates INTEGER, updates_by_others INTEGER, faults INTEGER, flushes INTEGER,
    lost INTEGER, disagreements INTEGER, resyncs INTEGER,
    image INTEGER,               -- number of its program with the highest peak, from 1; 0: a fork before its first exec
    peak_min INTEGER, peak_max INTEGER,  -- pages: highest rss until then, from all records
    peak_t_ns INTEGER,
    peak_tid INTEGER,            -- thread whose update reached it
    peak_lag INTEGER,            -- pages: the most that the flushed counters did not show at one instant until then
    peak_lag_t_ns INTEGER
);
CREATE TABLE holders (           -- threads and CPUs that cached pages at a tick
    tick_id INTEGER NOT NULL REFERENCES ticks (id),
    thread_id INTEGER REFERENCES threads (id),
    cpu INTEGER,
    {members}  -- pages
);
CREATE TABLE readings (          -- readings of the counters, with the values of the /proc files
    id INTEGER PRIMARY KEY,
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    tasks INTEGER,
    took_us INTEGER,
    stat INTEGER, statm INTEGER,                     -- pages
    status_rss_kb INTEGER, {status}status_hwm_kb INTEGER,  -- kB of 1,024 bytes
    {flushed},  -- pages
    {cached}        -- pages
);
CREATE TABLE walks (             -- walks of page tables
    id INTEGER PRIMARY KEY,
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    file TEXT NOT NULL,          -- smaps_rollup, smaps
    rss_kb INTEGER, pss_kb INTEGER, swap_kb INTEGER,
    took_us INTEGER
);
CREATE TABLE mappings (          -- changes of mappings, and listings of all mappings of a process
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,          -- mapped, moved, named, listed
    t_ns INTEGER NOT NULL,
    process_id INTEGER REFERENCES processes (id),
    mm_id INTEGER REFERENCES mms (id),
    mapping TEXT NOT NULL,       -- name; a final ~: recognized by its shape alone
    "from" INTEGER, "to" INTEGER,  -- addresses; to: the first address after it
    perms TEXT,                  -- rw-p; NULL: unknown, for a mapping that was moved or named
    old_from INTEGER,            -- moved only: its start before
    held_kb INTEGER,             -- kB of 1,024 bytes in it; NULL: not from a listing with a walk
    build_id TEXT                -- of the file, hexadecimal; NULL: unknown
);
CREATE TABLE losses (            -- lost records
    id INTEGER PRIMARY KEY,
    t_ns INTEGER NOT NULL,
    cause TEXT NOT NULL,
    records INTEGER              -- NULL: unknown number
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

/// A column for each member and one for rss.
std::string members(std::string_view prefix) {
    std::string columns;
    for (const core::Member member : core::kMembersInOrder)
        columns += fmt::format("{}{} INTEGER, ", prefix, core::name(member));
    return columns + fmt::format("{}rss INTEGER", prefix);
}

}  // namespace

std::string sqlite_tables() {
    std::string others, status;
    for (const core::Member member : core::kMembersInText)
        status += fmt::format("status_{}_kb INTEGER, ", core::name(member));
    for (std::size_t i = 1; i < core::kMembers; ++i)
        others += fmt::format("    {} INTEGER,\n", core::name(core::kMembersInOrder[i]));
    return fmt::format(kTables, fmt::arg("status", status), fmt::arg("flushed", members("flushed_")),
                       fmt::arg("cached", members("cached_")), fmt::arg("exact", members("exact_")),
                       fmt::arg("members", members("")), fmt::arg("first", core::name(core::kMembersInOrder[0])),
                       fmt::arg("others", others));
}

const char *sqlite_indexes() {
    return kIndexes;
}

}  // namespace rsslag::exporters
