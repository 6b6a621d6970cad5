// SPDX-License-Identifier: BSD-2-Clause
#include "tracer.h"

#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "drain.h"
#include "machine.h"
#include "own_cost.h"
#include "rsslag/core/ledger.h"
#include "rsslag/core/time_order.h"
#include "rsslag/probe/stream.h"
#include "rsslag/probe/traits.h"
#include "rsslag/procfs/process.h"
#include "snapshotter.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;

/// A record is in its ring this long after its time, and sooner unless its CPU was taken away.
constexpr std::uint64_t kLateNs = 2'000'000;
/// Around a reading, what the ledger held is asked for this much wider.
constexpr std::uint64_t kWiderNs = 1'000'000;

/// What is kept of a traced process from tick to tick.
struct Traced {
    std::optional<procfs::Process> process;
    view::ProcessReading last;  ///< names and numbers of the last reading
    core::Calibration calibration;
    // The last walk, and what had happened to the mm until then.
    std::optional<view::ProcessReading> walked;
    std::uint64_t walked_ns = 0, walked_updates = 0, walked_faults = 0;
    std::uint64_t next_walk_ns = 0;
    std::map<int, std::uint64_t> updates_before;
    view::Summary::Process summary;
};

struct Window {
    Taken taken;
    int host_tgid = 0;
};

/// Readings of 10,000 threads come and go with each tick: what is freed goes back to the kernel at once, as glibc would
/// keep more and more of it.
void give_memory_back() {
    constexpr int kBytes = 128 * 1024;
    mallopt(M_MMAP_THRESHOLD, kBytes);
    mallopt(M_TRIM_THRESHOLD, kBytes);
    mallopt(M_ARENA_MAX, 1);
}

}  // namespace

struct Tracer::State {
    Options options;
    view::SnapshotDocument facts;
    std::unique_ptr<Snapshotter> snapshotter;
    std::unique_ptr<probe::StreamProbe> stream;
    std::unique_ptr<core::Ledger> ledger;
    core::TimeOrder order;
    std::map<int, Traced> traced;  ///< by the kernel's TGID
    std::vector<view::Summary::Process> gone;
    view::Summary totals;  ///< of processes that have left an mm
    OwnCostMeter meter, whole;
    view::OwnCost own;
    std::uint64_t start_ns = 0;
    std::uint64_t seq = 0;
    std::uint64_t lost_before = 0;
    probe::Losses losses;
    std::set<int> at_exec;  ///< groups whose exec is awaited
    std::vector<view::Tick> ended;
    std::unique_ptr<Drain> drain;  // last: its thread uses the stream

    void apply_until(std::uint64_t t_ns);
    void note(const rsslag_update &update, const core::Applied &applied);
    void take_losses();
    void stop();
    view::Tick tick_of(const core::GroupView &group, const core::MmView &mm);
    void finish(const core::Ended &ended_group);
    std::optional<Window> read(const core::GroupView &group);
    std::optional<view::Tick> judged(const core::GroupView &group, Window &window);
    void keep_walk(Traced &traced, view::Tick &tick);
    void count(Traced &traced, const view::Tick &tick);
    void add_totals(const view::Tick &tick);
    void adopt(int host_tgid, const Taken &taken);
};

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::~Tracer() = default;
Tracer::Tracer(Tracer &&) noexcept = default;

core::Result<Tracer> Tracer::open(Options options) {
    give_memory_back();
    const auto traits = probe::running_kernel_traits();
    if (!traits) return traits.error();
    const Host host = this_host();
    auto stream = probe::StreamProbe::open(
        *traits,
        {.cpus_possible = host.machine.cpus_possible, .ring_bytes = options.ring_bytes, .follow = options.follow});
    if (!stream) return stream.error();
    // Records are lost when the thread that copies them out has to wait for a CPU. It inherits this; who may not, may
    // not.
    setpriority(PRIO_PROCESS, 0, -10);
    auto snapshotter = Snapshotter::open();  // drops all capabilities but what readings need
    if (!snapshotter) return snapshotter.error();
    auto state = std::make_unique<State>();
    state->options = std::move(options);
    state->stream = std::make_unique<probe::StreamProbe>(std::move(*stream));
    state->snapshotter = std::make_unique<Snapshotter>(std::move(*snapshotter));
    state->facts = state->snapshotter->document();
    const core::Machine &machine = state->facts.machine;
    state->ledger = std::make_unique<core::Ledger>(core::Ledger::Options{
        .scheme = machine.scheme, .cpus = machine.cpus_possible, .batch = machine.batch().value_or(1)});
    state->drain = std::make_unique<Drain>(*state->stream);
    setpriority(PRIO_PROCESS, 0, 0);
    state->start_ns = monotonic_ns();
    return Tracer(std::move(state));
}

void Tracer::State::adopt(int host_tgid, const Taken &taken) {
    core::GroupView group;
    group.host_tgid = host_tgid;
    group.mm = taken.counters.mm;
    for (const core::TaskReading &task : taken.counters.tasks) {
        if (task.host_tgid != host_tgid) continue;
        group.tgid = task.tgid;
        if (task.host_tid == host_tgid || group.comm.empty()) group.comm = task.comm;
    }
    ledger->adopt(taken.counters, group, taken.begin_ns, taken.end_ns);
}

Status Tracer::attach(pid_t pid) {
    constexpr int kTries = 8;  // a process that execs just now changes its mm between two readings
    for (int i = 0; i < kTries; ++i) {
        const auto before = state_->snapshotter->read_counters(pid);
        if (!before) return before.error();
        int host_tgid = 0;
        for (const core::TaskReading &task : before->counters.tasks) {
            if (task.tgid == pid) host_tgid = task.host_tgid;
        }
        Status wanted = state_->stream->want(host_tgid, before->counters.mm);
        if (!wanted) return wanted;
        const auto taken = state_->snapshotter->read_counters(pid);
        if (!taken) return taken.error();
        if (taken->counters.mm != before->counters.mm) continue;
        state_->adopt(host_tgid, *taken);
        return core::success();
    }
    return Error{Kind::Gone, fmt::format("process {} does not stay one program long enough to be read", pid), 0, ""};
}

Status Tracer::attach_at_exec(pid_t pid) {
    const auto taken = state_->snapshotter->read_counters(pid);
    if (!taken) return taken.error();
    for (const core::TaskReading &task : taken->counters.tasks) {
        if (task.tgid != pid) continue;
        state_->at_exec.insert(task.host_tgid);
        return state_->stream->want(task.host_tgid, 0);
    }
    return Error{Kind::Gone, fmt::format("process {} is gone", pid), 0, ""};
}

void Tracer::State::note(const rsslag_update &update, const core::Applied &applied) {
    if (!options.on_update || !applied.known) return;
    view::EventLine line;
    line.t_ns = update.t_ns > start_ns ? update.t_ns - start_ns : 0;
    for (const core::GroupView &group : ledger->groups()) {
        if (group.mm == update.mm) line.pid = group.tgid;
    }
    line.tid = update.tid;
    line.comm = ledger->comm_of(update.tid);
    line.cpu = update.cpu;
    line.update = update;
    line.applied = applied;
    options.on_update(line);
}

/// Everything before that time goes through the ledger.
void Tracer::State::apply_until(std::uint64_t t_ns) {
    struct Apply {
        State *state;
        void operator()(const rsslag_update &update) const { state->note(update, state->ledger->apply(update)); }
        void operator()(const rsslag_fault &fault) const { state->ledger->apply(fault); }
        void operator()(const rsslag_task &task) const {
            const bool dead = task.kind == RSSLAG_EXIT && (task.flags & RSSLAG_GROUP_DEAD) != 0;
            if (task.kind == RSSLAG_EXEC || dead) state->at_exec.erase(task.tgid);
            state->ledger->apply(task);
            if (state->options.on_task) {
                state->options.on_task({task.t_ns > state->start_ns ? task.t_ns - state->start_ns : 0, task});
            }
        }
    };
    order.until(t_ns, Apply{this});
    ledger->advance(t_ns);
    for (const core::Ended &each : ledger->take_ended())
        finish(each);
}

void Tracer::State::take_losses() {
    losses = stream->losses();
    if (losses.lost() > lost_before) ledger->records_lost();
    lost_before = losses.lost();
}

/// Nothing more is sent, and all that was sent has come: a program that ran while it was taken off its hook may need a
/// moment yet.
void Tracer::State::stop() {
    constexpr std::uint64_t kPatienceNs = 200'000'000;
    stream->detach();
    const std::uint64_t deadline = monotonic_ns() + kPatienceNs;
    do {
        drain->collect(order);
        take_losses();
    } while (order.records() + losses.by_cause["ring_full"] < losses.sent && monotonic_ns() < deadline);
    apply_until(monotonic_ns());
}

std::vector<view::Tick> Tracer::collect() {
    const std::uint64_t now = monotonic_ns();
    state_->drain->collect(state_->order);
    state_->apply_until(now - kLateNs);
    return std::exchange(state_->ended, {});
}

/// What every tick of a process has, whether it could be read or not.
view::Tick Tracer::State::tick_of(const core::GroupView &group, const core::MmView &mm) {
    view::Tick tick;
    tick.seq = seq;
    tick.time = std::chrono::system_clock::now();
    tick.t_ns = monotonic_ns() - start_ns;
    tick.page_size = facts.machine.page_size;
    tick.scheme = facts.machine.scheme;
    tick.calibration = facts.calibration;
    tick.state = group.state;
    tick.ledger = mm;
    tick.faults = mm.exited.faults;
    for (core::TaskNet &task : tick.ledger.tasks) {
        const probe::FaultCounts faults = stream->faults(task.host_tid);
        task.faults = faults.user + faults.kernel;
        tick.faults += task.faults;
        task.last_flush_ns = task.last_flush_ns > start_ns ? task.last_flush_ns - start_ns : 0;
    }
    tick.lost = losses.lost();
    tick.lost_by = losses.by_cause;
    tick.doubtful = ledger->doubtful(mm.mm);
    tick.threads = options.threads;
    tick.own = own;
    return tick;
}

void Tracer::State::add_totals(const view::Tick &tick) {
    totals.updates += tick.ledger.updates;
    totals.updates_by_others += tick.ledger.updates_by_others;
    totals.faults += tick.faults;
    totals.resyncs += tick.ledger.resyncs;
    totals.disagreements += tick.ledger.disagreements;
    for (std::size_t i = 0; i < core::kFlushReasons; ++i) {
        const auto reason = static_cast<core::FlushReason>(i);
        if ((reason == core::FlushReason::Fold) != (facts.machine.scheme == core::Scheme::Cpu)) continue;
        totals.flush_reasons[std::string(core::name(reason))] += tick.ledger.flushes[i];
        if (reason != core::FlushReason::Direct) totals.flushes += tick.ledger.flushes[i];
    }
}

/// The last tick of a process, or of a program that another one took the place of.
void Tracer::State::finish(const core::Ended &over) {
    take_losses();
    Traced &entry = traced[over.group.host_tgid];
    view::Tick tick = tick_of(over.group, over.mm);
    tick.read = false;
    tick.process = entry.last;
    tick.process.pid = over.group.tgid;
    tick.process.host_pid = over.group.host_tgid;
    tick.process.comm = over.group.comm;
    tick.process.mm_id =
        snapshotter->mm_id(over.mm.mm, over.mm.generation);  // the last reading may be of the program before
    tick.process.threads_count = static_cast<std::int64_t>(over.mm.tasks.size());
    tick.updates_before = entry.updates_before;
    count(entry, tick);
    if (over.mm.torn_down) add_totals(tick);  // else another process lives on in it, and counts it
    ended.push_back(std::move(tick));
    entry.summary.state = over.group.state;
    if (over.group.state == core::State::Exited) {
        gone.push_back(entry.summary);
        traced.erase(over.group.host_tgid);
    } else {
        entry.walked.reset();
        entry.updates_before.clear();
    }
}

std::optional<Window> Tracer::State::read(const core::GroupView &group) {
    Traced &entry = traced[group.host_tgid];
    if (!entry.process) {
        auto process = procfs::Process::open(group.tgid);
        if (!process) return std::nullopt;
        entry.process = std::move(*process);
    }
    const bool walk = options.walk && monotonic_ns() >= entry.next_walk_ns;
    auto taken = snapshotter->take_timed(*entry.process, walk);
    if (!taken) return std::nullopt;  // it has ended: its last tick comes with its exit
    if (walk) {
        constexpr std::uint64_t kLeast = 1'000'000'000;
        constexpr std::uint64_t kCostsAtMost = 20;  // a twentieth of the time
        const auto cost = static_cast<std::uint64_t>(taken->process.walk ? taken->process.walk->took_us : 0) * 1000;
        // A tick that comes a little early still walks.
        entry.next_walk_ns = taken->bracket_ns + std::max(kLeast * 19 / 20, kCostsAtMost * cost);
    }
    return Window{std::move(*taken), group.host_tgid};
}

/// A walk of an earlier tick still holds as long as nothing has happened to the mm since.
void Tracer::State::keep_walk(Traced &entry, view::Tick &tick) {
    const std::uint64_t updates = tick.ledger.updates + tick.ledger.updates_by_others;
    if (tick.process.walk) {
        entry.walked = tick.process;
        entry.walked_ns = monotonic_ns();
        entry.walked_updates = updates;
        entry.walked_faults = tick.faults;
        return;
    }
    const bool same = entry.walked && entry.walked_updates == updates && entry.walked_faults == tick.faults &&
                      entry.walked->verdict.exact == tick.process.verdict.exact;
    if (!same || tick.process.verdict.verdict != core::Verdict::Unwalked) return;
    tick.stale_walk = true;
    tick.process.walk_state = entry.walked->walk_state;
    tick.process.walk = entry.walked->walk;
    tick.process.walk_age_ms = static_cast<std::int64_t>((monotonic_ns() - entry.walked_ns) / 1'000'000);
    tick.process.verdict = entry.walked->verdict;
}

void Tracer::State::count(Traced &entry, const view::Tick &tick) {
    view::Summary::Process &summary = entry.summary;
    summary.pid = tick.process.pid;
    summary.comm = tick.process.comm;
    summary.baseline = tick.ledger.baseline;
    summary.final = tick.ledger.exact();
    if (!tick.read) return;
    summary.verdicts[std::string(core::name(tick.process.verdict.verdict))]++;
    if (!tick.process.readers.stat) return;
    const core::Pages lag = tick.ledger.exact().rss() - *tick.process.readers.stat;
    if (lag > summary.peak_lag) {
        summary.peak_lag = lag;
        summary.peak_lag_t_ns = tick.t_ns;
    }
}

std::optional<view::Tick> Tracer::State::judged(const core::GroupView &group, Window &window) {
    const Taken &taken = window.taken;
    const auto as_it_was = ledger->view(group.mm);
    const std::uint64_t before = as_it_was ? as_it_was->updates : 0;
    apply_until(taken.end_ns + kWiderNs);
    if (!ledger->view(taken.counters.mm) && traced.count(group.host_tgid) != 0) {
        adopt(group.host_tgid, taken);  // its beginning was lost
        if (const Status wanted = stream->want(group.host_tgid, taken.counters.mm); !wanted) {
            spdlog::warn("{} cannot be traced on: {}", group.tgid, wanted.error().what);
        }
    }
    ledger->compare(taken.counters, taken.begin_ns, taken.end_ns);
    const auto found = traced.find(group.host_tgid);
    if (found == traced.end()) return std::nullopt;  // it has ended, and its last tick is told
    Traced &entry = found->second;
    const auto mm = ledger->view(taken.counters.mm);
    if (!mm) return std::nullopt;
    view::Tick tick = tick_of(group, *mm);
    tick.window_updates = tick.ledger.updates - std::min(before, tick.ledger.updates);
    tick.process = window.taken.process;
    tick.process.mm_id = snapshotter->mm_id(mm->mm, mm->generation);
    keep_walk(entry, tick);
    tick.updates_before = std::move(entry.updates_before);
    entry.updates_before.clear();
    for (const core::TaskNet &task : tick.ledger.tasks)
        entry.updates_before[task.host_tid] = task.updates;
    entry.last = tick.process;
    count(entry, tick);
    return tick;
}

std::vector<view::Tick> Tracer::tick() {
    State &state = *state_;
    state.drain->collect(state.order);
    state.apply_until(monotonic_ns() - kLateNs);
    const std::vector<core::GroupView> groups = state.ledger->groups();
    state.ledger->watch_all();
    state.own = state.meter.since_last(state.stream->cost().run_ns, state.losses.sent);
    std::vector<std::pair<core::GroupView, Window>> windows;
    for (const core::GroupView &group : groups) {
        if (auto window = state.read(group)) windows.emplace_back(group, std::move(*window));
    }
    if (!windows.empty()) {
        // What was sent until a moment after the last reading must be here before any is compared.
        const std::uint64_t until = windows.back().second.taken.end_ns + kWiderNs + kLateNs / 2;
        for (std::uint64_t now = monotonic_ns(); now < until; now = monotonic_ns())
            std::this_thread::sleep_for(std::chrono::nanoseconds(until - now));
    }
    state.drain->collect(state.order);
    state.take_losses();
    std::vector<view::Tick> ticks;
    for (auto &[group, window] : windows) {
        auto tick = state.judged(group, window);
        for (view::Tick &over : std::exchange(state.ended, {}))
            ticks.push_back(std::move(over));
        if (tick) ticks.push_back(std::move(*tick));
    }
    state.ledger->end_watch();
    state.totals.ticks += ticks.size();
    state.seq++;
    return ticks;
}

bool Tracer::any() const {
    return !state_->at_exec.empty() || !state_->ledger->groups().empty() || state_->ledger->leaving();
}

bool Tracer::traces(pid_t pid) const {
    const auto groups = state_->ledger->groups();
    return std::any_of(groups.begin(), groups.end(), [pid](const core::GroupView &g) { return g.tgid == pid; });
}

const std::vector<std::string> &Tracer::missing() const {
    return state_->stream->missing();
}

std::vector<view::Tick> Tracer::stop() {
    state_->stop();
    return std::exchange(state_->ended, {});
}

view::Summary Tracer::summary() {
    State &state = *state_;
    std::set<std::uint64_t> counted;
    for (const core::GroupView &group : state.ledger->groups()) {  // those that live on
        if (!counted.insert(group.mm).second) continue;
        if (const auto mm = state.ledger->view(group.mm)) state.add_totals(state.tick_of(group, *mm));
    }
    view::Summary summary = std::move(state.totals);
    summary.time = std::chrono::system_clock::now();
    summary.duration_ns = monotonic_ns() - state.start_ns;
    summary.scheme = state.facts.machine.scheme;
    summary.page_size = state.facts.machine.page_size;
    summary.kernel = state.facts.kernel;
    summary.records = state.order.records();
    summary.emitted = state.losses.sent;
    summary.lost = state.losses.lost();
    summary.lost_by = state.losses.by_cause;
    summary.ended_mms = state.ledger->ended_mms();
    summary.ended_not_at_zero = state.ledger->ended_not_at_zero();
    summary.processes = state.gone;
    for (const auto &[tgid, entry] : state.traced)
        if (entry.summary.pid != 0) summary.processes.push_back(entry.summary);
    summary.own = state.whole.since_last(state.stream->cost().run_ns, state.losses.sent);
    return summary;
}

}  // namespace rsslag::cli
