// SPDX-License-Identifier: BSD-2-Clause
// The ledger: who changed which counter of which mm, by how many pages, from the stream alone. Pure: records in, sums
// out; no clock, no system call. Checked against an exact reading at each tick.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/abi.h"
#include "rsslag/core/reading.h"
#include "rsslag/core/scheme.h"
#include "rsslag/core/units.h"

namespace rsslag::core {

/// No update changes a counter by more: what a page table holds, a huge page (mm/memory.c).
inline constexpr std::int64_t kMostPages = 512;

/// Why a cache went into the mm's counter. Fold is the `cpu` scheme's; a direct update never was in a cache.
enum class FlushReason : std::uint8_t { Threshold, Zap, Exec, Exit, Direct, Fold };
inline constexpr std::size_t kFlushReasons = 6;
std::string_view name(FlushReason reason);

/// What one task did to one mm since the attach.
struct TaskNet {
    int tid = 0;   ///< in rsslag's PID namespace, else the kernel's
    int tgid = 0;  ///< likewise
    int host_tid = 0;
    std::string comm;               ///< raw bytes
    Members net;                    ///< the most likely; every page is in exactly one task's net
    Pages uncertain;                ///< the truth is that far from `net` at most, all members taken together
    std::optional<Members> cached;  ///< `thread` scheme
    std::uint64_t updates = 0;
    std::uint64_t faults = 0;         ///< as counted in the kernel, filled in by whoever reads that
    std::uint64_t faults_before = 0;  ///< of these, before the attach
    std::uint64_t flushes = 0;        ///< `thread` scheme: flushes; `cpu` scheme: folds that it set off
    std::uint64_t last_flush_ns = 0;  ///< 0: never
};

struct CpuNet {
    int cpu = 0;
    Members cached;
    std::uint64_t folds = 0;
};

/// One flush or fold, for the log of them.
struct Flush {
    std::uint64_t t_ns = 0;
    int host_tid = 0;
    int cpu = 0;
    Member member = Member::File;
    Pages pages;
    FlushReason reason = FlushReason::Fold;
};

/// Sums over tasks that are no longer there.
struct ExitedNet {
    std::uint64_t threads = 0;
    Members net;
    std::uint64_t faults = 0;
    std::uint64_t updates = 0;
    std::uint64_t flushes = 0;
    Pages uncertain;  ///< of `net`, as of a task's
};

/// A task that has ended, with its final values. They are part of ExitedNet too.
struct EndedTask {
    std::uint64_t generation = 0;  ///< of the mm
    TaskNet task;
    bool own = true;  ///< it lived in the mm
    Pages doubted{};  ///< MmView::doubted at that time: any later increase adds to the task's uncertainty
};

/// The most, or the least, that an rss was at any instant since the attach.
struct Extreme {
    Pages from, to;   ///< the truth lies between; the same where no two CPUs changed it at once
    Members members;  ///< what they were then, as told
    std::uint64_t t_ns = 0;
    int tid = 0;  ///< whose update that was, in rsslag's PID namespace, else the kernel's number; 0: nobody's
    std::uint64_t processes = 0;  ///< of all mms together: how many processes that were traced lived then
};

/// From every record, not from readings now and then.
struct Extremes {
    Extreme most, least;
    Members each_most, each_least;  ///< each member's own, as told
    Members cached_most;            ///< each member's, absolute
    Pages lag;                      ///< the most that a reader of the counters alone missed at one instant …
    std::uint64_t lag_t_ns = 0;
    Pages lag_rss;       ///< … and the exact rss then
    bool lossy = false;  ///< records were lost: it may have been more, or less, meanwhile
    /// Which of a process's programs held most, from 1 on; 0: what a fork held before it ran the first.
    int image = 1;
};

/// Of two that were one after another: what was more of either.
Extremes highest(const Extremes &before, const Extremes &after);

/// Who a task is.
struct TaskName {
    int tid = 0, tgid = 0;
    std::string comm;  ///< raw bytes
};

/// One mm as the ledger has it. exact = baseline + Σ tasks + exited + others + remainder, by member.
struct MmView {
    std::uint64_t mm = 0;
    std::uint64_t generation = 0;  ///< tells mms apart that had the same address
    bool torn_down = false;        ///< its last user has left
    Members baseline;              ///< at the attach; 0 for an mm born in the trace
    Members flushed;
    Members cached;
    std::vector<TaskNet> tasks;  ///< ascending by host TID
    ExitedNet exited;
    std::vector<TaskNet> others;  ///< tasks that updated this mm without being its own
    std::vector<EndedTask>
        ended;                 ///< tasks that have ended since the last tick; empty unless AnalyzerOptions ask for them
    Members teardown;          ///< part of `exited`: pages that its own tasks freed while it was torn down
    Pages teardown_uncertain;  ///< as of a task's
    std::uint64_t teardown_updates = 0;
    Members remainder;          ///< nobody's: what a quiet reading found over the sum of all amounts; 0 but for a fault
    std::vector<CpuNet> cpus;   ///< `cpu` scheme, ascending; all that cache or have folded
    std::uint64_t updates = 0;  ///< by its own tasks, exited ones included
    std::uint64_t updates_by_others = 0;
    std::uint64_t flushes[kFlushReasons] = {};
    std::uint64_t disagreements = 0;
    bool suspect = false;  ///< a reading has seen what no record has told of yet
    std::uint64_t resyncs = 0;
    Pages doubted;  ///< running total of pages by which losses and disagreements may have changed any task's net
    Pages rss_min, rss_max;  ///< exact RSS, least and most since the last watch()
    Extremes extremes;
    Members last;   ///< exact before its teardown began; what it is now where it lives
    Members begin;  ///< … and as it was first read, or its process was born, or as the exec that made it was done
    bool begin_in_doubt = false;     ///< records from before were lost: it may have been more, or less
    bool baseline_in_doubt = false;  ///< a loss has gone into the baseline, or will
    bool needs_resync = false;       ///< records were lost, and no reading has put right what it holds

    Members exact() const { return flushed + cached; }
};

/// How a process came to the end of an mm.
enum class State : std::uint8_t { Running, Exited, Exec };
std::string_view name(State state);

/// A thread group that is traced.
struct GroupView {
    int host_tgid = 0;
    int tgid = 0;      ///< in rsslag's PID namespace, 0 where it is not visible there
    std::string comm;  ///< of its leader, raw bytes
    std::uint64_t mm = 0;
    State state = State::Running;
    bool forked = false;  ///< born in the trace, and it has not run a program of its own yet
};

/// What a group left behind: one for each mm that it left by exec or exit.
struct Ended {
    GroupView group;
    MmView mm;
    bool last = true;  ///< no other group that is traced lives in the mm, or has left it and is told of later
};

/// What an mm holds after a record, as told until then.
struct Held {
    Pages rss;                     ///< exact
    Pages lag;                     ///< what a reader of the counters alone misses
    std::uint64_t generation = 0;  ///< as of its MmView
};

/// What one update came to, as far as it can be told at once.
struct Applied {
    bool known = false;                 ///< its mm is in the ledger
    std::optional<Pages> pages;         ///< nullopt: still open, or of an mm that nobody asked for
    std::optional<FlushReason> reason;  ///< of a flush or fold; nullopt: neither, or still open
    std::uint64_t ticket = 0;           ///< where it is open: take_settled() will tell by this number; else 0
    std::optional<Held> held{};         ///< Ledger::held() after it, where somebody looks at single updates
    /// `thread` scheme: of a flush, what faults of its task have told of; less that it is news.
    Pages from_faults{};
};

/// What an update that was open came to.
struct SettledUpdate {
    std::uint64_t ticket = 0;
    std::optional<Pages> pages;         ///< nullopt: the records do not tell
    std::optional<FlushReason> reason;  ///< nullopt: it moved nothing into the mm's counter, or nobody knows
};

/// What comparing with an exact reading came to.
struct Check {
    bool known = false;  ///< the ledger has that mm
    bool quiet = false;  ///< no update while it was read, 1 ms before and after: equality was asked of it
    /// Counters outside what the ledger held meanwhile, in a reading of 500 ms ago and in this one; if any, the mm was
    /// resynchronized. A record that comes late tells what the first has seen, and then it was none.
    int disagreements = 0;
};

/// Records are applied in the order of their time; caller's thread only.
class Ledger {
  public:
    struct Options {
        Scheme scheme = Scheme::Plain;
        int cpus = 1;             ///< possible CPUs
        std::int64_t batch = 32;  ///< `cpu` scheme: folds at this many pages (lib/percpu_counter.c)
        /// Orders of folios that a fault on anonymous memory may map here, a bit each
        /// (/sys/kernel/mm/transparent_hugepage).
        std::uint32_t anon_orders = 0x3ff;
        bool ended_tasks = false;  ///< keep ended tasks for take_ended_tasks()
    };

    explicit Ledger(const Options &options);
    ~Ledger();
    Ledger(Ledger &&) noexcept;
    Ledger &operator=(Ledger &&) noexcept;

    Applied apply(const rsslag_update &update);
    /// What its task caches more than was known of it, which the mm holds more.
    Members apply(const rsslag_fault &fault);
    void apply(const rsslag_task &task);
    /// Told again, it counts for what has come since.
    void apply(const rsslag_sum &sum);

    /// Every record before `t_ns` has been applied: amounts that waited for what might still come are decided.
    void advance(std::uint64_t t_ns);
    /// Nothing more comes: what is open is settled as it is most likely, told as unknown where that is not certain.
    void settle_all();
    /// Amounts that were open and are settled since the last call, each ticket once.
    std::vector<SettledUpdate> take_settled();
    bool any_settled() const;

    /// An mm that was alive at the attach: its counters and tasks as an iterator read them between the two times, with
    /// the probes in place before. Records of it up to `end_ns`, applied before or after, count as part of the
    /// baseline. `group` is the traced process.
    void adopt(const CounterReading &reading, const GroupView &group, std::uint64_t begin_ns, std::uint64_t end_ns);

    /// Of one that was adopted as it was found, as what told of its begin is among what was lost.
    void begin_lost(std::uint64_t mm);

    /// What the kernel had counted of a task's faults at the attach: its exit tells them again.
    void had_faults(int host_tid, std::uint64_t faults);

    /// From now on keeps what each counter held, for compare(). Before any record that is later than 1 ms before the
    /// reading's begin is applied.
    void watch(std::uint64_t mm);
    /// The same for all, and for those that are born until end_watch(): several readings, one after another.
    void watch_all();
    void end_watch();

    /// Compares an exact reading, taken between the two times, with what was held from 1 ms before it to 1 ms after it;
    /// records up to then must have been applied, and sums as they were after that. What a sum has changed since the
    /// watch began is not compared: what the counter held in between is not known. Ends the watch. Every counter that
    /// lies outside is a disagreement; then the ledger takes over what was read, and the difference goes into the
    /// baseline. On the `thread` scheme what tasks cache is taken over in any case: no record tells what a task did
    /// after its last event.
    Check compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns);

    /// A group that is no longer there, and whose exit nothing has told of: it ends now.
    void vanished(int host_tgid);
    /// Records were lost: every mm takes over the next reading that it is compared with, and counts a resync.
    /// `records`: how many, or more; every thread's net may be wrong by as much as they can have brought. So does every
    /// mm that is born up to `until_ns`, of records that are still to be applied.
    void records_lost(std::uint64_t records = 1, std::uint64_t until_ns = 0);
    /// What was lost last may be from until then.
    void lost_until(std::uint64_t until_ns);
    /// CPUs went offline between these times, and what each had cached became part of the counts (`cpu` scheme): as
    /// after a loss, until an mm is compared with a reading from after that.
    void cpus_folded(std::uint64_t since_ns, std::uint64_t until_ns);
    /// Whether records were lost, or CPUs went offline, since the last comparison of this mm.
    bool needs_resync(std::uint64_t mm) const;

    /// Whether view() has something to show, and its updates by its own tasks so far (0 where it has not): without
    /// listing every task.
    bool knows(std::uint64_t mm) const;
    std::uint64_t updates(std::uint64_t mm) const;
    /// Whether it is an mm that an exec is making, or a fork, and whose process will be told of: long before that a
    /// reading may show it as the process's own. Not where what should tell may have been lost.
    bool being_built(std::uint64_t mm) const;
    /// Whether the mm that had this address then has come, or is coming, to its end: a reading of it is out of date.
    bool ended_since(std::uint64_t mm, std::uint64_t t_ns) const;
    /// The living mm at this address, nullopt where the ledger has none.
    std::optional<MmView> view(std::uint64_t mm) const;
    /// What it holds by now; nullopt: it is not known, comes to its end, or records are missing.
    std::optional<Held> held(std::uint64_t mm) const;
    /// mms and tasks that are known by now.
    std::size_t size() const;
    /// Of the group with the highest host TGID that lives in the mm; 0: there is none.
    int tgid_of(std::uint64_t mm) const;
    /// Groups that live, ascending by host TGID.
    std::vector<GroupView> groups() const;
    /// The one with this host TGID, if it lives.
    std::optional<GroupView> group(int host_tgid) const;
    /// The kernel's TIDs of all tasks that live in an mm of the ledger, in no order.
    std::vector<int> tids() const;
    /// mms that groups have left since the last call, in that order. One in which nobody else lives is told once its
    /// teardown is complete, or nothing came of it for 2 s; with `all`, at once.
    std::vector<Ended> take_ended(bool all = false);
    /// Tasks that have ended since the last call and whose updates are all settled. Each is returned once.
    std::vector<EndedTask> take_ended_tasks();
    /// Whether take_ended() has more to tell, once time has passed.
    bool leaving() const;
    /// All mms whose end was seen so far, and how many of these did not come to 0 in every member.
    std::uint64_t ended_mms() const;
    std::uint64_t ended_not_at_zero() const;

    /// Of the sum of all mms, one that several processes share once.
    Extremes extremes() const;

    /// comm of a task by the kernel's TID, empty where unknown.
    std::string comm_of(int host_tid) const;
    /// The same with its numbers in rsslag's PID namespace, the kernel's where it is not visible there.
    std::optional<TaskName> task(int host_tid) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rsslag::core
