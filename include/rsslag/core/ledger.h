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
    Members remainder;          ///< nobody's: what a quiet reading found over the sum of all amounts; 0 but for a fault
    std::vector<CpuNet> cpus;   ///< `cpu` scheme, ascending; all that cache or have folded
    std::uint64_t updates = 0;  ///< by its own tasks, exited ones included
    std::uint64_t updates_by_others = 0;
    std::uint64_t flushes[kFlushReasons] = {};
    std::uint64_t disagreements = 0;
    std::uint64_t resyncs = 0;
    Pages rss_min, rss_max;  ///< exact RSS, least and most since the last watch()

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
};

/// What a group left behind: one for each mm that it left by exec or exit.
struct Ended {
    GroupView group;
    MmView mm;
    bool last = true;  ///< no other group that is traced lives in the mm, or has left it and is told of later
};

/// What one update came to, as far as it can be told at once.
struct Applied {
    bool known = false;                 ///< its mm is in the ledger
    std::optional<Pages> pages;         ///< nullopt: still open, or of an mm that nobody asked for
    std::optional<FlushReason> reason;  ///< of a flush or fold; nullopt: neither, or still open
    std::uint64_t ticket = 0;           ///< where it is open: take_settled() will tell by this number; else 0
};

/// What an update that was open came to.
struct SettledUpdate {
    std::uint64_t ticket = 0;
    std::optional<Pages> pages;         ///< nullopt: the records do not tell
    std::optional<FlushReason> reason;  ///< nullopt: it moved nothing into the mm's counter, or nobody knows
};

/// What comparing with an exact reading came to.
struct Check {
    bool known = false;     ///< the ledger has that mm
    bool quiet = false;     ///< no update while it was read, 1 ms before and after: equality was asked of it
    int disagreements = 0;  ///< counters outside what the ledger held meanwhile; if any, the mm was resynchronized
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
    };

    explicit Ledger(const Options &options);
    ~Ledger();
    Ledger(Ledger &&) noexcept;
    Ledger &operator=(Ledger &&) noexcept;

    Applied apply(const rsslag_update &update);
    void apply(const rsslag_fault &fault);
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
    /// Groups that live, ascending by host TGID.
    std::vector<GroupView> groups() const;
    /// The kernel's TIDs of all tasks that live in an mm of the ledger, in no order.
    std::vector<int> tids() const;
    /// mms that groups have left since the last call, in that order. One in which nobody else lives is told once its
    /// teardown is complete, or nothing came of it for 2 s; with `all`, at once.
    std::vector<Ended> take_ended(bool all = false);
    /// Whether take_ended() has more to tell, once time has passed.
    bool leaving() const;
    /// All mms whose end was seen so far, and how many of these did not come to 0 in every member.
    std::uint64_t ended_mms() const;
    std::uint64_t ended_not_at_zero() const;

    /// comm of a task by the kernel's TID, empty where unknown.
    std::string comm_of(int host_tid) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rsslag::core
