// SPDX-License-Identifier: BSD-2-Clause
// The ledger: which task changed which counter of which mm, and by how many pages, computed from the records alone and
// checked against an exact reading at each tick. Pure: no clock, no system call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/reading.h"
#include "core/scheme.h"
#include "core/units.h"
#include "rsslag/abi.h"

namespace rsslag::core {

/// The largest change of a counter by one update: a page table, or a huge page (mm/memory.c).
inline constexpr std::int64_t kMostPages = 512;

/// Why a cache was added to the mm's counter. On the `thread` scheme sync_mm_rss() does this (mm/memory.c, up to 6.1).
enum class FlushReason : std::uint8_t {
    Threshold,  ///< `thread` scheme: the task's 66th fault since its last flush (check_sync_rss_stat)
    Zap,        ///< `thread` scheme: the task zaps pages of its own mm (add_mm_rss_vec)
    Exec,       ///< `thread` scheme: the task is in execve
    Exit,       ///< `thread` scheme: the task exits
    Direct,     ///< the update bypassed the cache
    Fold,       ///< `cpu` scheme: the CPU's value reached the batch (lib/percpu_counter.c percpu_counter_add_batch)
};
inline constexpr std::size_t kFlushReasons = 6;
/// As in JSON: "threshold".
std::string_view name(FlushReason reason);

/// What the thread did whose update led to a flush or fold, by the flags of the record.
enum class FlushCause : std::uint8_t {
    None,         ///< none of these: a system call, mostly
    UserFault,    ///< a page fault in user mode
    KernelFault,  ///< a page fault in kernel mode
    Exec,
    Exit,
    Other,  ///< a thread of a process that is not traced
};
/// "fault", "kernel fault" and so on; empty for None.
std::string_view name(FlushCause cause);

/// The changes that one task made to one mm since the attach.
struct TaskNet {
    /// In rsslag's PID namespace, 0 if not visible there; the same as host_tid if the ledger has no record of the task.
    int tid = 0;
    int tgid = 0;  ///< in rsslag's PID namespace, 0 if not visible there
    int host_tid = 0;
    std::string comm;               ///< raw bytes
    Members net;                    ///< the most likely value; every page is in exactly one task's net
    Pages uncertain;                ///< upper bound of the error of `net`, all members together
    std::optional<Members> cached;  ///< `thread` scheme; nullopt on the others
    std::uint64_t updates = 0;
    /// Since the attach, counted in the kernel. Set by the analyzer; the ledger has 0 unless `left`.
    std::uint64_t faults = 0;
    std::uint64_t faults_before = 0;  ///< counted before the attach; not part of `faults`
    std::uint64_t flushes = 0;        ///< `thread` scheme: flushes; `cpu` scheme: folds that its updates caused
    std::uint64_t last_flush_ns = 0;  ///< 0: never
    bool left = false;                ///< it has left the mm by an exec; its name and `faults` are those in the mm
};

/// The part of a CPU in one mm (`cpu` scheme).
struct CpuNet {
    int cpu = 0;
    Members cached;
    std::uint64_t folds = 0;
};

/// One flush or fold.
struct Flush {
    std::uint64_t t_ns = 0;
    int host_tid = 0;
    int cpu = 0;
    Member member = Member::File;
    Pages pages;
    FlushReason reason = FlushReason::Fold;
};

/// Sums over the tasks that have ended.
struct ExitedNet {
    std::uint64_t threads = 0;
    Members net;
    std::uint64_t faults = 0;
    std::uint64_t updates = 0;
    std::uint64_t flushes = 0;
    Pages uncertain;  ///< upper bound of the error of `net`
};

/// A task that has ended, with its final values, which are part of ExitedNet too.
struct EndedTask {
    std::uint64_t generation = 0;  ///< of the mm
    TaskNet task;
    bool own = true;  ///< the mm was the task's own
    Pages
        possible_error{};  ///< MmView::possible_error at the task's end; an increase since then adds to its uncertainty
};

/// The highest or lowest rss at any instant since the attach.
struct Extreme {
    Pages from, to;   ///< bounds of the value; equal if no two CPUs changed it concurrently
    Members members;  ///< the members at that instant, with the most likely amounts
    std::uint64_t t_ns = 0;
    /// The task that made the update: its TID in rsslag's PID namespace, or the kernel's TID if the task is not visible
    /// there or has ended; 0: no task.
    int tid = 0;
    std::uint64_t processes = 0;  ///< Ledger::extremes() only: how many traced processes existed then

    /// The most likely value, within the bounds.
    Pages likely() const { return {std::max(from.n, std::min(members.rss().n, to.n))}; }
};

/// When a member reached its extreme, and by whose update: see Extreme.
struct Instant {
    std::uint64_t t_ns = 0;
    int tid = 0;
};
using Instants = std::array<Instant, kMembers>;  ///< in the order of kAllMembers

/// Computed from every record, not sampled by readings.
struct Extremes {
    Extreme most, least;
    Members each_most, each_least;  ///< of each member by itself, with the most likely amounts
    Members cached_most;            ///< the largest absolute value of what was cached, of each member by itself
    Instants each_most_at{}, each_least_at{}, cached_most_at{};
    Pages lag;  ///< the largest core::lag() at any instant
    std::uint64_t lag_t_ns = 0;
    Pages lag_rss;  ///< the exact rss at lag_t_ns
    /// The largest growth of the process's programs, from the start of each to its last exact value before the
    /// teardown: of each member by itself, and of the rss. Set by the analyzer; the ledger has 0.
    Members grown;
    Pages grown_rss;
    bool lossy = false;      ///< records were lost: the true extremes may be higher or lower
    bool read_late = false;  ///< `lossy` only because updates came before the first reading
    /// The amounts of the latest updates are not settled yet. They count with all amounts that they may have, so the
    /// range of the rss is much wider than later.
    bool open = false;
    /// --mode counts: no record shows what was cached between two sums (`cpu` scheme) or flushes (`thread` scheme), and
    /// the sums of several CPUs are of different times. `most` and `least` are ranges that include this; the other
    /// extremes may be higher or lower.
    bool summed = false;
    /// The number of the process's program (image), from 1 on; 0: what a fork held before its first exec.
    int image = 1;
    std::string comm;  ///< raw bytes: the name of that program. Set by the analyzer

    /// Whether the lag, cached_most and the extremes of single members may be wrong.
    bool approximate() const { return lossy || summed; }
};

/// Combines the extremes of two programs that one process ran one after the other. Returns the extremes of the program
/// with the higher peak, with the larger lag and the larger cached_most of both.
Extremes highest(const Extremes &before, const Extremes &after);

/// Identifies a task.
struct TaskName {
    int tid = 0, tgid = 0;
    std::string comm;  ///< raw bytes
};

/// A thread that has taken its leader's TID for an exec, as its first record under that TID shows.
struct Renumbered {
    int host_tid = 0;  ///< the leader's TID
    TaskName was;      ///< with the TID that the thread had before
};

/// A view of one mm in the ledger. exact = baseline + Σ tasks + exited + others + remainder, by member.
struct MmView {
    std::uint64_t mm = 0;
    std::uint64_t generation = 0;  ///< distinguishes mms that had the same address
    bool torn_down = false;        ///< mm->mm_users has reached 0
    Members baseline;              ///< at the attach; 0 for an mm born in the trace; a resync adds its correction
    Members flushed;
    Members cached;
    std::vector<TaskNet> tasks;  ///< ascending by host TID
    ExitedNet exited;
    std::vector<TaskNet> others;  ///< tasks of other mms that updated this one
    /// Of them, those that have ended; its net is part of `exited`. No faults. If more than 4,096 tasks of other mms
    /// updated this one, also those that were silent and had the smallest nets.
    ExitedNet ended_others;
    /// Tasks that have ended since the last tick; empty unless AnalyzerOptions::ended_tasks.
    std::vector<EndedTask> ended;
    Members teardown;          ///< part of `exited`: the change during the teardown by tasks that lived in it
    Pages teardown_uncertain;  ///< upper bound of the error of `teardown`
    std::uint64_t teardown_updates = 0;
    std::uint64_t teardown_flushes = 0;
    /// The counters minus the sum of all amounts, found by a quiet reading. Not 0 only after an error.
    Members remainder;
    std::vector<CpuNet> cpus;   ///< `cpu` scheme, ascending; those that cache something or have folded
    std::uint64_t updates = 0;  ///< by its own tasks, exited ones included
    std::uint64_t updates_by_others = 0;
    std::uint64_t flushes[kFlushReasons] = {};
    std::uint64_t disagreements = 0;
    bool suspect = false;  ///< a reading differs from the ledger; a record that explains the difference may still come
    std::uint64_t resyncs = 0;
    Pages possible_error;    ///< total pages by which losses and disagreements may have changed any task's net
    Pages rss_min, rss_max;  ///< lowest and highest exact rss since the last watch()
    Extremes extremes;
    Members last;      ///< exact before the teardown began; until then the current value
    Members at_start;  ///< exact when the mm was first read, when its process was born, or at the end of its exec
    bool start_approximate = false;     ///< earlier records were lost
    bool baseline_approximate = false;  ///< a resync has changed the baseline, or will
    bool needs_resync = false;  ///< after a loss or a CPU that went offline, until a reading replaces the counters

    Members exact() const { return flushed + cached; }
};

/// The state of a process in an mm: it lives there, or has left by exit or exec.
enum class State : std::uint8_t { Running, Exited, Exec };
/// As in JSON: "running".
std::string_view name(State state);

/// A traced thread group.
struct GroupView {
    int host_tgid = 0;
    int tgid = 0;      ///< in rsslag's PID namespace, 0 if not visible there
    std::string comm;  ///< of its leader, raw bytes
    std::uint64_t mm = 0;
    State state = State::Running;
    bool forked = false;         ///< born in the trace, and it has not run exec yet
    std::uint64_t since_ns = 0;  ///< a time at which it existed

    /// Whether a process with its number that started at this time (0: unknown) is another one.
    bool reused_at(std::uint64_t started_ns) const;
};

/// An mm that a group has left by exec or exit.
struct Ended {
    GroupView group;
    MmView mm;
    bool last = true;  ///< no other traced group lives in the mm, and no other Ended of this mm is to come
};

/// What an mm holds after a record, computed from the records up to that one.
struct Held {
    Pages rss;                     ///< exact
    Pages lag;                     ///< core::lag(): what a reader of the flushed counters alone misses
    std::uint64_t generation = 0;  ///< MmView::generation
};

/// The result of one update, as far as it is known when the update is applied.
struct Applied {
    bool known = false;                 ///< the mm of the update is in the ledger
    std::optional<Pages> pages;         ///< nullopt: not settled yet, or the mm is not traced
    std::optional<FlushReason> reason;  ///< of a flush or fold; nullopt: neither, or not settled yet
    std::uint64_t ticket = 0;           ///< not 0: the amount is open, and take_settled() returns it under this number
    std::optional<Held> held{};         ///< Ledger::held() after the update; only if an observer is set
    /// `thread` scheme, of a flush: pages that fault records of the task have reported already.
    Pages from_faults{};
    std::optional<Pages> folded{};  ///< SettledUpdate::folded
    /// Made by a task that does not live in the mm, as MmView::updates_by_others counts it. Not the record's flag: a
    /// task of a process that is not traced may live in the mm (CLONE_VM without CLONE_THREAD).
    bool by_other = false;
};

/// The amount of an update whose Applied had a ticket.
struct SettledUpdate {
    std::uint64_t ticket = 0;
    std::optional<Pages> pages;         ///< nullopt: the records do not determine it
    std::optional<FlushReason> reason;  ///< nullopt: nothing was added to the mm's counter, or unknown
    std::optional<Pages> folded{};      ///< of a fold: what it added to the mm's counter; nullopt as for `pages`
};

/// The result of comparing the ledger with an exact reading.
struct Check {
    bool known = false;  ///< the mm is in the ledger, and the reading could be compared
    bool quiet = false;  ///< no update from 1 ms before the reading to 1 ms after it: the values must be equal
    /// The number of counters that differed from what the ledger held, both in this reading and in one at least 500 ms
    /// earlier; a late record would have come by then. If it is not 0, the ledger has resynced the mm. It is 1 if only
    /// the amounts of a quiet mm do not add up to its counters (MmView::remainder).
    int disagreements = 0;
};

/// Records must be applied in the order of their time. Not thread-safe.
class Ledger {
  public:
    struct Options {
        Scheme scheme = Scheme::Plain;
        int cpus = 1;             ///< possible CPUs
        std::int64_t batch = 32;  ///< `cpu` scheme: the size at which a CPU's value is folded (lib/percpu_counter.c)
        /// Folio orders that a fault on anonymous memory may map, one bit each (/sys/kernel/mm/transparent_hugepage).
        std::uint32_t anon_orders = 0x3ff;
        bool ended_tasks = false;  ///< keep ended tasks for take_ended_tasks()
        bool counting = false;     ///< --mode counts
        bool ended_mms = false;    ///< keep addresses for take_ended_mms()
    };

    explicit Ledger(const Options &options);
    ~Ledger();
    Ledger(Ledger &&) noexcept;
    Ledger &operator=(Ledger &&) noexcept;

    Applied apply(const rsslag_update &update);
    /// Returns the pages that the task has cached since its last record; the mm's exact value grows by the same.
    Members apply(const rsslag_fault &fault);
    void apply(const rsslag_task &task);
    /// A partial sum comes again when it has grown; only the part since the last one is added.
    void apply(const rsslag_sum &sum);

    /// To be called when every record before `t_ns` has been applied. Settles amounts that depended on later records.
    void advance(std::uint64_t t_ns);
    /// To be called when no more records will come. Settles all open amounts with their most likely values; reports
    /// uncertain ones as unknown.
    void settle_all();
    /// Open amounts that were settled since the last call, each ticket once.
    std::vector<SettledUpdate> take_settled();
    bool any_settled() const;
    /// Threads that have taken their leader's TID since the last call.
    std::vector<Renumbered> take_renumbered();
    bool any_renumbered() const;

    /// Adds an mm that existed at the attach, with its counters and tasks as the iterator read them between the two
    /// times. The probes must be attached before. Records of the mm up to `end_ns`, applied before or after this call,
    /// are part of the baseline. `group` is the traced process.
    void adopt(const CounterReading &reading, const GroupView &group, std::uint64_t begin_ns, std::uint64_t end_ns);

    /// To be called for an mm that was adopted because the records of its start were lost.
    void start_lost(std::uint64_t mm);
    /// To be called for an mm that was adopted after updates of its process: what came before is not known.
    void start_missed(std::uint64_t mm);

    /// Sets how many faults of a task had been counted at the attach. The counts of its EXIT record include them.
    void had_faults(int host_tid, std::uint64_t faults);

    /// Starts to keep the history of the mm's counters for compare(). Call it before applying any record later than 1
    /// ms before the start of the reading.
    void watch(std::uint64_t mm);
    /// From now to end_watch(), several readings may follow each watch(), and mms that are born are watched, too.
    void begin_watch();
    void end_watch();

    /// Compares an exact reading, taken between the two times, with what the ledger held from 1 ms before to 1 ms after
    /// it. Then ends the watch of this mm, unless watch_all() is active. Records up to 1 ms after the reading must have
    /// been applied, and then the sums that were read after that. Counters that a sum changed since the watch started
    /// are not compared, since their values in between are unknown. After a loss or a disagreement the ledger takes
    /// over the counters of the reading and adds the difference to the baseline. On the `thread` scheme it always takes
    /// over what tasks cache, because no record shows what a task did after its last event.
    Check compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns);

    /// Ends a group that has exited without an EXIT record.
    void vanished(int host_tgid);
    /// To be called when at most `records` records were lost. Every mm resyncs at its next compare(), and every task's
    /// net becomes uncertain by kMostPages for each record. The same applies to mms that are born, before `until_ns`,
    /// by records that are not applied yet.
    void records_lost(std::uint64_t records = 1, std::uint64_t until_ns = 0);
    /// Sets `until_ns` of the last records_lost().
    void lost_until(std::uint64_t until_ns);
    /// To be called when CPUs went offline between these times and folded what they cached (`cpu` scheme). Every mm
    /// then needs a resync by a reading that starts after `until_ns`.
    void cpus_folded(std::uint64_t since_ns, std::uint64_t until_ns);
    /// Whether records were lost, or CPUs went offline, since the mm was last compared.
    bool needs_resync(std::uint64_t mm) const;

    /// Whether view() returns a value. Cheaper than view(), since it does not list the tasks.
    bool has(std::uint64_t mm) const;
    /// The number of updates by the mm's own tasks so far; 0 if the mm is unknown. Cheaper than view().
    std::uint64_t updates(std::uint64_t mm) const;
    /// Whether an exec or fork is still building this mm. A reading may already show the mm as the process's own before
    /// the record of the exec or fork has come. False if that record may be lost.
    bool being_built(std::uint64_t mm) const;
    /// Whether this is so for any mm that had a record in the last second.
    bool building() const;
    /// Whether the mm at this address has ended since `t_ns` or is being torn down. A reading from `t_ns` is then out
    /// of date.
    bool ended_since(std::uint64_t mm, std::uint64_t t_ns) const;
    /// The living mm at this address; nullopt if the ledger has none.
    /// `host_tgid`: a process in the mm. If it shares the mm, at_start, last and the extremes are of its own life.
    std::optional<MmView> view(std::uint64_t mm, int host_tgid = 0) const;
    /// The mm's current rss and lag; nullopt if it is unknown, is being torn down or needs a resync.
    std::optional<Held> held(std::uint64_t mm) const;
    /// The same for the sum of all mms; nullopt while one of them needs a resync.
    std::optional<Held> held_by_all() const;
    /// The number of mms and tasks in the ledger.
    std::size_t size() const;
    /// The number of mms, tasks, CPUs and open updates that all calls so far have visited, in addition to those of the
    /// records and readings.
    std::uint64_t visited() const;
    /// The TGID, in rsslag's PID namespace, of the group with the highest host TGID that lives in the mm; 0: no group.
    int tgid_of(std::uint64_t mm) const;
    /// Living groups, ascending by host TGID.
    std::vector<GroupView> groups() const;
    bool any_groups() const;  ///< cheaper than groups()
    /// Of these, those in an mm that is not known; see has().
    std::vector<GroupView> unknown() const;
    /// The living group with this host TGID; nullopt if there is none.
    std::optional<GroupView> group(int host_tgid) const;
    /// The kernel's TIDs of all tasks that live in an mm of the ledger, unordered.
    std::vector<int> tids() const;
    /// The mms that groups have left since the last call, in order of time. An mm without another living group is
    /// returned when its teardown is complete or after 2 s without an update of it; with `all`, immediately.
    std::vector<Ended> take_ended(bool all = false);
    /// Tasks that have ended since the last call and whose updates are all settled, each once.
    std::vector<EndedTask> take_ended_tasks();
    /// The addresses where an mm ended some seconds ago, and where there is none since; each once.
    std::vector<std::uint64_t> take_ended_mms();
    /// Whether take_ended() has more to return later.
    bool leaving() const;
    /// The number of groups that have ended before their mm was adopted.
    std::uint64_t groups_unread() const;
    /// The number of mms that have ended.
    std::uint64_t ended_mms() const;
    /// The number of mms that have ended with a counter other than 0.
    std::uint64_t ended_not_at_zero() const;

    /// The extremes of the sum of all mms; an mm that several processes share counts once.
    Extremes extremes() const;

    /// The comm of a task, raw bytes; empty if the ledger has no such task.
    std::string comm_of(int host_tid) const;
    /// The task's comm and its numbers in rsslag's PID namespace; the kernel's numbers if it is not visible there.
    /// nullopt if the ledger has no such task.
    std::optional<TaskName> task(int host_tid) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rsslag::core
