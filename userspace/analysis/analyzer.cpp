// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/analyzer.h"

#include <algorithm>
#include <set>

#include "analyzer_state.h"
#include "core/text.h"

namespace rsslag::analysis {
namespace {

/// Counts since `before`.
core::Losses since(core::Losses counts, const core::Losses &before) {
    counts.sent -= std::min(counts.sent, before.sent);
    for (const auto &[cause, count] : before.by_cause) {
        std::uint64_t &left = counts.by_cause[cause];
        left -= std::min(left, count);
    }
    return counts;
}

/// What an event costs, in units of about 10 ns.
struct WorkOf {
    std::uint64_t known;  ///< number of mms and tasks in the ledger

    static std::uint64_t of(const core::CounterReading &reading) {
        constexpr std::uint64_t kTask = 50;
        return kTask * (1 + reading.tasks.size() + reading.first.cpus.size() + reading.last.cpus.size());
    }
    std::uint64_t operator()(const event::Records &event) const { return event.bytes.size(); }
    std::uint64_t operator()(const event::Attach &event) const {
        return of(event.counters.counters) + event.faults.tasks.size();
    }
    std::uint64_t operator()(const event::Counters &event) const {
        return known + (event.reported ? of(event.reported->counters) : 0);
    }
    std::uint64_t operator()(const event::AtExec &event) const { return of(event.counters.counters); }
    std::uint64_t operator()(const event::Reading &event) const {
        std::uint64_t work = kEvent;
        if (!event.reported) return work;
        work += kTick;
        for (const core::CounterReading &reading : event.reported->bracket.readings)
            work += of(reading);
        return work;
    }
    std::uint64_t operator()(const event::MappingChanges &event) const { return kEvent * (1 + event.changes.size()); }
    std::uint64_t operator()(const event::MappingListing &event) const {
        return kEvent * (1 + event.listing.entries.size());
    }
    std::uint64_t operator()(const event::Samples &event) const { return kEvent * (1 + event.samples.size()); }
    std::uint64_t operator()(const event::Stacks &event) const {
        std::uint64_t work = kEvent * (1 + event.frames.size() + event.of.size());
        for (const core::CallStack &stack : event.stacks)
            work += kEvent + 10 * (stack.frames.size() + stack.kernel.size());
        return work;
    }
    std::uint64_t operator()(const event::AbsentPages &event) const { return kEvent + 10 * event.pages.size(); }
    std::uint64_t operator()(const event::Faults &event) const { return kEvent + 10 * event.tasks.size(); }
    /// All other events cost almost nothing, in addition to Ledger::visited().
    template <class Other>
    std::uint64_t operator()(const Other & /*event*/) const {
        return kEvent + known;
    }

    static constexpr std::uint64_t kEvent = 100, kTick = 2000;  // including its output text
};

std::uint64_t work_of(const event::Event &event, std::uint64_t known) {
    return std::visit(WorkOf{known}, event);
}

}  // namespace

Analyzer::State::State(Facts given, AnalyzerOptions chosen)
    : facts(std::move(given)),
      options(std::move(chosen)),
      records(options.observer != nullptr && options.observer->needs_records() ? options.observer : nullptr),
      ledger(core::Ledger::Options{.scheme = facts.machine.scheme,
                                   .cpus = facts.machine.cpus_possible,
                                   .batch = facts.machine.batch().value_or(1),
                                   .anon_orders = facts.machine.anon_orders,
                                   .ended_tasks = options.ended_tasks,
                                   .counting = options.counting,
                                   .ended_mms = options.ended_mms}),
      counted(facts.before),
      losses(since(facts.before, facts.before)),
      now(facts.start),
      lines([this](const auto &line) {
          if (const auto *const event = std::get_if<core::EventLine>(&line)) {
              records->on_update(*event);
          } else {
              records->on_task(std::get<core::TaskLine>(line));
          }
      }) {
    if (options.for_screen) recent.emplace(facts.machine.scheme);
}

void Analyzer::State::operator()(event::Records &event) {
    const std::uint64_t before = order.malformed();
    order.add(event.bytes);
    if (order.malformed() != before) count_losses(now.t_ns);
}

void Analyzer::State::operator()(event::Watermark &event) {
    moment(event.at);
    if (cut_off) ledger.lost_until(event.until_ns);
    cut_off = false;  // each tick starts with a watermark
    apply_until(event.until_ns);
    complete_until = event.until_ns;
}

void Analyzer::State::operator()(event::Losses &event) {
    counted = std::move(event.counts);
    count_losses(event.t_ns);
}

void Analyzer::State::operator()(event::Gap &event) {
    missing_records += std::max<std::uint64_t>(event.records, 1);
    end_tick();
    cut_off = true;
    count_losses(now.t_ns);
    ledger.lost_until(UINT64_MAX);  // the next Watermark gives the end of the loss
}

/// Parts missing from a recording and malformed records count as losses, too.
void Analyzer::State::count_losses(std::uint64_t t_ns) {
    losses = since(counted, facts.before);
    if (const std::uint64_t malformed = order.malformed() + malformed_rest; malformed > 0)
        losses.by_cause["malformed"] += malformed;
    if (missing_records > 0) losses.by_cause["recording"] = missing_records;
    if (losses.lost() > lost_before) {
        ledger.records_lost(losses.lost() - lost_before, t_ns);
        if (records != nullptr) records->on_loss(since_start(t_ns), losses);
    }
    lost_before = losses.lost();
}

void Analyzer::State::operator()(event::Faults &event) {
    for (const event::Faults::Task &task : event.tasks)
        faults[task.host_tid] = task.counts;
}

void Analyzer::State::begin_tick() {
    if (std::exchange(in_tick, true)) return;
    constexpr std::uint64_t kOfGroup = 5;
    groups = ledger.groups();
    work += kOfGroup * groups.size();
    newcomers.clear();
    ledger.begin_watch();
}

void Analyzer::State::end_tick() {
    in_tick = false;
    readings.clear();
    ledger.end_watch();
}

const core::GroupView *Analyzer::State::group_of(int host_tgid) const {
    const auto found = std::lower_bound(groups.begin(), groups.end(), host_tgid,
                                        [](const core::GroupView &group, int tgid) { return group.host_tgid < tgid; });
    if (found != groups.end() && found->host_tgid == host_tgid) return &*found;
    const auto newcomer = newcomers.find(host_tgid);
    return newcomer == newcomers.end() ? nullptr : &newcomer->second;
}

void Analyzer::State::operator()(event::Reading &event) {
    if (cut_off) return;
    begin_tick();
    if (event.reported && group_of(event.host_tgid) == nullptr) {
        // Its attach or fork is not among these events: its counters as read are its baseline.
        const core::RawReading &reading = *event.reported;
        adopt(event.host_tgid, reading.counters(), reading.comm, reading.begin_ns, reading.end_ns);
        if (losses.lost() > 0) ledger.start_lost(reading.counters().mm);
        if (const auto group = ledger.group(event.host_tgid)) newcomers.emplace(group->host_tgid, *group);
    }
    const core::GroupView *const group = group_of(event.host_tgid);
    if (group == nullptr) return;
    if (event.reported && group->reused_at(event.reported->started_ns))
        event.reported = core::Error{core::Kind::Gone, "another process has its number", 0, ""};
    Traced &entry = traced[event.host_tgid];
    if (!event.reported) {
        // The process has ended. Its last tick comes with its exit record, unless that record was lost.
        const core::Kind kind = event.reported.error().kind;
        if (kind == core::Kind::Gone || kind == core::Kind::Unsupported) {  // a zombie has no memory
            if (entry.gone && losses.lost() > 0) ledger.vanished(event.host_tgid);
            entry.gone = true;
        } else {
            readings_failed++;
        }
        return;
    }
    entry.gone = false;
    ledger.watch(event.reported->counters().mm);
    if (records != nullptr) records->on_reading(*event.reported);
    readings.push_back({*group, std::move(*event.reported)});
}

void Analyzer::State::operator()(event::TickEnd &event) {
    moment(event.at);
    own = event.own;
    for (Taken &taken : readings) {
        auto tick = compared(taken, event.until_ns.value_or(taken.reading.end_ns + core::kReadingMarginNs));
        if (tick) reported.push_back(std::move(*tick));
    }
    if (recent) add_extremes_of_all();
    end_tick();
    if (recent) recent->forget_until(now.t_ns, ledger);
    flush_log.clear();
    seq++;
}

void Analyzer::State::operator()(event::Stop &event) {
    moment(event.at);
    end_tick();
    // The number of records behind malformed ones is known once all records have come.
    const std::uint64_t known = order.records() + losses.lost();
    if (order.malformed() > 0 && known < losses.sent) malformed_rest = losses.sent - known;
    count_losses(now.t_ns);
    std::uint64_t last_ns = now.t_ns;
    order.until(UINT64_MAX, [&](const auto &record) {
        last_ns = std::max<std::uint64_t>(last_ns, record.t_ns);
        apply_next(record);
    });
    // A recording without its end ends at its last record.
    moment({last_ns, static_cast<std::int64_t>(static_cast<std::uint64_t>(now.unix_ns) + (last_ns - now.t_ns))});
    emit_mappings(UINT64_MAX);
    ledger.advance(now.t_ns);
    ledger.settle_all();
    finish_all(true);
    close_running();
    take_settled();
    lines.finish();
}

void Analyzer::State::operator()(event::End &event) {
    moment(event.at);
    std::set<std::uint64_t> once;
    for (const core::GroupView &group : ledger.groups()) {  // the live ones
        if (!once.insert(group.mm).second) continue;
        if (const auto mm = ledger.view(group.mm)) add_totals(tick_of(group, *mm));
    }
    static_cast<core::Totals &>(summary.emplace()) = std::move(totals);
    summary->time = time_of(now);
    summary->duration_ns = since_start(now.t_ns);
    summary->scheme = facts.machine.scheme;
    summary->page_size = facts.machine.page_size;
    summary->kernel = facts.kernel;
    summary->records = order.records();
    summary->lost = losses.lost();
    // A recording without its last chunks also lacks the last count of sent records.
    summary->emitted = std::max(losses.sent, summary->records + summary->lost);
    summary->lost_by = losses.by_cause;
    const std::vector<core::GroupView> living = ledger.groups();
    const auto unread =
        std::count_if(living.begin(), living.end(), [this](const auto &g) { return !ledger.has(g.mm); });
    summary->processes_unread = ledger.groups_unread() + static_cast<std::uint64_t>(unread);
    summary->readings_failed = readings_failed;
    summary->ended_mms = ledger.ended_mms();
    summary->ended_not_at_zero = ledger.ended_not_at_zero();
    summary->all = since_start(ledger.extremes());
    gone.put(*summary);
    for (const auto &[tgid, entry] : traced)
        if (entry.summary.pid != 0) summary->processes.push_back(entry.summary);
    summary->own = event.own;
}

void Analyzer::State::operator()(event::FreshStart & /*event*/) {
    for (auto &[host_tgid, entry] : traced)
        entry.walked.reset();
}

void Analyzer::State::operator()(event::CpusFolded &event) {
    ledger.cpus_folded(event.since_ns, event.until_ns);
}

void Analyzer::State::operator()(event::MappingChanges &event) {
    if (!keeps_mappings()) return;
    for (core::MappingChange &change : event.changes) {
        const std::uint64_t t_ns = change.t_ns;
        mapping_bytes += bytes_of(change);
        mappings.emplace(t_ns, std::move(change));
    }
}

void Analyzer::State::operator()(event::MappingListing &event) {
    if (!keeps_mappings()) return;
    const std::uint64_t t_ns = event.listing.t_ns;
    mapping_bytes += bytes_of(event.listing);
    mappings.emplace(t_ns, std::move(event.listing));
}

void Analyzer::State::operator()(event::Samples &event) {
    if (records != nullptr) records->on_samples(event);
}

void Analyzer::State::operator()(event::Stacks &event) {
    if (records != nullptr) records->on_stacks(event);
}

void Analyzer::State::operator()(event::AbsentPages &event) {
    if (records != nullptr) records->on_absent_pages(event);
}

Analyzer::Analyzer(Facts facts, AnalyzerOptions options)
    : state_(std::make_unique<State>(std::move(facts), std::move(options))) {}
Analyzer::~Analyzer() = default;
Analyzer::Analyzer(Analyzer &&) noexcept = default;
Analyzer &Analyzer::operator=(Analyzer &&) noexcept = default;

void Analyzer::apply(event::Event event) {
    State &state = *state_;
    state.adopted.clear();
    state.ended.clear();
    state.work += work_of(event, state.ledger.size());
    std::visit(state, event);
    for (core::Tick &tick : std::exchange(state.reported, {})) {
        if (tick.state == core::State::Exited && tick.process.host_pid)
            state.ended.push_back({*tick.process.host_pid, tick.process.pid});
        if (state.options.observer != nullptr) state.options.observer->on_tick(std::move(tick));
    }
}

const std::optional<core::Summary> &Analyzer::summary() const {
    return state_->summary;
}

const Facts &Analyzer::facts() const {
    return state_->facts;
}

std::uint64_t Analyzer::work() const {
    return state_->all_work();
}

bool Analyzer::interrupted() const {
    return state_->stop;
}

std::uint64_t Analyzer::complete_until() const {
    return state_->complete_until;
}

std::size_t Analyzer::waiting_bytes() const {
    return state_->order.waiting_bytes() + state_->mapping_bytes;
}

std::uint64_t Analyzer::updates(std::uint64_t mm) const {
    return state_->ledger.updates(mm);
}

std::size_t Analyzer::size() const {
    return state_->ledger.size();
}

std::vector<core::GroupView> Analyzer::groups() const {
    return state_->ledger.groups();
}

std::vector<core::GroupView> Analyzer::unknown() const {
    return state_->ledger.unknown();
}

std::vector<Awaited> Analyzer::awaited() const {
    std::vector<Awaited> all;
    for (const auto &[host_tgid, each] : state_->awaited)
        all.push_back(each);
    return all;
}

const std::vector<std::pair<int, std::uint64_t>> &Analyzer::adopted() const {
    return state_->adopted;
}

const std::vector<EndedProcess> &Analyzer::ended() const {
    return state_->ended;
}

std::vector<event::AtExec> Analyzer::awaiting_exec() const {
    std::vector<event::AtExec> all;
    for (const auto &[tid, counters] : state_->at_exec)
        all.push_back({counters});
    return all;
}

namespace {

/// Calls `use` with each waiting record of a task that starts or executes a program.
template <class Use>
void for_new_tasks(const TimeOrder &order, const Use &use) {
    struct Visitor {
        const Use &use;
        void operator()(const rsslag_task &task) const {
            if (task.kind == RSSLAG_NEWTASK || task.kind == RSSLAG_EXEC) use(task);
        }
        void operator()(const rsslag_update & /*record*/) const {}
        void operator()(const rsslag_fault & /*record*/) const {}
        void operator()(const rsslag_sum & /*record*/) const {}
    };
    order.waiting([&use](std::size_t, std::span<const std::byte> bytes) {
        for (std::size_t size = 1; size > 0; bytes = bytes.subspan(size))
            size = wire::visit_first(bytes, Visitor{use});
    });
}

}  // namespace

std::vector<int> Analyzer::tids() const {
    std::vector<int> tids = state_->ledger.tids();
    for_new_tasks(state_->order, [&tids](const rsslag_task &task) { tids.push_back(task.tid); });
    std::sort(tids.begin(), tids.end());
    tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
    return tids;
}

bool Analyzer::any() const {
    return !state_->awaited.empty() || state_->ledger.any_groups() || leaving();
}

bool Analyzer::leaving() const {
    return state_->ledger.leaving();
}

bool Analyzer::building() const {
    return state_->ledger.building();
}

std::uint64_t Analyzer::readings_failed() const {
    return state_->readings_failed;
}

const core::Losses &Analyzer::losses() const {
    return state_->losses;
}

const core::Totals &Analyzer::missed() const {
    return state_->totals;
}

std::uint64_t Analyzer::records() const {
    return state_->order.records();
}

std::vector<event::Records> Analyzer::waiting() const {
    std::vector<event::Records> waiting;
    state_->order.waiting([&waiting](std::size_t cpu, std::span<const std::byte> bytes) {
        waiting.push_back({static_cast<std::uint32_t>(cpu), {bytes.begin(), bytes.end()}});
    });
    return waiting;
}

std::unordered_map<int, int> Analyzer::pids_of(const std::vector<int> &host_tids) const {
    std::unordered_map<int, int> pids;
    bool all = true;
    for (const int host_tid : host_tids) {
        const auto task = state_->ledger.task(host_tid);
        if (task) pids[host_tid] = task->tgid;
        all = all && task;
    }
    if (all) return pids;
    for_new_tasks(state_->order, [&pids](const rsslag_task &task) { pids.try_emplace(task.tid, task.ns_tgid); });
    return pids;
}

std::vector<std::uint64_t> Analyzer::take_ended_mms() {
    return state_->ledger.take_ended_mms();
}

std::vector<Started> Analyzer::take_started() {
    return state_->order.take_started();
}

event::Moment Analyzer::last_moment() const {
    return state_->now;
}

}  // namespace rsslag::analysis
