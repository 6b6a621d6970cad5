// SPDX-License-Identifier: BSD-2-Clause
#include "report/report_builder.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "exporters/extreme_processes.h"
#include "growth.h"
#include "profile/collector.h"
#include "report_parts.h"
#include "shares.h"

namespace rsslag::report {
namespace {

using core::Pages;

/// Twice the columns of the widest chart.
constexpr std::size_t kMostPoints = 4096;
/// Of the charts of all processes; if there are more, each chart keeps only its share of a quarter, but at least some.
constexpr std::size_t kMostInCharts = 250'000, kSomeInChart = 32;

bool weightier(const LagPoint &a, const LagPoint &b) {
    return a.lag.value_or(Pages{INT64_MIN}) >= b.lag.value_or(Pages{INT64_MIN});
}

/// Keeps of each two points the one with the larger lag, so that the largest lag is kept.
void thin_out(std::vector<LagPoint> &points) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i + 1 < points.size(); i += 2)
        points[kept++] = weightier(points[i], points[i + 1]) ? points[i] : points[i + 1];
    if (points.size() % 2 != 0) points[kept++] = points.back();
    points.resize(kept);
}

/// Adds the uncertainty of another process's peak.
void add_uncertainty(PeakLag &peak, const PeakLag &more) {
    peak.approximate = peak.approximate || more.approximate;
    const bool lost = more.lossy && !more.read_late;
    peak.read_late = !lost && (peak.lossy ? peak.read_late : more.read_late);
    peak.lossy = peak.lossy || more.lossy;
}

/// A process whose rows are being read.
struct Reported {
    ReportProcess process;
    std::vector<std::uint64_t> mms;  ///< its mms, in order
    GrowthByAddress growth;
    core::CourseBuilder course;
    std::size_t order = 0;
    std::uint64_t mm = 0;  ///< of its last tick
};

void note_residual(ResidualStatistics &statistics, const exporters::TickRow &row) {
    if (!row.walk || !row.residual) return;
    const Pages residual = *row.residual;
    statistics.walks++;
    statistics.min = std::min(statistics.min.value_or(residual), residual);
    statistics.max = std::max(statistics.max.value_or(residual), residual);
    if (residual.n != 0) statistics.nonzero++;
}

void note_lag(ReportProcess &process, const exporters::TickRow &row) {
    PeakLag peak;
    peak.pages = row.extremes.lag;
    peak.t_ns = row.extremes.lag_t_ns;
    peak.pid = row.at.pid;
    peak.comm = row.at.comm;
    peak.rss = row.extremes.lag_rss;
    peak.approximate = row.extremes.approximate();
    peak.lossy = row.extremes.lossy;
    peak.read_late = row.extremes.read_late;
    process.peak_lag = std::move(peak);
}

void note_point(ReportProcess &process, const exporters::TickRow &row, const core::PageSize &page_size) {
    LagPoint point;
    point.t_ns = row.at.t_ns;
    point.exact = row.exact.rss();
    point.cached = row.cached.rss();
    point.needs_resync = row.needs_resync;
    if (row.read) {
        point.lag = row.lag;
        point.reported = row.readers.stat;
        if (row.walk) point.walked = page_size.pages(row.walk->rss);
    }
    if (process.points.size() >= kMostPoints) thin_out(process.points);
    process.points.push_back(point);
}

/// The values of a tick; after the end of the process those before its teardown, with no lag.
void note_held(Reported &reported, const exporters::TickRow &row) {
    const bool over = row.state != core::State::Running;
    const core::Members &held = over ? row.last : row.exact;
    const core::Pages lag = over ? core::Pages{} : core::lag(held, row.flushed);
    reported.course.add(row.at.t_ns, {held.rss(), lag});
}

void add(core::ExitedNet &sum, const core::ExitedNet &more) {
    sum.threads += more.threads;
    sum.net += more.net;
    sum.faults += more.faults;
    sum.updates += more.updates;
    sum.flushes += more.flushes;
    sum.uncertain += more.uncertain;
}

/// Sums up the mms of one process.
void add(MmReport &sum, const MmReport &mm) {
    sum.mm = mm.mm;
    sum.baseline += mm.baseline;
    sum.final += mm.final;
    sum.updates += mm.updates;
    sum.updates_by_others += mm.updates_by_others;
    add(sum.exited, mm.exited);
    add(sum.ended_others, mm.ended_others);
    sum.teardown += mm.teardown;
    sum.teardown_uncertain += mm.teardown_uncertain;
    sum.teardown_updates += mm.teardown_updates;
    sum.teardown_flushes += mm.teardown_flushes;
    sum.ended += mm.ended;
    sum.others += mm.others;
    sum.remainder += mm.remainder;
    sum.resyncs += mm.resyncs;
    sum.needs_resync = mm.needs_resync;
}

ReportProcess finished(Reported reported, const core::PageSize &page_size) {
    ReportProcess process = std::move(reported.process);
    process.growth = reported.growth.ranges(page_size);
    return process;
}

}  // namespace

struct ReportBuilder::State {
    Report report;
    std::unordered_map<int, Reported> reported;  ///< by pid, those that have not ended
    /// Processes that are complete, with their rank by first row and their mms.
    struct Over {
        std::size_t order = 0;
        ReportProcess process;
        std::vector<std::uint64_t> mms;
        core::CourseBuilder course;
        bool extreme = false;  ///< is kept, whatever its lag is
    };
    std::vector<Over> over;
    std::size_t in_charts = 0;            ///< points and spans of all of them
    std::optional<PeakLag> left_out_lag;  ///< its uncertainty includes that of all processes left out
    std::unordered_map<std::uint64_t, std::size_t> holders;  ///< by mm: processes that have it in `mms`
    std::unordered_map<std::uint64_t, MmShares> shares;      ///< by mm: processes may share one
    std::vector<std::uint64_t> open_shares;                  ///< mms that a later loss row may change
    std::optional<std::uint64_t> certified;                  ///< tick up to which all losses are known
    std::size_t next_order = 0;
    exporters::GrowthByName growth;
    profile::Collector stacks;
    std::pair<int, Reported *> last{0, nullptr};  ///< cache: rows of one process often follow each other

    // Counts of rows by alternative of the variant; for updates, tasks and mappings also by type.
    std::array<std::uint64_t, std::variant_size_v<exporters::Row>> counts{};
    std::array<std::uint64_t, 3> updates{};
    std::array<std::uint64_t, 7> tasks{};
    std::array<std::uint64_t, 4> mappings{};

    Reported &of(const exporters::Stamp &at) {
        if (last.second != nullptr && last.first == at.pid) return *last.second;
        const auto [found, is_new] = reported.try_emplace(at.pid);
        if (is_new) {
            found->second.order = next_order++;
            found->second.process.pid = at.pid;
        }
        last = {at.pid, &found->second};
        return found->second;
    }

    void note(const exporters::UpdateRow &row) {
        updates[static_cast<std::size_t>(row.type)]++;
        stacks.note(row);
        if (row.fault && row.pages && row.at.pid > 0) of(row.at).growth.add(row.fault->address, *row.pages);
        growth.note(row);
        note_course(row);
    }
    void note(const exporters::TaskRow &row) {
        tasks[static_cast<std::size_t>(row.type)]++;
        growth.note(row);
    }
    void note(const exporters::FaultRow &row) {
        stacks.note(row);
        growth.note(row);
        note_course(row);
    }
    void note(const exporters::MappingRow &row) {
        mappings[static_cast<std::size_t>(row.type)]++;
        stacks.note(row);
        growth.note(row);
    }
    void note(const exporters::SumRow &row) { note_course(row); }
    template <class Row>
    void note_course(const Row &row) {
        if (row.held && row.at.pid > 0) of(row.at).course.add(row.at.t_ns, *row.held);
    }
    void note(const exporters::ReadingRow & /*row*/) {}
    void note(const exporters::WalkRow & /*row*/) {}
    void note(const exporters::LossRow &row);
    void note_shares(Reported &entry, const exporters::TickRow &row);
    void put_shares(Over &each) const;
    void note(const exporters::TickRow &row);
    void count_rows();
    void end_image(Reported &entry);
    void end(int pid);
    void put_over(Reported &&entry);
    void thin_out_charts();
    void mark_extreme();
    void leave_out();
    void forget(const Over &each);
};

void ReportBuilder::State::note(const exporters::TickRow &row) {
    Reported &entry = of(row.at);
    ReportProcess &process = entry.process;
    process.comm = row.at.comm;
    process.state = row.state;
    process.baseline = row.baseline;
    process.final = row.exact;
    process.at_start = row.at_start;
    process.last = row.last;
    process.start_approximate = row.start_approximate;
    process.baseline_approximate = row.baseline_approximate;
    process.final_approximate = row.needs_resync;
    process.extremes = row.extremes;
    process.ticks++;
    if (row.state == core::State::Running) process.verdicts[std::string(core::name(row.verdict))]++;
    note_residual(process.residual, row);
    note_lag(process, row);
    note_point(process, row, report.facts.machine.page_size);
    note_held(entry, row);
    growth.note(row);
    entry.mm = row.at.mm;
    if (row.state != core::State::Running) end_image(entry);
    if (row.ledger != nullptr)
        process.most_tasks = std::max(process.most_tasks, static_cast<std::int64_t>(row.ledger->tasks.size()));
    note_shares(entry, row);
    const bool image_over = row.state == core::State::Exec && row.extremes.image == 0;
    if (row.state == core::State::Exited || image_over) end(row.at.pid);
}

void ReportBuilder::State::note_shares(Reported &entry, const exporters::TickRow &row) {
    if (row.read && certified != row.seq) {
        certified = row.seq;
        for (const std::uint64_t mm : open_shares)
            shares[mm].certify(row.seq);
        std::erase_if(open_shares, [this](std::uint64_t mm) { return !shares[mm].open(); });
    }
    MmShares &of_mm = shares[row.at.mm];
    const bool open = of_mm.open();
    of_mm.note(row);
    if (of_mm.open() && !open) open_shares.push_back(row.at.mm);
    if (std::find(entry.mms.begin(), entry.mms.end(), row.at.mm) != entry.mms.end()) return;
    entry.mms.push_back(row.at.mm);
    ++holders[row.at.mm];
}

void ReportBuilder::State::note(const exporters::LossRow &row) {
    growth.note(row);
    if (row.cause == exporters::kMappingsLost) return;  // changes no counter
    for (const std::uint64_t mm : open_shares)
        shares[mm].lost(row.records.value_or(UINT64_MAX));
}

/// Called at the end.
void ReportBuilder::State::put_shares(Over &each) const {
    ReportProcess &process = each.process;
    for (const std::uint64_t mm : each.mms) {
        const auto found = shares.find(mm);
        if (found == shares.end()) continue;
        process.mms.push_back(found->second.take_into(process));
        add(process.sum, process.mms.back());
    }
    sort_by_weight(process.threads);
    sort_by_weight(process.other_tasks);
}

void ReportBuilder::State::end_image(Reported &entry) {
    auto image = growth.take(entry.process.pid, std::exchange(entry.mm, 0));
    if (!image) return;
    image->parts_approximate = image->parts_approximate || entry.process.extremes.lossy;
    entry.process.images.push_back(std::move(*image));
}

/// From now on the PID may belong to another process or, after the first exec of a fork, to the fork's own programs.
void ReportBuilder::State::end(int pid) {
    const auto found = reported.find(pid);
    put_over(std::move(found->second));
    reported.erase(found);
    last = {0, nullptr};
    if (over.size() > kMostEndedProcesses + kMostEndedProcesses / 4) leave_out();
}

void ReportBuilder::State::put_over(Reported &&entry) {
    Over each{entry.order, {}, std::move(entry.mms), std::move(entry.course)};
    each.process = finished(std::move(entry), report.facts.machine.page_size);
    in_charts += each.process.points.size() + each.course.size();
    over.push_back(std::move(each));
    if (in_charts > kMostInCharts) thin_out_charts();
}

void ReportBuilder::State::thin_out_charts() {
    const std::size_t share = std::max(kSomeInChart, kMostInCharts / 4 / over.size());
    in_charts = 0;
    for (Over &each : over) {
        std::vector<LagPoint> &points = each.process.points;
        if (each.order != 0) {  // mostly the process that started the others
            while (points.size() > share)
                thin_out(points);
            points.shrink_to_fit();
            each.course.limit(share);
        }
        in_charts += points.size() + each.course.size();
    }
}

void ReportBuilder::State::mark_extreme() {
    std::vector<const core::Extremes *> extremes;
    for (Over &each : over) {
        each.extreme = each.order == 0;
        extremes.push_back(&each.process.extremes);
    }
    for (const std::size_t at : exporters::extreme_processes(extremes))
        over[at].extreme = true;
    const auto residual = [](const Over &each) { return residual_of(each.process).value_or(-1); };
    std::max_element(over.begin(), over.end(), [&](const Over &a, const Over &b) {
        return residual(a) < residual(b);
    })->extreme = true;
}

/// Keeps the largest of the processes that have ended, and the sums of the others.
void ReportBuilder::State::leave_out() {
    if (over.size() <= kMostEndedProcesses) return;
    mark_extreme();
    const auto rest = over.begin() + static_cast<std::ptrdiff_t>(kMostEndedProcesses);
    std::nth_element(over.begin(), rest, over.end(), [](const Over &a, const Over &b) {
        return std::tie(b.extreme, b.process.extremes.lag, b.order) <
               std::tie(a.extreme, a.process.extremes.lag, a.order);
    });
    std::for_each(rest, over.end(), [this](const Over &each) { forget(each); });
    over.erase(rest, over.end());
    std::erase_if(open_shares, [this](std::uint64_t mm) { return !shares.contains(mm); });
}

void ReportBuilder::State::forget(const Over &each) {
    const ReportProcess &process = each.process;
    report.left_out_processes++;
    report.left_out += process.extremes.image != 0 ? 1 : 0;
    report.left_out_unwalked += never_walked(process) ? 1 : 0;
    for (const auto &[verdict, ticks] : process.verdicts)
        report.left_out_verdicts[verdict] += ticks;
    if (process.peak_lag && left_out_lag) add_uncertainty(*left_out_lag, *process.peak_lag);
    if (!left_out_lag) left_out_lag = process.peak_lag;
    for (const std::uint64_t mm : each.mms) {
        if (--holders[mm] > 0) continue;
        holders.erase(mm);
        shares.erase(mm);
    }
    in_charts -= process.points.size() + each.course.size();
}

void ReportBuilder::State::count_rows() {
    const auto add = [this](const exporters::Row &row, std::uint64_t count, bool sent) {
        if (count != 0) report.rows[std::string(exporters::type_name(row))] += count;
        if (sent) report.records += count;
    };
    for (std::size_t i = 0; i < updates.size(); ++i) {
        exporters::UpdateRow row;
        row.type = static_cast<exporters::UpdateRow::Type>(i);
        add(row, updates[i], true);
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        exporters::TaskRow row;
        row.type = static_cast<exporters::TaskRow::Type>(i);
        add(row, tasks[i], true);
    }
    for (std::size_t i = 0; i < mappings.size(); ++i) {
        exporters::MappingRow row;
        row.type = static_cast<exporters::MappingRow::Type>(i);
        add(row, mappings[i], false);
    }
    const auto at = [this](const exporters::Row &row) { return counts[row.index()]; };
    for (const exporters::Row &row : {exporters::Row(exporters::FaultRow()), exporters::Row(exporters::SumRow())})
        add(row, at(row), true);
    for (const exporters::Row &row : {exporters::Row(exporters::ReadingRow()), exporters::Row(exporters::WalkRow()),
                                      exporters::Row(exporters::LossRow()), exporters::Row(exporters::TickRow())})
        add(row, at(row), false);
}

ReportBuilder::ReportBuilder() : state_(std::make_unique<State>()) {}
ReportBuilder::~ReportBuilder() = default;

core::Status ReportBuilder::begin(const exporters::Facts &facts) {
    state_->report.facts = facts;
    state_->stacks.begin(facts.sample_period);
    return core::success();
}

core::Status ReportBuilder::row(const exporters::Row &row) {
    state_->counts[row.index()]++;
    std::visit([this](const auto &each) { state_->note(each); }, row);
    return core::success();
}

core::Status ReportBuilder::end(const exporters::Ending &ending) {
    State &state = *state_;
    state.report.ending = ending;
    state.report.ending.all.lossy = ending.all.lossy || !ending.complete;
    state.report.names = state.growth.any_names();
    state.report.stacks = state.stacks.take();
    state.report.stacks.lossy = ending.at_least() || !ending.complete;
    state.count_rows();
    state.leave_out();
    for (auto &[pid, entry] : state.reported) {
        // What followed is not in the recording.
        if (!ending.complete && entry.process.state == core::State::Running) {
            entry.process.extremes.lossy = true;
            if (auto &peak = entry.process.peak_lag) peak->lossy = peak->approximate = true;
        }
        // A process without ticks is left out: it lived between two ticks, or its mm is another process's.
        state.end_image(entry);
        if (entry.process.ticks > 0) state.put_over(std::move(entry));
    }
    state.reported.clear();
    std::sort(state.over.begin(), state.over.end(), [](const auto &a, const auto &b) { return a.order < b.order; });
    for (State::Over &each : state.over) {
        state.put_shares(each);
        each.process.course = each.course.take();
        state.report.processes.push_back(std::move(each.process));
    }
    for (const ReportProcess &process : state.report.processes) {
        const auto &peak = process.peak_lag;
        if (peak && (!state.report.peak_lag || peak->pages > state.report.peak_lag->pages))
            state.report.peak_lag = peak;
    }
    for (const ReportProcess &process : state.report.processes) {
        if (process.peak_lag) add_uncertainty(*state.report.peak_lag, *process.peak_lag);
    }
    if (state.report.peak_lag && state.left_out_lag) add_uncertainty(*state.report.peak_lag, *state.left_out_lag);
    return core::success();
}

void ReportBuilder::samples(const core::event::Samples &samples) {
    state_->stacks.samples(samples);
}

void ReportBuilder::stacks(const core::event::Stacks &stacks) {
    state_->stacks.stacks(stacks);
}

void ReportBuilder::absent_pages(const core::event::AbsentPages &absent) {
    state_->stacks.absent_pages(absent);
}

Report ReportBuilder::take() {
    return std::move(state_->report);
}

std::uint64_t Report::row_count() const {
    std::uint64_t sum = 0;
    for (const auto &[type, count] : rows)
        sum += count;
    return sum;
}

}  // namespace rsslag::report
