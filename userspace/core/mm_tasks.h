// SPDX-License-Identifier: BSD-2-Clause
// The tasks that updated an mm, and what each contributed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ledger.h"
#include "counter_history.h"

namespace rsslag::core {

constexpr std::size_t index_of(Member member) {
    return static_cast<std::size_t>(member);
}

template <class Number>
Members members_of(const std::array<Number, kMembers> &values) {
    Members members;
    for (Member member : kAllMembers)
        members[member] = {values[index_of(member)]};
    return members;
}

/// One task's changes to the counters of this mm.
struct Account {
    /// The number in place of the TID in its open updates; nullopt if the account belongs to a living task.
    std::optional<int> tag;
    std::array<std::int64_t, kMembers> flushed{};      ///< sum of the most likely amounts of its settled updates
    std::array<std::int64_t, kMembers> below{};        ///< `flushed` is too high by at most this many pages
    std::array<std::int64_t, kMembers> above{};        ///< `flushed` is too low by at most this many pages
    std::array<std::int64_t, kMembers> cached{};       ///< `thread` scheme: pages cached now
    std::array<std::int64_t, kMembers> from_faults{};  ///< the part of `cached` that fault records have reported
    std::array<std::int64_t, kMembers>
        cached_at_attach{};  ///< `thread` scheme: cached at the attach, part of the baseline
    std::int64_t lost = 0;   ///< the most pages by which lost records may have changed its sum
    std::uint64_t updates = 0;
    std::uint64_t seen_ns = 0;    ///< t_ns of its last update or fault record
    std::uint64_t active_ns = 0;  ///< t_ns of its last update or sum
    std::uint64_t flushes = 0;
    std::uint64_t last_flush_ns = 0;
    std::uint64_t cached_ns = 0;                    ///< time of the record or reading that `cached` is from
    std::array<std::int64_t, kMembers> left{};      ///< `thread` scheme: pages cached after its last record
    std::array<std::uint64_t, kMembers> left_by{};  ///< ticket of the open update that determines `left`; 0: none
    int last_flushed_member = -1;

    Members net() const;
    Pages uncertain() const;
    void join(const Account &other);
    /// Sets `left` to `cached`, so that no open update determines it.
    void rebase();
};

/// The accounts of all tasks that updated an mm: of its own tasks, which live in it, of tasks of other mms, and of
/// tasks that have ended.
///
/// Each amount is in exactly one account, so the sum of all nets does not change when a task ends, moves or changes its
/// TID. The open updates of an account have its TID, or its tag if the task has ended: where a function returns a tag
/// or true, the caller must rename them.
class MmTasks {
  public:
    MmTasks();

    /// The account of a task of the mm; added if it is missing.
    Account &own(int tid);
    /// Null: the mm has no such task.
    Account *find_own(int tid);
    /// The account of a task of another mm; added if it is missing.
    Account &other(int tid);
    /// The account for an update by a task that has already ended: its own while it is kept, else the sum of ended
    /// tasks.
    Account &ended(int tid);
    /// The account for updates of this task during the teardown. The freed pages are not part of the task's net.
    Account &teardown(const Account &task);
    /// The account of an open update.
    Account &of(int tid_or_tag);
    const std::unordered_map<int, Account> &own_tasks() const { return own_tasks_; }
    const std::map<int, Account> &others() const { return others_; }

    /// The number of accounts.
    std::size_t size() const { return own_tasks_.size() + others_.size() + former_tasks_.size(); }

    /// Adds to the number of the account's updates. `own`: its task lives in the mm.
    void count(Account &account, std::uint64_t updates, bool own, std::uint64_t t_ns);
    /// Sets what a task of the mm caches (`thread` scheme).
    void set_cached(Account &account, std::size_t member, std::int64_t pages);
    void set_cached_at_attach(Account &account, std::size_t member, std::int64_t pages);
    /// Adds the most likely amount of an update of the task.
    void add_flushed(Account &account, std::size_t member, std::int64_t pages);
    /// Calls Account::rebase() of each task of the mm.
    void rebase();
    /// A task of the mm has left it by an exec. Its account stays, with this name and the faults that it had in the mm.
    void leave_own(int tid, std::uint64_t faults, const TaskName &name);
    /// Any net may be off by this many more pages from now on.
    void widen(std::int64_t pages);
    /// To be called after a resync: the possible error does not apply to accounts that are added later.
    void resynced() { lost_pages_ = 0; }

    /// Ends an existing task of the mm at this time. Returns its tag.
    int end_own(int tid, std::uint64_t faults, const TaskName &name, std::uint64_t t_ns);
    enum class End { Known, Silent };
    /// Ends a task of another mm. Returns its tag; nullopt: there is no such task. release() does not report one that
    /// is only Silent.
    std::optional<int> end_other(int tid, const TaskName &name, std::uint64_t t_ns, End end);
    /// Whether release() may have anything to do at this time.
    bool leaving(std::uint64_t t_ns) const {
        return !former_tasks_.empty() && former_tasks_.rbegin()->second.over(t_ns);
    }
    /// Whether release() or others_to_end() may have anything to do later, without another record.
    bool any_to_end() const { return !former_tasks_.empty() || others_.size() > kMostOthers; }
    /// If there are very many tasks of other mms: those to pass to end_other(). They are silent, and their nets are the
    /// smallest. Most of them have ended, which no record shows; one that lives gets another account at its next
    /// update.
    std::vector<int> others_to_end(std::uint64_t t_ns);
    /// Adds the account of each ended task to the sum of ended tasks, unless its tag is in `open` or one of its records
    /// may still come at `t_ns`. Appends them to `ended`, unless it is null.
    void release(std::uint64_t t_ns, const std::unordered_set<int> &open, std::uint64_t generation,
                 std::vector<EndedTask> *ended);
    /// To be called when the task lives in this mm. Its earlier updates, made while exec built the mm, become those of
    /// a task of the mm.
    void adopt_other(int tid);
    /// These return whether there was an account `from`.
    bool rename_other(int from, int to);
    bool rename_own(int from, int to);
    /// The present TID of a task of the mm that had this TID.
    int tid_now(int tid) const;

    /// The sum over all accounts.
    const Members &net() const { return net_; }
    /// What all tasks of the mm cache.
    const std::array<std::int64_t, kMembers> &cached() const { return cached_; }
    /// By tasks of the mm, including ended ones.
    std::uint64_t updates() const { return updates_; }
    /// Fills in the fields of tasks. `tasks_cache`: each has a cache.
    void show(MmView &view, bool tasks_cache) const;

  private:
    /// A task that has ended while its updates may be open or in flight.
    struct FormerTask {
        Account account;
        TaskNet named;  ///< its names
        bool own = true;
        bool reported = true;
        std::uint64_t end_ns = 0;

        /// By kSilentNs after its end all of a task's records have come.
        bool over(std::uint64_t t_ns) const { return end_ns + CounterHistory::kSilentNs < t_ns; }
    };

    int leave(int tid, const Account &account, const TaskName &name, FormerTask former);

    Members net_;
    std::array<std::int64_t, kMembers> cached_{};
    std::unordered_map<int, Account> own_tasks_;
    std::map<int, Account> others_;
    static constexpr std::size_t kMostOthers = 4096;
    std::size_t most_others_ = kMostOthers;
    std::uint64_t silent_at_ns_ = 0;  ///< from then on each of `others_` may be silent
    std::unordered_map<int, int> renamed_;
    std::unordered_map<int, TaskNet> left_;  ///< by TID: names and faults of tasks that have left by exec
    Account ended_, teardown_;
    Account ended_others_;                    ///< of tasks of other mms
    std::map<int, FormerTask> former_tasks_;  ///< by Account::tag, the last one that has ended first
    std::unordered_map<int, int>
        former_task_of_;  ///< by the kernel's TID: tag of the last ended task that had this TID
    int next_former_task_ = kFirstFormerTask;
    std::uint64_t ended_count_ = 0, ended_others_count_ = 0;
    std::uint64_t ended_faults_ = 0;
    std::uint64_t updates_ = 0;
    std::uint64_t updates_by_others_ = 0;
    std::int64_t possible_error_ = 0;  ///< pages, total over all losses and disagreements
    std::int64_t lost_pages_ = 0;      ///< Account::lost of an account that is added before the resync
};

}  // namespace rsslag::core
