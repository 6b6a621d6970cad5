// SPDX-License-Identifier: BSD-2-Clause
// The account of one mm: the values of its counters, and the pages that each task contributed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/ledger.h"
#include "mm_check.h"
#include "mm_counters.h"
#include "mm_flushes.h"
#include "mm_histories.h"
#include "mm_peaks.h"
#include "mm_tasks.h"

namespace rsslag::core {

/// Amounts of updates that were open when they were applied and are settled now.
struct Settlements {
    std::uint64_t tickets = 0;
    std::vector<SettledUpdate> reported;
};

/// State that the accounts of all mms share.
struct Shared {
    Settlements settlements;
    bool keep_ended = false;  ///< whether `ended` is filled
    std::vector<EndedTask> ended;
    AllPeaks peaks;
    std::size_t waiting = 0;          ///< processes that have exited and whose memory still exists
    std::uint64_t visited = 0;        ///< Ledger::visited()
    std::uint64_t lost_until_ns = 0;  ///< records from before were lost: a reading that started earlier does not resync
    /// Names an mm: another one may get its address.
    struct Name {
        std::uint64_t address = 0, generation = 0;
    };
    std::vector<Name> awake;  ///< mms for which MmAccount::advance() may have something to do
};

/// Each part keeps one kind of state, and none calls another: `counters_` the values, `tasks_` what each task
/// contributed, `flushes_` which updates were flushes, `check_` what readings found, `peaks_` the extremes,
/// `histories_` the updates whose amounts are open. This class applies each record and reading to all of them.
class MmAccount {
  public:
    /// `shared` receives settled amounts, ended tasks and each step of the rss.
    MmAccount(const Ledger::Options &options, std::uint64_t mm, std::uint64_t generation, Shared &shared);

    void adopt(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns);
    /// Whether its first reading ended at this time or later.
    bool read_after(std::uint64_t t_ns) const { return t_ns <= adopted_until_; }

    /// `own`: the task lives in this mm. `direct`: the update certainly bypasses the task's cache.
    Applied apply(const rsslag_update &update, Account &account, bool own, bool direct);
    Members apply(const rsslag_fault &fault);
    /// `updates`: how many of the sum's updates have not been applied yet.
    void apply(const rsslag_sum &sum, Account &account, std::uint64_t updates, bool own);
    void advance(std::uint64_t t_ns);
    /// To be called after advance(): whether the mm leaves Shared::awake, as advance() has nothing to do until its next
    /// update or the end of one of its tasks.
    bool rest();
    /// Settles open updates with their most likely amounts, as if no more records of this mm came.
    void finish();
    /// Starts an mm that was created during the trace, with all counters at 0.
    void born();
    /// Ends the account and subtracts its rss from the sum of all mms.
    void close();

    void watch();
    void end_watch();
    Check compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns);
    /// To be called when this many records, of unknown kind, were lost.
    void lost(std::uint64_t records);
    /// To be called when CPUs went offline between these times. The kernel folded what they cached into the counters
    /// without a record (lib/percpu_counter.c percpu_counter_cpu_dead).
    void cpus_folded(std::uint64_t since_ns, std::uint64_t until_ns);

    /// To be called when a process lives in this mm, from `t_ns` on or earlier.
    void bind(std::uint64_t t_ns);
    /// Sets how many groups more or fewer have exited and wait for the end of this mm.
    void wait_for_end(int more);
    /// To be called if the records of its creation may be lost.
    void start_lost() { start_approximate = true; }
    /// To be called if its first reading came after updates of the process.
    void start_missed();

    // See MmTasks.
    Account &own(int tid);
    Account &other(int tid) { return tasks_.other(tid); }
    Account &ended(int tid) { return tasks_.ended(tid); }
    int tid_now(int tid) const { return tasks_.tid_now(tid); }
    const std::unordered_map<int, Account> &own_tasks() const { return tasks_.own_tasks(); }
    const std::map<int, Account> &others() const { return tasks_.others(); }
    void adopt_other(int tid) { tasks_.adopt_other(tid); }
    /// To be called when the task has ended by `t_ns`. Its account is added to the sum of ended tasks when none of
    /// its updates is open.
    void end_own(int tid, std::uint64_t faults, const TaskName &name, std::uint64_t t_ns);
    void leave_own(int tid, std::uint64_t faults, const TaskName &name);
    /// To be called when a task of another mm has ended and a new task has its TID.
    void end_other(int tid, const TaskName &name, std::uint64_t t_ns, MmTasks::End end);
    std::vector<int> others_to_end(std::uint64_t t_ns) { return tasks_.others_to_end(t_ns); }
    void rename_other(int from, int to);
    /// To be called when the TID of a task of the mm changes (exec by a thread other than the leader).
    void rename_own(int from, int to);
    /// Adds the account of each ended task to the sum of ended tasks, unless one of its updates may be open at `t_ns`.
    void release_former_tasks(std::uint64_t t_ns);

    /// `host_tgid`: a process in the mm. If it shares the mm, the extremes are of its own life.
    MmView view(int host_tgid = 0) const;
    Extremes extremes() const { return peaks_.extremes(); }
    void sharer_born(int host_tgid, std::uint64_t t_ns) {
        peaks_.sharer_born(host_tgid, {exact(), cached(), lag(), t_ns});
    }
    void sharer_ended(int host_tgid) { peaks_.sharer_ended(host_tgid, exact(), at_start); }
    void forget_sharer(int host_tgid) { peaks_.forget_sharer(host_tgid); }
    bool settled() const { return histories_.settled(); }  ///< no update is open
    bool empty() const;                                    ///< every member is 0, by the counts in the records
    bool may_be_empty() const;  ///< every member is 0, if open updates have their most likely amounts

    std::uint64_t mm = 0;
    std::uint64_t generation = 0;
    std::uint64_t born_ns = 0;       ///< t_ns of its first record; 0: it existed before the trace
    int builder = 0;                 ///< TID of the task that made its first update, before a process lived in it
    bool bound = false;              ///< a process lives or has lived in it
    std::uint64_t bound_ns = 0;      ///< time of the last bind()
    bool torn_down = false;          ///< mm->mm_users is 0
    Members last;                    ///< exact, before the teardown
    Members at_start;                ///< exact, when a process started to live in it, or at the first reading
    bool start_approximate = false;  ///< earlier records were lost: `at_start` may be wrong
    bool needs_resync() const { return needs_resync_; }
    Members exact() const { return flushed() + cached(); }
    std::optional<Held> held() const;  ///< nullopt: it is being torn down or needs a resync
    std::int64_t lag() const;          ///< core::lag(), in pages
    std::uint64_t updates() const { return tasks_.updates(); }
    std::uint64_t last_ns = 0;

  private:
    void wake();
    Applied apply_cpu(const rsslag_update &update, Account &account);
    Applied apply_thread(const rsslag_update &update, Account &account, bool direct);
    void count_waiting();
    std::vector<std::int64_t> cells_of(const CounterReading &reading);
    void note_begin();
    void take_cache_from(int tid);
    void take_absolute(const rsslag_update &update);
    Applied add(CounterEvent event, std::size_t member);
    void take(std::size_t member);
    void take_fold(const CounterHistory::Update &update);
    void add_possible_error(std::int64_t pages);
    void drop_open();
    MmView view_settled(int host_tgid) const;
    void hold_count(const rsslag_update &update);
    void hold(std::uint32_t cell, std::uint64_t t_ns, std::int64_t value, bool sum = false);
    Members flushed() const;
    std::int64_t cached_of(std::size_t member) const { return counters_.cached()[member] + tasks_.cached()[member]; }
    Members cached() const;
    void take_over(const std::vector<std::int64_t> &read, const std::vector<bool> &changed, std::uint64_t t_ns);
    void take_over_tasks(const CounterReading &reading, std::uint64_t begin_ns);
    void rebase();
    void note_rss();
    void note_sum(const rsslag_sum &sum, const Members &before);
    void note_task(int tid, std::uint64_t t_ns);
    void note_settled(std::size_t member, std::vector<PeakAmount> amounts);
    void update_peaks(std::uint64_t t_ns);
    /// The time of what the counters show: the last record, or the end of the first reading.
    std::uint64_t known_ns() const { return std::max(last_ns, adopted_until_); }

    Ledger::Options options_;
    MmCounters counters_;
    ByCpu<std::uint64_t> folds_;
    MmHistories histories_;
    CounterHistory::Settled out_;
    bool awake_ = false;  ///< in Shared::awake
    Shared *shared_;      ///< null in the copy that view() settles, and after close()
    MmPeaks peaks_;
    std::array<std::int64_t, kMembers> baseline_{};
    Members remainder_;  ///< pages in the counters that no update accounts for
    MmTasks tasks_;
    MmFlushes flushes_;
    std::uint64_t adopted_until_ = 0;  ///< end of the first reading: records up to then are part of the baseline
    std::uint64_t adopted_from_ = 0;   ///< start of the first reading: records before it are older than its values
    std::uint64_t disagreements_ = 0;
    std::uint64_t resyncs_ = 0;
    bool needs_resync_ = false;
    std::uint64_t folded_until_ = 0;  ///< CPUs went offline by then: a reading that started earlier does not resync
    MmCheck check_;
    std::int64_t rss_min_ = 0, rss_max_ = 0;
    std::size_t *all_waiting_;  ///< Shared::waiting
    std::size_t waiting_ = 0;   ///< see wait_for_end()
    std::size_t counted_ = 0;   ///< `waiting_` while the mm has no task and is not torn down, else 0
};

}  // namespace rsslag::core
