// SPDX-License-Identifier: BSD-2-Clause
// The state of the Ledger: its mms, tasks and groups.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/ledger.h"
#include "mm_account.h"

namespace rsslag::core {

struct Ledger::Impl {
    explicit Impl(const Options &given);

    struct Task {
        int tid = 0;   ///< in rsslag's PID namespace
        int tgid = 0;  ///< in rsslag's PID namespace
        int host_tgid = 0;
        std::string comm;
        std::shared_ptr<MmAccount> mm;  ///< null: not known yet, or the task has left it
        std::uint64_t faults_before = 0;
        int tid_before = 0;  ///< in rsslag's PID namespace, before an exec gave it its leader's TID; 0: it has its own
        std::uint64_t used =
            0;  ///< of a foreign task: `seen_records` at its last one, or when an mm dropped its account
    };
    /// A group that has left an mm. It is reported when the mm's teardown is complete.
    struct Leaving {
        GroupView group;
        std::shared_ptr<MmAccount> mm;
        std::uint64_t t_ns = 0;
    };
    /// The account that an update goes to.
    struct Entry {
        std::uint64_t mm_address = 0;
        int tid = 0;
        std::uint64_t version = 0;  ///< Impl::version when it was looked up
        bool own = false;           ///< the task lives in the mm
        MmAccount *mm = nullptr;    ///< null: the ledger does not have it
        Account *account = nullptr;
    };

    Options options;
    std::unordered_map<std::uint64_t, std::shared_ptr<MmAccount>> mms;
    std::unordered_map<int, Task> tasks;          ///< by the kernel's TID; put() and erase() change it
    std::set<std::pair<int, int>> tids_of_group;  ///< of these: the kernel's TGID and TID
    std::unordered_map<int, Task> foreign_tasks;  ///< tasks of other mms that updated one of `mms`
    std::uint64_t seen_records = 0;
    std::map<int, GroupView> groups;  ///< by the kernel's TGID; put() changes it
    /// Of these: the mm and the kernel's TGID.
    std::set<std::pair<std::uint64_t, int>> groups_of_mm;
    std::deque<Leaving> leaving;
    /// `thread` scheme: tasks whose last update was of an mm that no process lives in yet.
    std::unordered_set<int> mm_builders;
    /// By TID of each task that updated an mm other than its own: the mms that may have its account.
    std::unordered_map<int, std::set<std::uint64_t>> others;
    std::unordered_map<std::uint64_t, std::uint64_t> retired;  ///< by address: the time at which an mm last ended there
    std::vector<std::uint64_t> ended_addresses;                ///< Ledger::take_ended_mms()
    std::uint64_t generations = 0;
    std::uint64_t ended = 0, ended_not_at_zero = 0;
    std::uint64_t groups_unread = 0;
    std::uint64_t now = 0;
    /// Lost records. Any of them may belong to an mm that is created before `until_ns`.
    struct LostRecords {
        std::uint64_t records = 0;
        std::uint64_t until_ns = 0;
    } lost_records;
    bool watching = false;                            ///< from begin_watch() to end_watch()
    std::vector<std::shared_ptr<MmAccount>> watched;  ///< meanwhile
    Shared shared;
    std::vector<Renumbered> renumbered_tasks;  ///< Ledger::take_renumbered()
    Extreme highest_ended;                     ///< the highest peak of one mm that has ended

    Task &put(int tid, Task task);
    void erase(std::unordered_map<int, Task>::iterator task);
    void put(const GroupView &group);
    void raise_to_one_mm(Extreme &most) const;
    std::shared_ptr<MmAccount> at(std::uint64_t mm) const;
    Applied apply(const rsslag_update &update);
    void apply(rsslag_sum sum);
    void retire(const std::shared_ptr<MmAccount> &mm);
    void new_task(const rsslag_task &record);
    void exec(const rsslag_task &record);
    void exit(const rsslag_task &record);
    void vanished(int host_tgid);
    void tid_reused(int tid);
    void forget_other(int tid, std::uint64_t mm);
    void forget_foreign_tasks();
    std::size_t foreign_left = 0;  ///< after the last forget_foreign_tasks()
    void renumbered(int from, int to);
    void leave(int host_tgid, std::shared_ptr<MmAccount> mm, std::uint64_t t_ns);
    void rename(const rsslag_task &record);
    void seen(const rsslag_task &record);
    void take_names(const CounterReading &reading);
    void drop_missing(MmAccount &mm, const CounterReading &reading, std::uint64_t begin_ns);
    void name_tasks(MmView &view) const;
    static TaskName name_of(int host_tid, const Task &task);
    void name_extremes(Extremes &extremes) const;
    /// Makes all of `last_` invalid. To be called when a task or an mm is added, removed or renumbered.
    void forget_last() { version++; }
    std::uint64_t version = 1;
    mutable std::uint64_t all_known_at = 0;  ///< `version` when Ledger::unknown() was empty
    /// Whether a group other than `except` lives in the mm.
    bool alive_in(const MmAccount &mm, int except) const;
    void count_processes();

  private:
    std::shared_ptr<MmAccount> make(std::uint64_t address, std::uint64_t t_ns);
    MmAccount *account_for(const rsslag_update &update);
    Entry entry_for(const rsslag_update &update);
    Account &account_of(MmAccount &mm, const rsslag_update &update, bool &lives_here);
    Task *task_of(int tid, bool may_be_survivor);
    std::uint64_t missing_updates(const rsslag_sum &sum);
    bool overtaken(const rsslag_sum &sum);
    bool surely_direct(const rsslag_update &update, const MmAccount &mm);
    bool may_have_ended(const MmAccount &mm, std::uint64_t t_ns) const;

    /// By CPU: the look-up for its last update. The next update mostly has the same task and mm.
    std::vector<Entry> last_;
    /// The number of sums of a CPU that are kept, since sums may come out of order.
    static constexpr std::uint32_t kReportedSums = 64;
    /// A sum of a CPU, and the number of its updates that have been applied.
    struct Reported {
        std::uint32_t number = 0;
        std::uint32_t updates = 0;
    };
    struct ReportedByCpu {
        std::array<Reported, kReportedSums> recent;
        std::uint32_t last = 0;  ///< highest number
        std::uint64_t last_mm = 0;
    };
    ByCpu<ReportedByCpu> reported_;
};

}  // namespace rsslag::core
