// SPDX-License-Identifier: BSD-2-Clause
// A model of a kernel: its mm counters, the records of its tracepoints, and the true values to compare with. CPUs run
// concurrently, step by step, in an order that depends on the seed and that is possible on a real machine.
// docs/kernel.md has the facts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/ledger.h"
#include "core/reading.h"
#include "dice.h"
#include "rsslag/abi.h"

namespace rsslag::core::test {

using WireRecord = std::variant<rsslag_update, rsslag_fault, rsslag_task, rsslag_sum>;
std::uint64_t time_of(const WireRecord &record);

/// A record as a BPF program sent it, and the true change.
struct Emitted {
    WireRecord record;
    std::int64_t amount = 0;                   ///< of an update
    FlushReason reason = FlushReason::Direct;  ///< of an update; Fold where it folded
};

struct ModelMm {
    std::uint64_t address = 0;
    int users = 1;                         ///< mm->mm_users
    Members count;                         ///< the atomics, or percpu_counter.count
    std::vector<Members> local;            ///< by CPU, `cpu` scheme
    Members exact;                         ///< the truth
    Pages rss_most, rss_least;             ///< … since the attach, at any instant
    Members unplanned;                     ///< pages that no planned zap takes
    std::map<std::uint64_t, Members> net;  ///< the truth since the attach, by task serial
    Members baseline;                      ///< exact at the attach
    std::set<std::uint64_t> owners;        ///< serials of tasks that live or lived in it
    bool traced = false;
    bool newborn = true;        ///< no task lives in it yet
    bool ended = false;         ///< its teardown is complete
    bool end_reported = false;  ///< by a record of its teardown
    int visitors = 0;           ///< work in flight by tasks that hold no reference
    std::uint64_t updates = 0;  ///< records sent
};

struct ModelGroup {
    int tgid = 0;
    bool traced = false;
    int live = 0;   ///< signal->live
    int tasks = 0;  ///< that still have a tid
};

/// What a task does next. No other task runs on its CPU between two steps unless `may_switch`.
struct Step {
    std::uint64_t lead_ns = 0;
    bool may_switch = false;
    std::function<void()> run;
};

struct ModelTask {
    std::uint64_t serial = 0;  ///< never reused, as tids are
    int tid = 0;
    ModelGroup *group = nullptr;
    ModelMm *mm = nullptr;
    std::string comm;
    Members cached;        ///< task->rss_stat.count, `thread` scheme
    int events = 0;        ///< task->rss_stat.events
    bool exiting = false;  ///< PF_EXITING
    bool in_execve = false;
    bool dying = false;  ///< an exit is planned: plan nothing more
    bool gone = false;
    bool took_tid = false;    ///< of its leader, by exec: earlier updates with this TID are the leader's
    bool announced = false;   ///< a SEEN record was sent
    std::uint16_t fault = 0;  ///< RSSLAG_OF_*_FAULT while in one
    std::uint64_t fault_address = 0;
    std::uint64_t user_faults = 0, kernel_faults = 0;
    std::int64_t returned = 0;  ///< by its last atomic addition to a counter
    std::deque<Step> steps;
    int on_cpu = -1;
    std::optional<int> pinned;
};

struct ModelOptions {
    Scheme scheme = Scheme::Cpu;
    int cpus = 2;
    std::int64_t batch = 32;
    std::uint64_t seed = 1;
    int switch_one_in = 6;              ///< how often a task leaves its CPU at a step with `may_switch`
    bool exit_before_teardown = false;  ///< the EXIT record comes first, as from 6.16
    bool after_fault = false;           ///< fault records also come after the fault: fexit/handle_mm_fault loads
    bool argument_pages = true;         ///< exec also charges its argument page to the old mm (fs/exec.c acct_arg_size)
    bool follow = true;                 ///< children become traced
    bool counting = false;              ///< --mode counts
    bool reuse_tids = false;            ///< a TID is used again as soon as it is free
    int interrupt_one_in = 0;           ///< one in so many updates is interrupted before its record; 0: none
    std::uint32_t anon_orders = 1;      ///< folios that anonymous memory may come in
};

using Planner = std::function<void(ModelTask &)>;

class ModelKernel {
  public:
    explicit ModelKernel(const ModelOptions &options);

    /// A process that exists before the trace, with some pages.
    ModelTask &make_process(const std::string &comm, bool traced);
    /// A task with no mm: kswapd.
    ModelTask &make_kernel_thread(const std::string &comm);

    // Work. Each call appends steps to the task's queue; they run as time passes.
    void anon_fault(ModelTask &by);
    void file_fault(ModelTask &by, std::int64_t pages);
    void shmem_fault(ModelTask &by);
    void cow_fault(ModelTask &by);
    void swap_in_fault(ModelTask &by);
    void huge_fault(ModelTask &by);
    void empty_fault(ModelTask &by);
    /// Pages without faults: MAP_POPULATE, mlock.
    void populate(ModelTask &by, std::int64_t pages);
    /// munmap or MADV_DONTNEED in the task's own mm, of at most `most` pages of each member: one update a member.
    void zap(ModelTask &by, const Members &most);
    void swap_out(ModelTask &by, ModelMm &mm);
    void write_into(ModelTask &by, ModelMm &mm);
    void make_thread(ModelTask &by);
    void fork(ModelTask &by);
    /// A child in a group of its own that shares its creator's mm: vfork, CLONE_VM.
    void fork_sharing(ModelTask &by);
    void exec(ModelTask &by, const std::string &comm);
    void search_path(ModelTask &by, int candidates);
    void rename(ModelTask &by, const std::string &comm);
    void exit(ModelTask &by);
    void exit_group(ModelTask &by);
    /// Takes and drops a reference, as a reader of smaps does; `mm` must have users.
    void hold(ModelTask &by, ModelMm &mm);
    void release(ModelTask &by, ModelMm &mm);

    void run_for(std::uint64_t ns, const Planner &planner = nullptr);
    /// Runs until no task has steps left.
    void settle();
    std::uint64_t now() const { return now_; }

    /// Emits the open sums that have grown, as userspace reads them before it takes records.
    void read_sums();
    /// Records earlier than `before` in the order of their time, merged from all CPUs as in analysis::Analyzer.
    std::vector<Emitted> take_records(std::uint64_t before);
    /// All records so far; only when settled.
    std::vector<Emitted> take_records() { return take_records(now_ + 1); }

    /// Nets are counted from here on; the mm's baseline is what it holds.
    void attach(ModelMm &mm);
    CounterReading read(const ModelMm &mm) const;
    /// A pass that takes time, while other tasks run. nullopt: the mm ended.
    std::optional<CounterReading> read_slowly(const ModelMm &mm, const Planner &planner);

    Dice &dice() { return dice_; }
    const ModelOptions &options() const { return options_; }
    std::vector<ModelTask *> tasks() const { return alive_; }
    std::vector<ModelTask *> tasks_of(const ModelMm &mm) const;
    std::vector<ModelTask *> threads_of(const ModelGroup &group) const;
    ModelTask *find_task(int tid) const;
    /// mms of traced groups that have users.
    std::vector<ModelMm *> traced_mms() const;
    /// How many mms ended with a record of their teardown.
    std::uint64_t ended_mms() const { return ended_; }
    /// How many folds whose amount is not known from their record met another one between add and record.
    std::uint64_t open_overlaps() const { return open_overlaps_; }
    std::uint64_t pages_touched() const { return touched_; }

  private:
    struct Cpu {
        ModelTask *running = nullptr;
        std::uint64_t next_ns = 0;
        std::uint64_t stamp_ns = 0;          ///< t_ns of the update in flight
        int users = 0;                       ///< … and of its mm then
        bool summed = false;                 ///< it is part of a sum
        const ModelMm *in_flight = nullptr;  ///< between add and record
        Member member = Member::File;
        bool folded = false;
        bool open_fold = false;      ///< of an amount other than one page of a fault
        rsslag_sum sum{};            ///< the open one, `counting`; mm 0: none
        std::uint32_t reported = 0;  ///< updates of it that a reader has seen
    };
    struct Change {
        ModelTask *by;
        ModelMm *mm;
        Member member;
        std::int64_t amount;
    };

    // model_kernel.cpp: time
    void push(ModelTask &task, std::uint64_t lead_ns, std::function<void()> run, bool may_switch = false);
    void pause(ModelTask &task);
    void step_earliest(const Planner &planner);
    void give_work(Cpu &cpu, const Planner &planner);
    void run_step(Cpu &cpu);
    bool busy() const;

    // model_counters.cpp: the two schemes
    void change(const Change &change, std::uint64_t lead_ns);
    void change_fast(const Change &change, std::uint64_t lead_ns);
    void push_update_on_cpu(const Change &change, std::uint64_t lead_ns);
    void add_on_cpu(const Change &change);
    std::uint64_t interrupt();
    void account(const Change &change);
    void note_overlap(Cpu &cpu, const Change &change);
    void push_direct(const Change &change, std::uint64_t lead_ns);
    void push_sync(ModelTask &task, FlushReason reason);
    void flush_member(ModelTask &task, Member member, FlushReason reason);
    void check_sync(ModelTask &task);
    void enter_fault(ModelTask &task, std::uint16_t kind);
    void leave_fault(ModelTask &task);
    void fault(ModelTask &by, Member member, std::int64_t pages);
    void exchange_fault(ModelTask &by, Member from);
    void emit_update(const Change &change, std::uint64_t t_ns, std::int64_t cached, FlushReason reason);
    void begin_record(const Change &change);
    bool summed_up(const Change &change);
    void end_sum(Cpu &cpu, std::uint64_t t_ns);
    void end_sums_of(const ModelMm &mm, Cpu &by);
    void emit_fault(ModelTask &task, bool after);
    std::uint16_t flags_of(const Change &change);
    void announce(ModelTask &task, std::uint64_t t_ns);
    void zap_now(ModelTask &by, ModelMm &mm, const Members &most);
    void visit(ModelTask &by, ModelMm &mm, std::function<void()> work);
    Cpu &cpu_of(const ModelTask &task) { return cpus_[static_cast<std::size_t>(task.on_cpu)]; }

    // model_tasks.cpp: start and end of tasks and mms
    ModelMm &make_mm();
    ModelTask &make_task(ModelGroup &group, ModelMm *mm, const std::string &comm);
    ModelGroup &make_group(bool traced);
    void emit_task(std::uint16_t kind, const ModelTask &task, std::uint16_t flags, int parent = 0, int old_tid = 0);
    void copy_pages(ModelTask &by, ModelMm &child);
    void finish_fork(const ModelTask &by, ModelTask &child, std::uint16_t flags);
    void drop_user(ModelTask &by, ModelMm &mm);
    void tear_down(ModelTask &by, ModelMm &mm);
    void push_argument_page(ModelTask &by, ModelMm &newborn);
    void fail_exec(ModelTask &by, ModelMm &newborn);
    void finish_exec(ModelTask &by, ModelMm &newborn, const std::string &comm);
    void wait_until_alone(ModelTask &by);
    void become_leader(ModelTask &by);
    void switch_mm(ModelTask &by, ModelMm &newborn);
    void leave_mm(ModelTask &by);
    void emit_exit(ModelTask &by);
    void reap(ModelTask &by);

    // model_reading.cpp
    MmReading read_mm(const ModelMm &mm, const std::function<void()> &meanwhile) const;
    static TaskReading read_task(const ModelTask &task);

    ModelOptions options_;
    Dice dice_;
    std::uint64_t now_ = 1'000'000'000;
    std::vector<Cpu> cpus_;
    std::deque<ModelMm> mms_;
    std::deque<ModelGroup> groups_;
    std::deque<ModelTask> all_tasks_;
    std::vector<ModelTask *> alive_;
    std::vector<std::uint64_t> free_addresses_;
    std::vector<int> free_tids_;
    std::uint64_t next_address_ = 0xffff888000001000;
    int next_tid_ = 10'100;
    std::vector<Emitted> records_;
    ModelTask *stepping_ = nullptr;
    std::vector<Step> inserted_;  ///< by the running step: they run before the queued steps of its task
    std::uint64_t ended_ = 0, open_overlaps_ = 0, touched_ = 0;
};

/// The PID of a task of the model in rsslag's own PID namespace; 0 for kernel threads.
inline int ns_pid(int host_pid) {
    return host_pid > 10'000 ? host_pid - 10'000 : 0;
}

}  // namespace rsslag::core::test
