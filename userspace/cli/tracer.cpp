// SPDX-License-Identifier: BSD-2-Clause
#include "tracer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "live_source.h"
#include "tracer_state.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;
using recording::Ask;

}  // namespace

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::~Tracer() = default;
Tracer::Tracer(Tracer &&) noexcept = default;

core::Result<Tracer> Tracer::open(Options options) {
    auto source = open_live_source({.ring_bytes = options.ring_bytes,
                                    .follow = options.follow,
                                    .counting = options.counting,
                                    .dropped = options.dropped});
    if (!source) return source.error();
    auto recorder = std::make_unique<RecordingSource>(std::move(*source));
    RecordingSource *const kept = recorder.get();
    Tracer tracer = over(std::move(recorder), std::move(options));
    tracer.state_->recorder = kept;
    return tracer;
}

Tracer Tracer::over(std::unique_ptr<Source> source, Options options) {
    auto state = std::make_unique<State>();
    state->options = std::move(options);
    state->facts = source->facts();
    state->id_key = source->id_key();
    state->start_ns = source->start_ns();
    state->source = std::move(source);
    const core::Machine &machine = state->facts.machine;
    state->ledger = std::make_unique<core::Ledger>(core::Ledger::Options{
        .scheme = machine.scheme, .cpus = machine.cpus_possible, .batch = machine.batch().value_or(1)});
    return Tracer(std::move(state));
}

void Tracer::State::adopt(int host_tgid, const core::CounterReading &counters, std::uint64_t begin_ns,
                          std::uint64_t end_ns) {
    core::GroupView group;
    group.host_tgid = host_tgid;
    group.mm = counters.mm;
    for (const core::TaskReading &task : counters.tasks) {
        if (task.host_tgid != host_tgid) continue;
        group.tgid = task.tgid;
        if (task.host_tid == host_tgid || group.comm.empty()) group.comm = task.comm;
    }
    ledger->adopt(counters, group, begin_ns, end_ns);
}

/// They are counted since the kernel was asked for the process, which may be long before a recording begins.
void Tracer::State::count_faults_from_now(const core::CounterReading &counters) {
    const std::vector<int> tids = host_tids(counters);
    const std::vector<core::FaultCounts> faults = source->faults(tids);
    for (std::size_t i = 0; i < tids.size(); ++i)
        ledger->had_faults(tids[i], faults[i].user + faults[i].kernel);
}

Status Tracer::attach(pid_t pid) {
    state_->source->begin({Ask::Attach, pid});
    constexpr int kTries = 8;  // a process that execs just now changes its mm between two readings
    for (int i = 0; i < kTries; ++i) {
        const auto before = state_->source->read_counters(pid);
        if (!before) return before.error();
        int host_tgid = 0;
        for (const core::TaskReading &task : before->counters.tasks) {
            if (task.tgid == pid) host_tgid = task.host_tgid;
        }
        Status wanted = state_->source->want(host_tgid, before->counters.mm);
        if (!wanted) return wanted;
        const auto taken = state_->source->read_counters(pid);
        if (!taken) return taken.error();
        if (taken->counters.mm != before->counters.mm) continue;
        state_->adopt(host_tgid, taken->counters, taken->begin_ns, taken->end_ns);
        state_->count_faults_from_now(taken->counters);
        return core::success();
    }
    return Error{Kind::Gone, fmt::format("process {} does not stay one program long enough to be read", pid), 0, ""};
}

Status Tracer::attach_at_exec(pid_t pid) {
    state_->source->begin({Ask::AttachAtExec, pid});
    const auto taken = state_->source->read_counters(pid);
    if (!taken) return taken.error();
    for (const core::TaskReading &task : taken->counters.tasks) {
        if (task.tgid != pid) continue;
        state_->at_exec[task.host_tgid] = {task.tgid, taken->counters.mm};
        return state_->source->want(task.host_tgid, 0);
    }
    return Error{Kind::Gone, fmt::format("process {} is gone", pid), 0, ""};
}

Status Tracer::attach_matching(const probe::Pattern &pattern) {
    state_->source->begin({Ask::AttachMatching, 0});
    return state_->source->want_matching(pattern);
}

void Tracer::adopt(int host_tgid, const core::RawReading &reading) {
    state_->adopt(host_tgid, reading.counters(), reading.begin_ns, reading.end_ns);
}

/// Processes that an exec has made match: what they have done until now is their baseline.
void Tracer::State::adopt_new() {
    for (const core::GroupView &group : ledger->groups()) {
        if (ledger->knows(group.mm) || group.tgid == 0) continue;
        const auto taken = source->read_counters(group.tgid);
        if (taken && taken->counters.mm == group.mm) {
            adopt(group.host_tgid, taken->counters, taken->begin_ns, taken->end_ns);
        }
    }
}

/// Those whose exec may be among what was lost: they are traced as they are now.
void Tracer::State::look_for_execs() {
    for (const auto &[host_tgid, awaited] : std::map(at_exec)) {
        const auto taken = source->read_counters(awaited.tgid);
        if (taken && taken->counters.mm == awaited.mm) continue;
        at_exec.erase(host_tgid);
        if (!taken) continue;  // it has ended
        adopt(host_tgid, taken->counters, taken->begin_ns, taken->end_ns);
        if (const Status wanted = source->want(host_tgid, taken->counters.mm); !wanted) {
            spdlog::warn("{} cannot be traced on: {}", awaited.tgid, wanted.error().what);
        }
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
    if (options.on_applied) options.on_applied(update, applied);
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
        void operator()(const rsslag_fault &fault) const {
            state->ledger->apply(fault);
            if (state->options.on_fault) state->options.on_fault(fault);
        }
        void operator()(const rsslag_sum &sum) const {
            state->ledger->apply(sum);
            if (state->options.on_sum) state->options.on_sum(sum);
        }
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
    losses = source->losses();
    if (losses.lost() > lost_before) {
        ledger->records_lost();
        if (options.on_loss) options.on_loss(source->now_ns() - start_ns, losses);
    }
    lost_before = losses.lost();
}

/// Nothing more is sent, and all that was sent has come: a program that ran while it was taken off its hook may need a
/// moment yet.
void Tracer::State::stop() {
    constexpr std::uint64_t kPatienceNs = 200'000'000;
    source->detach();
    const std::uint64_t deadline = source->now_ns() + kPatienceNs;
    do {
        collect();
        take_losses();
    } while (order.records() + losses.by_cause["ring_full"] < losses.sent && source->now_ns() < deadline);
    apply_until(source->now_ns());
    finish_all(true);
}

void Tracer::State::collect() {
    source->collect([this](std::size_t, std::span<const std::byte> bytes) { order.add(bytes); });
}

/// What was sent goes through the ledger up to where nothing more can come: counted from before it was taken out.
void Tracer::State::take_in() {
    const std::uint64_t now = source->now_ns();
    collect();
    apply_until(now - kLateNs);
}

std::vector<view::Tick> Tracer::collect() {
    state_->source->begin({Ask::Collect, 0});
    state_->take_in();
    state_->adopt_new();
    if (state_->losses.lost() > 0) state_->look_for_execs();
    return std::exchange(state_->ended, {});
}

std::vector<view::Tick> Tracer::tick() {
    State &state = *state_;
    state.source->begin({Ask::Tick, 0});
    state.take_in();
    const std::vector<core::GroupView> groups = state.ledger->groups();
    state.ledger->watch_all();
    state.own = state.source->cost(state.losses.sent);
    std::vector<std::pair<core::GroupView, core::RawReading>> readings;
    for (const core::GroupView &group : groups) {
        if (auto taken = state.read(group)) readings.emplace_back(group, std::move(*taken));
    }
    std::uint64_t until = 0;
    if (!readings.empty()) {
        // What was sent until a moment after the last reading must be here before any is compared, sums as they are
        // then.
        until = readings.back().second.end_ns + kWiderNs;
        state.source->wait_until(until);
        if (state.options.counting) {
            state.collect();
            until = state.source->now_ns();
        }
        state.source->wait_until(until + kLateNs / 2);
    }
    state.collect();
    state.take_losses();
    std::vector<view::Tick> ticks;
    for (const auto &[group, taken] : readings) {
        auto tick = state.compared(group, taken, state.options.counting ? until : taken.end_ns + kWiderNs);
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
    state_->source->begin({Ask::WalkNow, pid});
    for (auto &[host_tgid, entry] : state_->traced) {
        if (entry.last.pid == pid) entry.next_walk_ns = 0;
    }
}

std::vector<core::GroupView> Tracer::groups() const {
    return state_->ledger->groups();
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
    return state_->source->missing();
}

const core::Losses &Tracer::losses() const {
    return state_->losses;
}

std::vector<view::Tick> Tracer::stop() {
    state_->source->begin({Ask::Stop, 0});
    state_->stop();
    return std::exchange(state_->ended, {});
}

view::Summary Tracer::summary() {
    State &state = *state_;
    state.source->begin({Ask::Summary, 0});
    std::set<std::uint64_t> counted;
    for (const core::GroupView &group : state.ledger->groups()) {  // those that live on
        if (!counted.insert(group.mm).second) continue;
        if (const auto mm = state.ledger->view(group.mm)) state.add_totals(state.tick_of(group, *mm));
    }
    view::Summary summary = std::move(state.totals);
    summary.time = state.source->time();
    summary.duration_ns = state.source->now_ns() - state.start_ns;
    summary.scheme = state.facts.machine.scheme;
    summary.page_size = state.facts.machine.page_size;
    summary.kernel = state.facts.kernel;
    summary.records = state.order.records();
    summary.lost = state.losses.lost();
    // A recording that lacks its last chunks lacks the last count of what was sent, too.
    summary.emitted = std::max(state.losses.sent, summary.records + summary.lost);
    summary.lost_by = state.losses.by_cause;
    summary.ended_mms = state.ledger->ended_mms();
    summary.ended_not_at_zero = state.ledger->ended_not_at_zero();
    summary.processes = state.gone;
    for (const auto &[tgid, entry] : state.traced)
        if (entry.summary.pid != 0) summary.processes.push_back(entry.summary);
    summary.own = state.source->whole_cost(state.losses.sent);
    return summary;
}

}  // namespace rsslag::cli
