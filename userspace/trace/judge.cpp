// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/trace/judge.h"

#include <algorithm>
#include <set>

#include "judge_state.h"

namespace rsslag::trace {
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

}  // namespace

Judge::State::State(Facts given, JudgeOptions chosen)
    : facts(std::move(given)),
      options(chosen),
      ledger(core::Ledger::Options{.scheme = facts.machine.scheme,
                                   .cpus = facts.machine.cpus_possible,
                                   .batch = facts.machine.batch().value_or(1),
                                   .anon_orders = facts.machine.anon_orders}),
      counted(facts.before),
      losses(since(facts.before, facts.before)),
      now(facts.start),
      lines([this](const DeferredLines::Line &line) {
          if (const auto *const event = std::get_if<core::EventLine>(&line)) {
              options.observer->on_update(*event);
          } else {
              options.observer->on_task(std::get<core::TaskLine>(line));
          }
      }) {}

void Judge::State::operator()(event::Records &event) {
    const std::uint64_t before = order.malformed();
    order.add(event.bytes);
    if (order.malformed() != before) count_losses(now.t_ns);
}

void Judge::State::operator()(event::Watermark &event) {
    moment(event.at);
    if (cut_off) ledger.lost_until(event.until_ns);
    cut_off = false;  // a tick begins with one
    apply_until(event.until_ns);
}

void Judge::State::operator()(event::Losses &event) {
    counted = std::move(event.counts);
    count_losses(event.t_ns);
}

void Judge::State::operator()(event::Gap &event) {
    missing_records += std::max<std::uint64_t>(event.records, 1);
    end_tick();
    cut_off = true;
    count_losses(now.t_ns);
    ledger.lost_until(UINT64_MAX);  // up to when, the next Watermark tells
}

/// What is missing in a recording, or no record, is a loss like any other.
void Judge::State::count_losses(std::uint64_t t_ns) {
    losses = since(counted, facts.before);
    if (const std::uint64_t malformed = order.malformed() + malformed_rest; malformed > 0)
        losses.by_cause["malformed"] += malformed;
    if (missing_records > 0) losses.by_cause["recording"] = missing_records;
    if (losses.lost() > lost_before) {
        ledger.records_lost(losses.lost() - lost_before, t_ns);
        if (options.observer != nullptr) options.observer->on_loss(since_start(t_ns), losses);
    }
    lost_before = losses.lost();
}

void Judge::State::operator()(event::Faults &event) {
    for (const event::Faults::Task &task : event.tasks)
        faults[task.host_tid] = task.counts;
}

void Judge::State::adopt(int host_tgid, const core::CounterReading &counters, std::uint64_t begin_ns,
                         std::uint64_t end_ns) {
    core::GroupView group;
    group.host_tgid = host_tgid;
    group.mm = counters.mm;
    for (const core::TaskReading &task : counters.tasks) {
        if (task.host_tgid != host_tgid) continue;
        group.tgid = task.tgid;
        if (task.host_tid == host_tgid || group.comm.empty()) group.comm = task.comm;
    }
    ledger.adopt(counters, group, begin_ns, end_ns);
}

void Judge::State::take_up(int host_tgid, const core::CounterReading &counters, std::uint64_t begin_ns,
                           std::uint64_t end_ns) {
    adopt(host_tgid, counters, begin_ns, end_ns);
    taken_up.emplace_back(host_tgid, counters.mm);
}

/// Faults are counted since the kernel was asked for the process, which may be long before a recording begins.
void Judge::State::operator()(event::Attach &event) {
    const core::TimedCounters &timed = event.counters;
    adopt(event.host_tgid, timed.counters, timed.begin_ns, timed.end_ns);
    for (const event::Faults::Task &task : event.faults.tasks) {
        faults[task.host_tid] = task.counts;
        ledger.had_faults(task.host_tid, task.counts.user + task.counts.kernel);
    }
}

void Judge::State::operator()(event::ExecAwaited &event) {
    awaited[event.host_tgid] = {event.host_tgid, event.tgid, event.mm};
}

/// Processes that an exec has made match: what they have done until now is their baseline. Those whose exec may be
/// among what was lost: they are traced as they are now.
void Judge::State::operator()(event::Counters &event) {
    if (event.reported) {
        const core::TimedCounters &timed = *event.reported;
        for (const core::GroupView &group : ledger.groups()) {
            if (group.tgid == event.pid && group.mm == timed.counters.mm && !ledger.knows(group.mm))
                adopt(group.host_tgid, timed.counters, timed.begin_ns, timed.end_ns);
        }
    }
    const auto found = std::find_if(awaited.begin(), awaited.end(),
                                    [&event](const auto &each) { return each.second.tgid == event.pid; });
    if (found == awaited.end() || (event.reported && event.reported->counters.mm == found->second.mm)) return;
    const int host_tgid = found->first;
    awaited.erase(found);
    if (!event.reported) return;  // it has ended
    take_up(host_tgid, event.reported->counters, event.reported->begin_ns, event.reported->end_ns);
}

void Judge::State::begin_tick() {
    if (std::exchange(in_tick, true)) return;
    groups = ledger.groups();
    ledger.watch_all();
}

void Judge::State::end_tick() {
    in_tick = false;
    readings.clear();
    ledger.end_watch();
}

const core::GroupView *Judge::State::group_of(int host_tgid) const {
    const auto found = std::lower_bound(groups.begin(), groups.end(), host_tgid,
                                        [](const core::GroupView &group, int tgid) { return group.host_tgid < tgid; });
    return found != groups.end() && found->host_tgid == host_tgid ? &*found : nullptr;
}

void Judge::State::operator()(event::Reading &event) {
    if (cut_off) return;
    begin_tick();
    if (event.reported && group_of(event.host_tgid) == nullptr) {
        // Its attach or birth is not among these events: what it has done until now is its baseline.
        const core::RawReading &reading = *event.reported;
        adopt(event.host_tgid, reading.counters(), reading.begin_ns, reading.end_ns);
        ledger.watch(reading.counters().mm);
        groups = ledger.groups();
    }
    const core::GroupView *const group = group_of(event.host_tgid);
    if (group == nullptr) return;
    Traced &entry = traced[event.host_tgid];
    if (!event.reported) {
        // It has ended: its last tick comes with its exit, unless that is among what was lost.
        const core::Kind kind = event.reported.error().kind;
        if (kind == core::Kind::Gone || kind == core::Kind::Unsupported) {  // a zombie has no memory
            if (entry.gone && losses.lost() > 0) ledger.vanished(event.host_tgid);
            entry.gone = true;
        }
        return;
    }
    entry.gone = false;
    if (options.observer != nullptr) options.observer->on_reading(*event.reported);
    readings.push_back({*group, std::move(*event.reported)});
}

void Judge::State::operator()(event::TickEnd &event) {
    moment(event.at);
    own = event.own;
    for (Taken &taken : readings) {
        auto tick = compared(taken, event.until_ns.value_or(taken.reading.end_ns + kWiderNs));
        if (tick) reported.push_back(std::move(*tick));
    }
    end_tick();
    flush_log.clear();
    seq++;
}

void Judge::State::operator()(event::Stop &event) {
    moment(event.at);
    end_tick();
    // How many records a span had that cannot be read on is known once all have come.
    const std::uint64_t known = order.records() + losses.lost();
    if (order.malformed() > 0 && known < losses.sent) malformed_rest = losses.sent - known;
    count_losses(now.t_ns);
    order.until(UINT64_MAX, [this](const auto &record) { apply(record); });
    ledger.advance(now.t_ns);
    ledger.settle_all();
    finish_all(true);
    take_settled();
    lines.finish();
}

void Judge::State::operator()(event::End &event) {
    moment(event.at);
    std::set<std::uint64_t> once;
    for (const core::GroupView &group : ledger.groups()) {  // those that live on
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
    // A recording that lacks its last chunks lacks the last count of what was sent, too.
    summary->emitted = std::max(losses.sent, summary->records + summary->lost);
    summary->lost_by = losses.by_cause;
    summary->ended_mms = ledger.ended_mms();
    summary->ended_not_at_zero = ledger.ended_not_at_zero();
    summary->processes = gone;
    for (const auto &[tgid, entry] : traced)
        if (entry.summary.pid != 0) summary->processes.push_back(entry.summary);
    summary->own = event.own;
}

void Judge::State::operator()(event::FreshStart & /*event*/) {
    for (auto &[host_tgid, entry] : traced)
        entry.walked.reset();
}

void Judge::State::operator()(event::CpusFolded &event) {
    ledger.cpus_folded(event.since_ns, event.until_ns);
}

void Judge::State::log_flush(const rsslag_update &update, const core::Applied &applied) {
    if (!options.for_screen || !applied.known || !applied.reason || *applied.reason == core::FlushReason::Direct)
        return;
    constexpr std::size_t kMost = 512;
    if (flush_log.size() >= kMost) flush_log.pop_front();
    flush_log.emplace_back(update, applied);
}

/// Amounts that were open go to whoever waits for them.
void Judge::State::take_settled() {
    if (!ledger.any_settled()) return;
    const std::vector<core::SettledUpdate> amounts = ledger.take_settled();
    for (const core::SettledUpdate &amount : amounts) {
        if (const auto update = open.find(amount.ticket); update != open.end()) {
            log_flush(update->second, {true, amount.pages, amount.reason});
            open.erase(update);
        }
        lines.settled(amount);
    }
    if (options.observer != nullptr) options.observer->on_settled(amounts);
}

void Judge::State::emit_update(const rsslag_update &update, const core::Applied &applied) {
    core::EventLine line;
    line.t_ns = since_start(update.t_ns);
    for (const core::GroupView &group : ledger.groups()) {
        if (group.mm == update.mm) line.pid = group.tgid;
    }
    line.tid = update.tid;
    line.comm = ledger.comm_of(update.tid);
    line.cpu = update.cpu;
    line.update = update;
    line.applied = applied;
    lines.add(std::move(line));
}

void Judge::State::apply(const rsslag_update &update) {
    const core::Applied applied = ledger.apply(update);
    log_flush(update, applied);
    if (options.for_screen && applied.ticket != 0) open.emplace(applied.ticket, update);
    if (options.observer != nullptr) options.observer->on_applied(update, applied);
    if (options.observer != nullptr && applied.known && options.observer->needs_updates()) emit_update(update, applied);
    take_settled();
}

void Judge::State::apply(const rsslag_fault &fault) {
    ledger.apply(fault);
    if (options.observer != nullptr) options.observer->on_fault(fault);
}

void Judge::State::apply(const rsslag_sum &sum) {
    ledger.apply(sum);
    if (options.observer != nullptr) options.observer->on_sum(sum);
}

void Judge::State::apply(const rsslag_task &task) {
    const bool dead = task.kind == RSSLAG_EXIT && (task.flags & RSSLAG_GROUP_DEAD) != 0;
    if (task.kind == RSSLAG_EXEC || dead) awaited.erase(task.tgid);
    if (task.kind == RSSLAG_EXIT) faults.erase(task.tid);
    ledger.apply(task);
    if (options.observer != nullptr) lines.add(core::TaskLine{since_start(task.t_ns), task});
    take_settled();
}

/// Everything before that time goes through the ledger.
void Judge::State::apply_until(std::uint64_t t_ns) {
    order.until(t_ns, [this](const auto &record) { apply(record); });
    ledger.advance(t_ns);
    finish_all(false);
    take_settled();
}

Judge::Judge(Facts facts, JudgeOptions options) : state_(std::make_unique<State>(std::move(facts), options)) {}
Judge::~Judge() = default;
Judge::Judge(Judge &&) noexcept = default;
Judge &Judge::operator=(Judge &&) noexcept = default;

std::vector<core::Tick> Judge::apply(event::Event event) {
    state_->taken_up.clear();
    std::visit(*state_, event);
    return std::exchange(state_->reported, {});
}

const std::optional<core::Summary> &Judge::summary() const {
    return state_->summary;
}

const Facts &Judge::facts() const {
    return state_->facts;
}

std::vector<core::GroupView> Judge::groups() const {
    return state_->ledger.groups();
}

std::vector<core::GroupView> Judge::unknown() const {
    std::vector<core::GroupView> groups = state_->ledger.groups();
    std::erase_if(groups, [this](const core::GroupView &group) { return state_->ledger.knows(group.mm); });
    return groups;
}

std::vector<Awaited> Judge::awaited() const {
    std::vector<Awaited> all;
    for (const auto &[host_tgid, each] : state_->awaited)
        all.push_back(each);
    return all;
}

const std::vector<std::pair<int, std::uint64_t>> &Judge::taken_up() const {
    return state_->taken_up;
}

std::vector<int> Judge::tids() const {
    std::vector<int> tids = state_->ledger.tids();
    struct Begins {
        std::vector<int> &tids;
        void operator()(const rsslag_task &task) const {
            if (task.kind == RSSLAG_NEWTASK || task.kind == RSSLAG_EXEC) tids.push_back(task.tid);
        }
        void operator()(const rsslag_update & /*record*/) const {}
        void operator()(const rsslag_fault & /*record*/) const {}
        void operator()(const rsslag_sum & /*record*/) const {}
    };
    state_->order.waiting([&tids](std::size_t, std::span<const std::byte> bytes) {
        for (std::size_t size = 1; size > 0; bytes = bytes.subspan(size))
            size = wire::visit_first(bytes, Begins{tids});
    });
    std::sort(tids.begin(), tids.end());
    tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
    return tids;
}

bool Judge::any() const {
    return !state_->awaited.empty() || !state_->ledger.groups().empty() || leaving();
}

bool Judge::leaving() const {
    return state_->ledger.leaving();
}

const core::Losses &Judge::losses() const {
    return state_->losses;
}

std::uint64_t Judge::records() const {
    return state_->order.records();
}

std::vector<event::Records> Judge::waiting() const {
    std::vector<event::Records> waiting;
    state_->order.waiting([&waiting](std::size_t cpu, std::span<const std::byte> bytes) {
        waiting.push_back({static_cast<std::uint32_t>(cpu), {bytes.begin(), bytes.end()}});
    });
    return waiting;
}

event::Moment Judge::last_moment() const {
    return state_->now;
}

}  // namespace rsslag::trace
