// SPDX-License-Identifier: BSD-2-Clause
// The ledger's inside: which mms, tasks and groups there are.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "mm_account.h"
#include "rsslag/core/ledger.h"

namespace rsslag::core {

struct Ledger::Impl {
    explicit Impl(const Options &given);

    struct Task {
        int tid = 0;   ///< in rsslag's PID namespace
        int tgid = 0;  ///< likewise
        int host_tgid = 0;
        std::string comm;
        std::shared_ptr<MmAccount> mm;  ///< null: not known yet, or left
        std::uint64_t faults_before = 0;
    };
    /// A group has left an mm: told once nothing of the teardown is missing.
    struct Leaving {
        GroupView group;
        std::shared_ptr<MmAccount> mm;
        std::uint64_t t_ns = 0;
    };
    /// Whose account an update goes to.
    struct Entry {
        std::uint64_t mm_address = 0;
        int tid = 0;
        std::uint64_t comings = 0;  ///< when it was looked up
        bool member = false;        ///< one of the mm's own
        MmAccount *mm = nullptr;    ///< null: not known
        Account *account = nullptr;
    };

    Options options;
    std::unordered_map<std::uint64_t, std::shared_ptr<MmAccount>> mms;
    std::unordered_map<int, Task> tasks;          ///< by the kernel's TID
    std::unordered_map<int, Task> foreign_tasks;  ///< of other mms, that updated one of these
    std::map<int, GroupView> groups;              ///< by the kernel's TGID
    std::deque<Leaving> leaving;
    /// Tasks whose last update was of an mm that nobody has yet, `thread` scheme.
    std::unordered_set<int> mm_builders;
    /// Tasks that updated an mm which was not theirs.
    std::unordered_set<int> others;
    std::unordered_map<std::uint64_t, std::uint64_t> retired;  ///< when an mm at this address last ended
    std::uint64_t generations = 0;
    std::uint64_t ended = 0, ended_not_at_zero = 0;
    std::uint64_t now = 0;
    /// So many records were lost, any of which may be of an mm that is born by then.
    struct Doubt {
        std::uint64_t records = 0;
        std::uint64_t until_ns = 0;
    } doubt;
    bool watching = false;  ///< all, until it ends
    Shared shared;

    std::shared_ptr<MmAccount> at(std::uint64_t mm) const;
    Applied apply(const rsslag_update &update);
    void apply(rsslag_sum sum);
    void retire(const std::shared_ptr<MmAccount> &mm);
    void new_task(const rsslag_task &record);
    void exec(const rsslag_task &record);
    void exit(const rsslag_task &record);
    void vanished(int host_tgid);
    void number_given_again(int tid);
    void renumbered(int from, int to);
    void leave(int host_tgid, std::shared_ptr<MmAccount> mm, std::uint64_t t_ns);
    void rename(const rsslag_task &record);
    void seen(const rsslag_task &record);
    void drop_missing(MmAccount &mm, const CounterReading &reading);
    void name_tasks(MmView &view) const;
    static TaskName name_of(int host_tid, const Task &task);
    void name_extremes(Extremes &extremes) const;
    /// To be called whenever a task or an mm comes or goes.
    void forget_last() { comings++; }
    std::uint64_t comings = 1;  ///< and goings
    /// Whether a group other than this one lives in the mm.
    bool alive_in(const MmAccount &mm, int but) const;
    void count_processes();

  private:
    std::shared_ptr<MmAccount> make(std::uint64_t address, std::uint64_t t_ns);
    MmAccount *account_for(const rsslag_update &update);
    Entry entry_for(const rsslag_update &update);
    Account &account_of(MmAccount &mm, const rsslag_update &update, bool &member);
    Task *task_of(int tid, bool may_be_survivor);
    std::uint64_t missing_updates(const rsslag_sum &sum);
    bool overtaken(const rsslag_sum &sum);
    bool surely_direct(const rsslag_update &update, const MmAccount &mm);
    bool may_have_ended(const MmAccount &mm, std::uint64_t t_ns) const;

    /// By CPU: the next update there is most often the same task's, of the same mm.
    std::vector<Entry> last_;
    /// So many sums of a CPU may be overtaken by a later one of it.
    static constexpr std::uint32_t kReportedSums = 64;
    /// A sum of a CPU, and how many updates of it have been told.
    struct Reported {
        std::uint32_t number = 0;
        std::uint32_t updates = 0;
    };
    struct ReportedByCpu {
        std::array<Reported, kReportedSums> recent;
        std::uint32_t last = 0;  ///< number
        std::uint64_t last_mm = 0;
    };
    std::vector<ReportedByCpu> reported_;
};

}  // namespace rsslag::core
