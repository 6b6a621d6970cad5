// SPDX-License-Identifier: BSD-2-Clause
#include "tracer/tracer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "live_source.h"
#include "system/snapshotter.h"
#include "system/targets.h"
#include "tracer_state.h"

namespace rsslag::tracer {
namespace {

using core::Error;
using core::Kind;
using core::Status;

/// Walks take at most a twentieth of the time.
constexpr std::uint64_t kWalkCostsAtMost = 20;

event::Moment moment_of(Source &source) {
    const auto time = source.time().time_since_epoch();
    return {source.now_ns(), std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()};
}

analysis::Facts facts_of(Source &source) {
    analysis::Facts facts;
    facts.machine = source.facts().machine;
    facts.calibration = source.facts().calibration;
    facts.kernel = source.facts().kernel;
    facts.id_key = source.id_key();
    facts.start = moment_of(source);
    return facts;
}

analysis::AnalyzerOptions analyzer_options(const Tracer::Options &options) {
    analysis::AnalyzerOptions chosen;
    chosen.threads = options.threads;
    chosen.for_screen = options.for_screen;
    chosen.counting = options.counting;
    chosen.ended_mms = true;
    chosen.observer = options.observer;
    return chosen;
}

/// nullopt: there is no such file at present.
std::optional<std::uint64_t> inode_of(const std::string &path) {
    struct stat about {};
    if (stat(path.c_str(), &about) != 0) return std::nullopt;
    return about.st_ino;
}

}  // namespace

event::Faults faults_of(Source &source, std::span<const int> host_tids) {
    const std::vector<core::FaultCounts> counts = source.faults(host_tids);
    event::Faults faults;
    faults.tasks.reserve(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
        faults.tasks.push_back({host_tids[i], counts[i]});
    return faults;
}

std::vector<int> host_tids(const core::CounterReading &counters) {
    std::vector<int> tids;
    tids.reserve(counters.tasks.size());
    for (const core::TaskReading &task : counters.tasks)
        tids.push_back(task.host_tid);
    return tids;
}

Tracer::State::State(std::unique_ptr<Source> kernel, Options chosen, std::optional<UnwindProcess> process)
    : options(std::move(chosen)),
      source(std::move(kernel)),
      analyzer(facts_of(*source), analyzer_options(options)),
      unwind_process(std::move(process)) {
    if (options.samples.period == 0) return;
    if (unwind_process) {
        unwinding =
            std::make_unique<Unwinding>([this](const Unwinding::Batch &next) { return unwind_process->unwound(next); });
    } else {
        const auto unwinder = std::make_shared<Unwinder>(options.samples);
        unwinding = std::make_unique<Unwinding>(
            [unwinder](Unwinding::Batch next) { return unwinder->unwound(std::move(next)); });
    }
}

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::~Tracer() = default;
Tracer::Tracer(Tracer &&) noexcept = default;

core::Result<Tracer> Tracer::open(Options options) {
    std::optional<UnwindProcess> process;
    if (options.samples.period > 0) {
        auto started = UnwindProcess::start(options.samples);
        if (!started) return started.error();
        process.emplace(std::move(*started));
    }
    auto source = open_live_source({.ring_bytes = options.ring_bytes,
                                    .memory_bytes = options.memory_bytes,
                                    .follow = options.follow,
                                    .counting = options.counting,
                                    .samples = options.samples,
                                    .names = options.names,
                                    .calibrated = options.calibrated,
                                    .dropped = options.dropped,
                                    .stop_waiting = options.stop_waiting,
                                    .command_lines = options.for_screen,
                                    .helper = process ? process->pid() : 0});
    if (!source) return source.error();
    return Tracer(std::make_unique<State>(std::move(*source), std::move(options), std::move(process)));
}

Tracer Tracer::over(std::unique_ptr<Source> source, Options options) {
    return Tracer(std::make_unique<State>(std::move(source), std::move(options)));
}

void Tracer::State::feed(event::Event event) {
    for (Recording &each : recordings)
        each.writer.put(event);
    analyzer.apply(std::move(event));
    for (const auto &[host_pid, pid] : analyzer.ended()) {
        source->forget(host_pid);
        walks.erase(host_pid);
        rests.erase(host_pid);
        next_listing_ns.erase(host_pid);
        named.erase(pid);
        mappings.exit(pid);
        if (with_code.erase(pid) > 0) batch.ended.push_back(pid);
    }
    for (const auto &[host_tgid, mm] : analyzer.adopted())
        trace_adopted(host_tgid, mm);
}

/// If the process has ended since it was read, another one may have got its number before trace().
void Tracer::State::trace_adopted(int host_tgid, std::uint64_t mm) {
    const auto groups = analyzer.groups();
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [host_tgid](const core::GroupView &g) { return g.host_tgid == host_tgid; });
    if (group == groups.end()) return;  // its exit record has come
    if (const Status traced = source->trace(host_tgid, mm); !traced) {
        spdlog::warn("cannot continue to trace process {}: {}", host_tgid, traced.error().what);
        return;
    }
    const auto taken = read_counters(*group);
    if (taken || taken.error().kind != Kind::Gone) return;
    if (const Status ended = source->untrace(host_tgid, mm); !ended)
        spdlog::warn("cannot stop tracing process {}: {}", host_tgid, ended.error().what);
}

/// Kind::Gone if another process has the number of this one.
core::Result<core::TimedCounters> Tracer::State::read_counters(const core::GroupView &group) {
    auto taken = source->read_counters(group.tgid);
    if (taken && group.reused_at(taken->counters.started_ns)) return system::gone(group.tgid);
    return taken;
}

event::Moment Tracer::State::moment() {
    return moment_of(*source);
}

/// Returns whether there were any.
bool Tracer::State::take_records() {
    bool any = false;
    source->collect([&](std::size_t ring, std::span<const std::byte> bytes) {
        any = true;
        event::Records records{static_cast<std::uint32_t>(ring), {bytes.begin(), bytes.end()}};
        if (matching) {
            for (event::AtExec &each : at_exec.take(analyzer.facts().machine.scheme, records.bytes))
                feed(std::move(each));
        }
        feed(std::move(records));
    });
    const std::vector<analysis::Started> processes = analyzer.take_started();
    for (const analysis::Started &each : processes)
        started.push_back(each.pid);
    note_forks(processes);
    return any;
}

void Tracer::State::emit_losses() {
    core::Losses losses = source->losses();
    if (reported && reported->sent == losses.sent && reported->by_cause == losses.by_cause) return;
    reported = losses;
    feed(event::Losses{source->now_ns(), std::move(losses)});
}

/// A CPU that goes offline folds all of its caches before folded_cpus() counts it: it may have begun kFoldingNs before
/// the last look.
void Tracer::State::emit_folds() {
    constexpr std::uint64_t kFoldingNs = 100'000'000;
    const std::uint64_t before = std::exchange(folds_looked_ns, source->now_ns());
    const std::uint64_t count = source->folded_cpus();
    if (count == std::exchange(folded_cpus, count)) return;
    feed(event::CpusFolded{before - std::min(before, kFoldingNs), source->now_ns()});
}

void Tracer::State::emit_faults(std::span<const int> host_tids) {
    feed(faults_of(*source, host_tids));
}

/// Takes all records that were sent. The time of the watermark is kLateNs before the records were taken, so no older
/// record can come after it.
void Tracer::State::take_in() {
    const std::uint64_t now = source->now_ns();
    emit_folds();
    if (take_records() || !reported) emit_losses();
    take_mappings();
    feed(event::Watermark{now - kLateNs, moment()});
}

void Tracer::State::collect() {
    constexpr std::uint64_t kTeardownNs = 5'000'000'000;  // less than the ledger keeps these addresses
    take_in();
    for (const std::uint64_t mm : analyzer.take_ended_mms())
        source->forget_mm(mm, source->now_ns() - kTeardownNs);
    for (const core::GroupView &group : analyzer.unknown()) {
        if (group.tgid != 0) feed(event::Counters{group.tgid, read_counters(group)});
    }
    if (analyzer.losses().lost() == 0) return;
    for (const analysis::Awaited &awaited : analyzer.awaited())
        feed(event::Counters{awaited.tgid, source->read_counters(awaited.tgid)});
}

Status Tracer::attach(pid_t pid) {
    State &state = *state_;
    constexpr int kTries = 8;  // an exec between the two readings changes the mm
    for (int i = 0; i < kTries; ++i) {
        const auto before = state.source->read_counters(pid);
        if (!before) return before.error();
        int host_tgid = 0;
        for (const core::TaskReading &task : before->counters.tasks) {
            if (task.tgid == pid) host_tgid = task.host_tgid;
        }
        // It has matched by an exec, and the records of that will start it.
        const bool starts_itself = i == 0 && state.matching && state.analyzer.losses().lost() == 0;
        if (starts_itself && state.source->traced(host_tgid)) return core::success();
        Status traced = state.source->trace(host_tgid, before->counters.mm);
        if (!traced) return traced;
        state.list(host_tgid, pid, state.options.walk);
        auto taken = state.source->read_counters(pid);
        if (!taken) {
            // Else the next try would find it traced, and not attach to it.
            (void)state.source->untrace(host_tgid, before->counters.mm);
            return taken.error();
        }
        if (taken->counters.mm != before->counters.mm) continue;
        event::Faults faults = faults_of(*state.source, host_tids(taken->counters));
        state.not_attached.erase(pid);
        state.feed(event::Attach{host_tgid, std::move(*taken), std::move(faults)});
        return core::success();
    }
    return Error{Kind::Gone, fmt::format("cannot read process {}: it keeps executing new programs", pid), 0, ""};
}

void Tracer::not_attached(pid_t pid, const Error &why) {
    State &state = *state_;
    state.unreadable.note(pid, "", why);
    if (why.kind == Kind::Gone || why.kind == Kind::Unsupported || !state.not_attached.emplace(pid, why).second) return;
    state.feed(event::Counters{pid, why});
}

void Tracer::search_failed(const Error &why) {
    state_->unreadable.note_search(why);
    if (why.kind == Kind::Io) state_->feed(event::Counters{0, why});
}

Status Tracer::attach_at_exec(pid_t pid) {
    State &state = *state_;
    const auto taken = state.source->read_counters(pid);
    if (!taken) return taken.error();
    for (const core::TaskReading &task : taken->counters.tasks) {
        if (task.tgid != pid) continue;
        state.feed(event::ExecAwaited{task.host_tgid, task.tgid, taken->counters.mm});
        return state.source->trace(task.host_tgid, 0);
    }
    return Error{Kind::Gone, fmt::format("process {} has ended", pid), 0, ""};
}

Status Tracer::attach_matching(const probe::Pattern &pattern) {
    state_->pattern = pattern;
    state_->matching = true;
    // Before the source opens the cgroup: if the cgroup is replaced in between, renew_cgroup() detects it.
    state_->cgroup = inode_of(pattern.cgroup);
    return state_->source->trace_matching(pattern);
}

void Tracer::renew_cgroup() {
    State &state = *state_;
    const auto now = state.pattern.cgroup.empty() ? std::nullopt : inode_of(state.pattern.cgroup);
    if (!now || now == state.cgroup) return;
    if (const Status traced = state.source->trace_matching(state.pattern); traced) {
        state.cgroup = now;
    } else {
        spdlog::debug("{}: {}", state.pattern.cgroup, traced.error().what);
    }
}

void Tracer::collect() {
    state_->collect();
}

core::Result<core::RawReading> Tracer::State::read(const core::GroupView &group) {
    WalkPlan &plan = walks[group.host_tgid];
    plan.pid = group.tgid;
    const bool walk = options.walk && source->now_ns() >= plan.next_ns;
    auto taken = source->read(group.host_tgid, group.tgid, walk);
    if (!taken || !walk) return taken;
    constexpr std::uint64_t kLeast = 1'000'000'000;
    plan.cost_ns = static_cast<std::uint64_t>(taken->bracket.walk ? taken->bracket.walk->took_us : 0) * 1000;
    plan.cost_ns += look_up_pages(group, taken->counters().mm);
    plan.last_ns = taken->bracket_ns;
    // A tick that comes a little early still walks. Of many processes, all walks together have that limit.
    const std::uint64_t share = many_on_screen() ? rests.size() : 1;
    plan.next_ns = taken->bracket_ns + std::max(kLeast * 19 / 20, kWalkCostsAtMost * plan.cost_ns * share);
    return taken;
}

bool Tracer::State::many_on_screen() const {
    return options.for_screen && !options.counting && analyzer.size() > options.many;
}

/// Whether the process needs no reading now: it has had no update for Options::rest_after_ns. A reading takes 0.5 ms
/// and a walk more, so thousands of them would take a CPU; those of processes at rest take a hundredth of one. Each
/// process has another interval, so that not all are read at one tick. If ticks come more often than once a second, one
/// second without an update is enough, since its last reading.
bool Tracer::State::may_rest(const core::GroupView &group, std::uint64_t now_ns) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (!many_on_screen()) return false;
    const std::uint64_t changes = analyzer.updates(group.mm) + analyzer.losses().lost();
    Rest &rest = rests[group.host_tgid];
    if (rest.mm != group.mm || rest.changes != changes) rest = {group.mm, changes, now_ns, rest.read_ns};
    const auto plan = walks.find(group.host_tgid);
    const bool asked = plan != walks.end() && plan->second.next_ns == 0;  // by walk_now()
    constexpr std::uint64_t kReadingNs = 500'000, kLeast = 20 * kSecond, kCostsAtMost = 300;
    // A listing of the mappings comes with it, which is another walk. To record and to draw it costs twice as much
    // again.
    const std::uint64_t cost_ns = kReadingNs + (plan != walks.end() ? 2 * plan->second.cost_ns : 0);
    const std::uint64_t least = std::max(kLeast, kCostsAtMost * cost_ns * rests.size());
    const std::uint64_t interval = least + least / 100 * (static_cast<std::uint64_t>(group.host_tgid) % 101);
    const bool still = now_ns - rest.since_ns >= options.rest_after_ns;
    // A tick that comes a little early still reads.
    const std::uint64_t rests_for = still ? interval : kSecond * 19 / 20;
    return !asked && group.tgid != shown_pid && rest.since_ns <= rest.read_ns && now_ns - rest.read_ns < rests_for;
}

/// The processes to read at a tick. If all may rest for a second, it is the one that was read first: the screen's clock
/// and its figures of all processes come with readings.
std::vector<core::GroupView> Tracer::State::due(std::uint64_t now_ns) {
    constexpr std::uint64_t kAtLeastNs = 950'000'000;  // a tick may come a little early
    std::vector<core::GroupView> due, resting;
    for (core::GroupView &group : analyzer.groups())
        (may_rest(group, now_ns) ? resting : due).push_back(std::move(group));
    if (due.empty() && !resting.empty() && now_ns - last_read_ns >= kAtLeastNs) {
        const auto earlier = [this](const core::GroupView &a, const core::GroupView &b) {
            return rests[a.host_tgid].read_ns < rests[b.host_tgid].read_ns;
        };
        due.push_back(std::move(*std::min_element(resting.begin(), resting.end(), earlier)));
    }
    for (const core::GroupView &group : due)
        if (const auto rest = rests.find(group.host_tgid); rest != rests.end()) rest->second.read_ns = now_ns;
    if (!due.empty()) last_read_ns = now_ns;
    return due;
}

void Tracer::tick() {
    State &state = *state_;
    Source &source = *state.source;
    state.take_in();
    event::TickEnd end;
    end.own = state.own = source.cost(state.analyzer.losses().sent);
    std::vector<int> tids;
    std::uint64_t until = 0;
    const std::uint64_t now = source.now_ns();
    const std::vector<core::GroupView> groups = state.due(now);
    std::unordered_set<int> read;  // host TGIDs
    for (const core::GroupView &group : groups) {
        read.insert(group.host_tgid);
        auto taken = state.read(group);
        if (taken) {
            const std::vector<int> these = host_tids(taken->counters());
            tids.insert(tids.end(), these.begin(), these.end());
            until = taken->end_ns + core::kReadingMarginNs;
        } else {
            state.unreadable.note(group.tgid, group.comm, taken.error());
        }
        state.feed(event::Reading{group.host_tgid, std::move(taken)});
    }
    if (until != 0) {
        // All records sent until kReadingMarginNs after the last reading must be here before any reading is compared,
        // and sums as they are then.
        source.wait_until(until);
        if (state.options.counting) {
            state.take_records();
            until = source.now_ns();
            end.until_ns = until;
        }
        source.wait_until(until + kLateNs);
    }
    state.take_records();
    state.take_mappings();
    state.emit_losses();
    state.emit_folds();
    const std::vector<int> more = state.analyzer.tids();  // also those in no reading: ended, or not read yet
    tids.insert(tids.end(), more.begin(), more.end());
    std::sort(tids.begin(), tids.end());
    tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
    state.emit_faults(tids);
    end.at = state.moment();
    state.feed(end);
    state.forget_pages();
    state.list_due(read);
}

void Tracer::walk_now(pid_t pid) {
    for (auto &[host_tgid, plan] : state_->walks) {
        if (plan.pid == pid) plan.next_ns = 0;
    }
}

void Tracer::show(pid_t pid) {
    state_->shown_pid = pid;
}

void Tracer::read_all() {
    for (auto &[host_tgid, rest] : state_->rests)
        rest.read_ns = 0;
}

/// A recording contains no walk from before its start, so its first ticks must walk, unless that would cost too much.
void Tracer::State::forget_walks() {
    for (auto &[host_tgid, plan] : walks)
        plan.next_ns = std::min(plan.next_ns, plan.last_ns + kWalkCostsAtMost * plan.cost_ns);
}

std::uint64_t Tracer::start_ns() const {
    return state_->analyzer.facts().start.t_ns;
}

const core::SnapshotDocument &Tracer::facts() const {
    return state_->source->facts();
}

bool Tracer::any() const {
    return state_->analyzer.any();
}

std::unordered_set<pid_t> Tracer::pids() const {
    std::unordered_set<pid_t> pids;
    for (const core::GroupView &group : state_->analyzer.groups())
        pids.insert(group.tgid);
    return pids;
}

std::size_t Tracer::size() const {
    return state_->analyzer.size();
}

const std::vector<std::string> &Tracer::missing() const {
    return state_->source->missing();
}

const core::Losses &Tracer::losses() const {
    return state_->analyzer.losses();
}

const core::Totals &Tracer::missed() const {
    return state_->analyzer.missed();
}

/// Waits up to kPatienceNs for the last records: a program may still be running when its hook is detached.
void Tracer::State::stop() {
    constexpr std::uint64_t kPatienceNs = 200'000'000;
    list_all();
    look_up_all_pages();
    source->detach();
    const std::uint64_t deadline = source->now_ns() + kPatienceNs;
    do {
        take_records();
        take_mappings();
        emit_losses();
    } while (analyzer.records() + reported->lost() < reported->sent && source->now_ns() < deadline);
    if (unwinding) feed_stacks(unwinding->finish());
    feed(event::Stop{moment()});
    if (unreadable.size() > 0)
        spdlog::warn("{} process{} could not be read for a part of the time; {} readings failed", unreadable.size(),
                     unreadable.size() == 1 ? "" : "es", analyzer.readings_failed());
}

void Tracer::stop() {
    state_->stop();
}

core::Summary Tracer::summary() {
    State &state = *state_;
    state.emit_faults(state.analyzer.tids());
    const event::Moment at = state.moment();
    state.feed(event::End{at, state.source->whole_cost(state.analyzer.losses().sent)});
    core::Summary summary = *state.analyzer.summary();
    for (core::Summary::Process &process : summary.processes) {
        if (process.state == core::State::Exited) process.end = state.source->end_of(process.host_pid);
    }
    return summary;
}

}  // namespace rsslag::tracer
