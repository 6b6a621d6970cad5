// SPDX-License-Identifier: BSD-2-Clause
#include "tracer.h"

#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>
#include <thread>

#include "machine.h"
#include "rsslag/probe/traits.h"
#include "tracer_state.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;

/// A record is in its ring this long after its time, and sooner unless its CPU was taken away.
constexpr std::uint64_t kLateNs = 2'000'000;

/// Readings of 10,000 threads come and go with each tick: what is freed goes back to the kernel at once, as glibc would
/// keep more and more of it.
void give_memory_back() {
    constexpr int kBytes = 128 * 1024;
    mallopt(M_MMAP_THRESHOLD, kBytes);
    mallopt(M_TRIM_THRESHOLD, kBytes);
    mallopt(M_ARENA_MAX, 1);
}

void sleep_until(std::uint64_t t_ns) {
    for (std::uint64_t now = monotonic_ns(); now < t_ns; now = monotonic_ns())
        std::this_thread::sleep_for(std::chrono::nanoseconds(t_ns - now));
}

}  // namespace

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::~Tracer() = default;
Tracer::Tracer(Tracer &&) noexcept = default;

core::Result<Tracer> Tracer::open(Options options) {
    give_memory_back();
    const auto traits = probe::running_kernel_traits();
    if (!traits) return traits.error();
    const Host host = this_host();
    auto stream = probe::StreamProbe::open(*traits, {.cpus_possible = host.machine.cpus_possible,
                                                     .ring_bytes = options.ring_bytes,
                                                     .follow = options.follow,
                                                     .counting = options.counting});
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

Status Tracer::attach_matching(const probe::Pattern &pattern) {
    return state_->stream->want_matching(pattern);
}

/// Processes that an exec has made match: what they have done until now is their baseline.
void Tracer::State::adopt_new() {
    for (const core::GroupView &group : ledger->groups()) {
        if (ledger->knows(group.mm) || group.tgid == 0) continue;
        const auto taken = snapshotter->read_counters(group.tgid);
        if (taken && taken->counters.mm == group.mm) adopt(group.host_tgid, *taken);
    }
}

void Tracer::State::log_flush(const rsslag_update &update, const core::Applied &applied) {
    if (!options.for_screen || !applied.known || !applied.reason || *applied.reason == core::FlushReason::Direct)
        return;
    constexpr std::size_t kMost = 512;
    if (flush_log.size() >= kMost) flush_log.pop_front();
    flush_log.emplace_back(update, applied);
}

void Tracer::State::note(const rsslag_update &update, const core::Applied &applied) {
    log_flush(update, applied);
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
        void operator()(const rsslag_sum &sum) const { state->ledger->apply(sum); }
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
    finish_all(false);
}

/// Last ticks of those that have ended; `all`: however much of their end may be missing.
void Tracer::State::finish_all(bool all) {
    for (const core::Ended &each : ledger->take_ended(all))
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
    finish_all(true);
}

/// What was sent goes through the ledger up to where nothing more can come: counted from before it was taken out.
void Tracer::State::take_in() {
    const std::uint64_t now = monotonic_ns();
    drain->collect(order);
    apply_until(now - kLateNs);
}

std::vector<view::Tick> Tracer::collect() {
    state_->take_in();
    state_->adopt_new();
    return std::exchange(state_->ended, {});
}

std::vector<view::Tick> Tracer::tick() {
    State &state = *state_;
    state.take_in();
    const std::vector<core::GroupView> groups = state.ledger->groups();
    state.ledger->watch_all();
    state.own = state.meter.since_last(state.stream->cost().run_ns, state.losses.sent);
    std::vector<std::pair<core::GroupView, Taken>> readings;
    for (const core::GroupView &group : groups) {
        if (auto taken = state.read(group)) readings.emplace_back(group, std::move(*taken));
    }
    std::uint64_t until = 0;
    if (!readings.empty()) {
        // What was sent until a moment after the last reading must be here before any is compared, sums as they are
        // then.
        until = readings.back().second.end_ns + kWiderNs;
        sleep_until(until);
        if (state.options.counting) {
            state.drain->collect(state.order);
            until = monotonic_ns();
        }
        sleep_until(until + kLateNs / 2);
    }
    state.drain->collect(state.order);
    state.take_losses();
    std::vector<view::Tick> ticks;
    for (const auto &[group, taken] : readings) {
        auto tick = state.judged(group, taken, state.options.counting ? until : taken.end_ns + kWiderNs);
        for (view::Tick &over : std::exchange(state.ended, {}))
            ticks.push_back(std::move(over));
        if (tick) ticks.push_back(std::move(*tick));
    }
    state.ledger->end_watch();
    state.flush_log.clear();
    state.seq++;
    return ticks;
}

void Tracer::walk_now(pid_t pid) {
    for (auto &[host_tgid, entry] : state_->traced) {
        if (entry.last.pid == pid) entry.next_walk_ns = 0;
    }
}

const view::SnapshotDocument &Tracer::facts() const {
    return state_->facts;
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
