// SPDX-License-Identifier: BSD-2-Clause
// The account of one mm: what its counters hold, and who brought it there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "counter_history.h"
#include "peaks.h"
#include "rsslag/core/ledger.h"

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

/// What a task did to this mm.
struct Account {
    /// Set for an account of no living task: the number that identifies its open updates.
    std::optional<int> tag;
    std::array<std::int64_t, kMembers> flushed{};  ///< by its updates, as they are most likely
    std::array<std::int64_t, kMembers> below{};    ///< the truth is less than that by at most so many pages …
    std::array<std::int64_t, kMembers> above{};    ///< … or more
    std::array<std::int64_t, kMembers> cached{};   ///< `thread` scheme: holds now
    std::array<std::int64_t, kMembers>
        from_faults{};  ///< … and what of it its records have told of, and no flush again
    std::array<std::int64_t, kMembers>
        cached_at_attach{};  ///< `thread` scheme: held at the attach, part of the baseline
    std::int64_t lost = 0;   ///< pages of its updates that may be among what was lost
    std::uint64_t updates = 0;
    std::uint64_t seen_ns = 0;  ///< of its last record that told of one thing only
    std::uint64_t flushes = 0;
    std::uint64_t last_flush_ns = 0;
    std::uint64_t cached_ns = 0;                    ///< when `cached` was told
    std::array<std::int64_t, kMembers> left{};      ///< `thread` scheme: what it caches after its last record, …
    std::array<std::uint64_t, kMembers> left_by{};  ///< … or what the update of that ticket has left of it
    int last_flushed_member = -1;

    Members net() const;
    Pages uncertain() const;
    void join(const Account &other);
    /// Nothing is open of what it caches.
    void rebase();
};

/// Amounts of updates that were open, told when they are settled.
struct Settlements {
    std::uint64_t tickets = 0;
    std::vector<SettledUpdate> reported;
};

/// What the accounts of all mms share.
struct Shared {
    Settlements settlements;
    bool keep_ended = false;  ///< whether anybody takes `ended`
    std::vector<EndedTask> ended;
    Peaks peaks;             ///< of all together …
    std::size_t unsure = 0;  ///< … while of so many nobody knows what they hold
};

class MmAccount {
  public:
    /// `shared`: where amounts that were open are told, and what all mms come to.
    MmAccount(const Ledger::Options &options, std::uint64_t mm, std::uint64_t generation, Shared &shared);

    void adopt(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns);
    /// Whether it was first read after that time.
    bool read_after(std::uint64_t t_ns) const { return t_ns <= adopted_until_; }

    /// `member`: the task's own account, else that of another task. `direct`: surely no flush.
    Applied apply(const rsslag_update &update, Account &account, bool member, bool direct);
    Members apply(const rsslag_fault &fault);
    /// `updates`: of it, those not applied yet.
    void apply(const rsslag_sum &sum, Account &account, std::uint64_t updates, bool member);
    void advance(std::uint64_t t_ns);
    /// Nothing more of it comes: what is open is settled as it is most likely.
    void finish();
    /// It begins in the trace, with nothing.
    void born();
    /// It is gone.
    void close();

    void watch();
    void end_watch();
    Check compare(const CounterReading &reading, std::uint64_t begin_ns, std::uint64_t end_ns);
    /// So many records, of whatever kind.
    void lost(std::uint64_t records);
    /// What CPUs that went offline between these times cached is part of the counts (lib/percpu_counter.c
    /// percpu_counter_cpu_dead), and no record has told.
    void cpus_folded(std::uint64_t since_ns, std::uint64_t until_ns);

    /// A process lives in it from then on, or did already.
    void bind(std::uint64_t t_ns);
    /// What was to tell of its begin is among what was lost.
    void begin_lost() { begin_in_doubt = true; }

    /// A task of this mm.
    Account &member(int tid);
    Account &other(int tid);
    /// It has ended by then; its account joins those of all that have, once nothing of it is open.
    void end_member(int tid, std::uint64_t faults, const TaskName &name, std::uint64_t t_ns);
    /// It lives in another mm from now on, by exec; its account stays.
    void leave_member(int tid);
    /// What a task has done to an mm that it was making becomes its own once it lives there.
    void adopt_other(int tid);
    /// A task that was none of its own has ended, and its number is another's from now on.
    void end_other(int tid, const TaskName &name, std::uint64_t t_ns);
    void rename_other(int from, int to);
    /// The number of a member changes (an exec by another thread than the leader).
    void rename_member(int from, int to);
    /// The number that a task which was a member by this one has now.
    int tid_now(int tid) const;
    /// The account for an update of a task that has already ended: its own while it is kept, else that of all ended
    /// tasks.
    Account &ended(int tid);
    /// Adds the accounts of ended tasks to the sum of all ended tasks, once no update of theirs is open at this time.
    void release_leavers(std::uint64_t t_ns);

    MmView view() const;
    bool empty() const;         ///< 0 in every member, as records tell at once
    bool may_be_empty() const;  ///< … or as it is most likely once what is open is settled

    std::uint64_t mm = 0;
    std::uint64_t generation = 0;
    std::uint64_t born_ns = 0;    ///< of its first record; 0: was there before
    int builder = 0;              ///< who made its first update, before anybody lived in it
    bool bound = false;           ///< a process lives in it
    std::uint64_t bound_ns = 0;   ///< … since then, or before
    bool torn_down = false;       ///< its last user has left
    Members last;                 ///< … and what it held before
    Members begin;                ///< what it held as a process began to live in it, or as it was first read
    bool begin_in_doubt = false;  ///< … as far as is known: records from before were lost
    bool needs_resync() const { return needs_resync_; }
    Members exact() const { return flushed() + cached(); }
    std::optional<Held> held() const;  ///< nullopt: it comes to its end, or records are missing
    std::int64_t lag() const;          ///< pages of rss that the counters alone do not show, as /proc clamps each at 0
    std::uint64_t updates() const { return updates_; }
    std::uint64_t last_ns = 0;
    const std::unordered_map<int, Account> &members() const { return members_; }
    const std::map<int, Account> &others() const { return others_; }

  private:
    struct Change {
        std::uint64_t t_ns;
        std::uint32_t cell;
        std::int64_t value;
        bool sum;  ///< what was held before it is not known, nor when it changed
    };

    /// What a reading saw and no record had told of by then. The record may still come: its CPU may have been taken
    /// away between its update and the time that it took for it.
    struct Suspicion {
        std::uint64_t read_ns;
        std::uint32_t cell;
        std::int64_t value;
    };

    /// An update of the `thread` scheme that is not settled yet.
    struct OpenFlush {
        rsslag_update update;
        bool direct = false;   ///< surely
        bool tells = false;    ///< … what its task had cached until then
        bool zeroed = false;   ///< taken for a flush at once: the task caches nothing since
        bool counted = false;  ///< … and the first of one
    };

    /// A task that has ended, while updates of it may be open or in flight.
    struct Leaver {
        Account account;
        TaskNet named;  ///< who it was
        bool own = true;
        std::uint64_t end_ns = 0;
    };

    void leave(int tid, const Account &account, Leaver leaver);
    Account ended_together() const;
    Applied apply_cpu(const rsslag_update &update, Account &account);
    Applied apply_thread(const rsslag_update &update, Account &account, bool direct);
    void note_begin();
    void take_absolute(const rsslag_update &update);
    CounterEvent event_of(const rsslag_update &update, Account &account);
    Applied add(CounterEvent event, std::size_t member);
    void passed(int cpu, std::uint64_t t_ns);
    std::uint64_t complete_ns(std::uint64_t now) const;
    void take(std::size_t member);
    void take_fold(const CounterHistory::Update &update);
    std::optional<FlushReason> take_flush(const CounterHistory::Update &update, std::size_t member);
    bool count_flush(Account &account, const rsslag_update &update);
    void doubt(std::int64_t pages);
    void drop_open();
    MmView view_settled() const;
    void hold_count(const rsslag_update &update);
    void set_cached(Account &account, std::size_t member, std::int64_t pages);
    void set_cached_at_attach(Account &account, std::size_t member, std::int64_t pages);
    void add_flushed(Account &account, std::size_t member, std::int64_t pages);
    Account &of(int tid);
    void retag(int from, int to);
    void hold(std::uint32_t cell, std::uint64_t t_ns, std::int64_t value, bool sum = false);
    std::int64_t value(std::uint32_t cell) const;
    void set(std::uint32_t cell, std::int64_t value);
    Members flushed() const;
    Members cached() const;
    void take_over(const CounterReading &reading, const std::vector<bool> &changed, std::uint64_t t_ns);
    void take_over_tasks(const CounterReading &reading, std::uint64_t begin_ns);
    void explain(std::uint32_t cell, std::int64_t value);
    bool confirms(std::uint32_t cell, std::uint64_t read_ns) const;
    void give_up_suspicions();
    bool settled() const;
    void rebase();
    void note_rss();
    WideStep step_of(const rsslag_update &update) const;
    template <class Step>
    void note_step(const Step &step);
    void note_cached(const rsslag_update &update, std::int64_t pages);
    void note_fold(const rsslag_update &update, const CounterEvent &event);
    void note_flush(const rsslag_update &update, const CounterEvent &event, Account &account, OpenFlush &open);
    void note_sum(const rsslag_sum &sum, const Members &before);
    void note_task(int tid, std::uint64_t t_ns);
    void note_settled(std::size_t member, std::vector<PeakAmount> amounts);
    static Amount guess(const CounterEvent &event);
    Amount left_by(const OpenFlush &open, const Amount &moved) const;
    void update_peaks(std::uint64_t t_ns);
    void know_peaks();
    void start_peaks(std::uint64_t t_ns);
    void now_unsure();
    void now_sure();
    template <class Use>
    void each_peaks(const Use &use);
    TaskNet entry(int tid, const Account &account) const;

    Ledger::Options options_;
    std::array<std::int64_t, kMembers> flushed_{};
    std::array<std::uint64_t, kMembers> flushed_ns_{};        ///< when that was so
    std::vector<std::array<std::int32_t, kMembers>> locals_;  ///< `cpu` scheme, by CPU
    std::array<std::int64_t, kMembers> cached_sum_{};         ///< of CPUs, or of the mm's tasks
    Members nets_;                                            ///< of all accounts together
    std::vector<std::uint64_t> folds_;
    std::array<CounterHistory, kMembers> histories_;
    CounterHistory::Settled out_;
    std::unordered_map<std::uint64_t, OpenFlush> open_flushes_;  ///< by ticket
    std::vector<std::uint64_t> cpu_seen_ns_;  ///< by CPU: of its last record that told of one thing only
    Shared *shared_;                          ///< null in a copy that is looked at, and once it is closed
    Peaks peaks_;
    std::array<std::int64_t, kMembers> baseline_{};
    Members remainder_;  ///< what the counters had at the last quiet reading over what amounts sum up to
    std::unordered_map<int, Account> members_;
    std::map<int, Account> others_;
    std::unordered_map<int, int> renamed_;
    Account ended_, teardown_;
    Account ended_others_;                    ///< of tasks that were none of its own
    std::map<int, Leaver> leavers_;           ///< by Account::tag
    std::unordered_map<int, int> leaver_of_;  ///< … by the kernel's TID, the last that had it
    int next_leaver_ = kFirstLeaver;
    std::uint64_t ended_count_ = 0;
    std::uint64_t ended_faults_ = 0;
    std::uint64_t updates_ = 0;
    std::uint64_t updates_by_others_ = 0;
    std::array<std::uint64_t, kFlushReasons> flushes_{};
    std::uint64_t adopted_until_ = 0;  ///< records up to then are part of the baseline
    std::uint64_t adopted_from_ = 0;   ///< … and those before it are older than the reading
    std::uint64_t disagreements_ = 0;
    std::uint64_t resyncs_ = 0;
    bool needs_resync_ = false;
    std::int64_t doubted_ = 0;        ///< pages, of all doubts so far
    std::int64_t lost_pages_ = 0;     ///< that may be missing of a task of which nothing has been told yet, in doubt
    std::uint64_t folded_until_ = 0;  ///< a reading that began before that does not end the doubt
    std::vector<Suspicion> suspicions_;
    bool watched_ = false;
    std::vector<std::int64_t> watched_from_;
    std::vector<Change> changes_;
    std::int64_t rss_min_ = 0, rss_max_ = 0;
};

}  // namespace rsslag::core
