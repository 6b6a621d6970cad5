// SPDX-License-Identifier: BSD-2-Clause
#include "file_source.h"

#include <algorithm>
#include <utility>

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using std::chrono::nanoseconds;
using std::chrono::system_clock;

Error not_recorded() {
    return {Kind::Gone, "this was not recorded", 0, ""};
}

template <class Answer>
std::optional<Answer> pop(std::deque<Answer> &answers) {
    if (answers.empty()) return std::nullopt;
    std::optional<Answer> first(std::move(answers.front()));
    answers.pop_front();
    return first;
}

system_clock::time_point time_of(std::int64_t unix_ns) {
    return system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(nanoseconds(unix_ns)));
}

view::SnapshotDocument facts_of(const recording::Header &header) {
    view::SnapshotDocument facts;
    facts.time = time_of(header.start_unix_ns);
    facts.kernel = header.kernel;
    facts.arch = header.arch;
    facts.machine = header.machine;
    facts.calibration = header.calibration;
    return facts;
}

}  // namespace

struct FileSource::Take {
    FileSource &source;

    void operator()(recording::Call &call) const { source.next_call_ = call; }
    void operator()(recording::Records &records) const { source.answers_.arriving.push_back(std::move(records)); }
    void operator()(recording::Collected & /*end*/) const {
        source.answers_.collected.push_back(std::exchange(source.answers_.arriving, {}));
    }
    void operator()(recording::Now &now) const { source.answers_.now.push_back(now.t_ns); }
    void operator()(recording::Time &time) const { source.answers_.time.push_back(time.unix_ns); }
    void operator()(core::Losses &losses) const { source.answers_.losses.push_back(std::move(losses)); }
    void operator()(recording::Faults &faults) const { source.answers_.faults.push_back(std::move(faults)); }
    void operator()(recording::Counters &told) const { source.answers_.counters.push_back(std::move(told)); }
    void operator()(recording::Reading &told) const { source.answers_.readings.push_back(std::move(told)); }
    void operator()(recording::Wanted &told) const { source.answers_.wanted.push_back(std::move(told)); }
    void operator()(recording::Cost &cost) const { source.answers_.costs.push_back(cost); }
    void operator()(recording::Overflow & /*overflow*/) const {}
};

FileSource::FileSource(recording::Reader reader)
    : reader_(std::move(reader)),
      facts_(facts_of(reader_.header())),
      now_ns_(reader_.header().start_ns),
      unix_ns_(reader_.header().start_unix_ns),
      losses_(reader_.header().before) {}

void FileSource::lose(recording::Missing missing, Step &step) {
    missing_records_ += std::max<std::uint64_t>(missing.records.value_or(1), 1);
    step.missing.push_back(std::move(missing));
}

std::optional<FileSource::Step> FileSource::next() {
    if (!answers_.now.empty()) now_ns_ = std::max(now_ns_, answers_.now.back());
    answers_ = {};
    Step step;
    step.call = std::exchange(next_call_, std::nullopt);
    bool broken = !step.call;
    while (!next_call_ && !at_end_) {
        auto next = reader_.next();
        if (!next) {
            at_end_ = true;
            break;
        }
        if (auto *const item = std::get_if<recording::Item>(&*next)) {
            if (const auto *const overflow = std::get_if<recording::Overflow>(item)) {
                lose({"the writer could not keep up", now_ns_, std::nullopt, overflow->records}, step);
                broken = true;
            }
            std::visit(Take{*this}, *item);
        } else {
            // What was not ended may end anywhere: there, nothing that is known of was lost.
            auto &missing = std::get<recording::Missing>(*next);
            if (missing.to_ns) {
                lose(std::move(missing), step);
            } else {
                step.missing.push_back(std::move(missing));
            }
            broken = true;
        }
    }
    if (broken) step.call.reset();
    const bool anything =
        step.call || !step.missing.empty() || !answers_.collected.empty() || !answers_.arriving.empty();
    if (!anything && at_end_) return std::nullopt;
    if (!step.call) {  // all at once: where one batch ended does not matter any more
        std::vector<recording::Records> all;
        for (auto &batch : answers_.collected)
            std::move(batch.begin(), batch.end(), std::back_inserter(all));
        std::move(answers_.arriving.begin(), answers_.arriving.end(), std::back_inserter(all));
        answers_.collected.clear();
        answers_.collected.push_back(std::move(all));
        if (!answers_.now.empty()) now_ns_ = std::max(now_ns_, answers_.now.back());
        answers_.now.clear();
    }
    return step;
}

std::vector<std::pair<int, core::RawReading>> FileSource::readings() const {
    std::vector<std::pair<int, core::RawReading>> readings;
    for (const recording::Reading &reading : answers_.readings)
        if (reading.told) readings.emplace_back(reading.host_tgid, *reading.told);
    return readings;
}

void FileSource::begin(const recording::Call & /*call*/) {}

std::uint64_t FileSource::now_ns() {
    constexpr std::uint64_t kOn = 1'000'000;  // who waits for a time comes to an end
    const auto told = pop(answers_.now);
    now_ns_ = told ? *told : now_ns_ + kOn;
    return now_ns_;
}

system_clock::time_point FileSource::time() {
    if (const auto told = pop(answers_.time)) unix_ns_ = *told;
    return time_of(unix_ns_);
}

core::Status FileSource::wanted() {
    auto told = pop(answers_.wanted);
    return told ? std::move(told->told) : core::success();
}

core::Status FileSource::want(int /*host_tgid*/, std::uint64_t /*mm*/) {
    return wanted();
}

core::Status FileSource::want_matching(const probe::Pattern & /*pattern*/) {
    return wanted();
}

void FileSource::collect(const Records &use) {
    const auto batch = pop(answers_.collected);
    if (!batch) return;
    for (const recording::Records &records : *batch)
        use(records.ring, records.bytes);
}

/// Since the recording began; what it lacks is a loss like any other.
core::Losses FileSource::losses() {
    if (auto told = pop(answers_.losses)) losses_ = std::move(*told);
    core::Losses losses = losses_;
    const core::Losses &before = reader_.header().before;
    losses.sent -= std::min(losses.sent, before.sent);
    for (const auto &[cause, count] : before.by_cause)
        losses.by_cause[cause] -= std::min(losses.by_cause[cause], count);
    if (missing_records_ > 0) losses.by_cause["recording"] = missing_records_;
    return losses;
}

std::vector<core::FaultCounts> FileSource::faults(std::span<const int> host_tids) {
    // Some may be of tasks that ended before a segment began.
    auto &told = answers_.faults;
    const auto of_these = std::find_if(told.begin(), told.end(), [&](const recording::Faults &each) {
        return std::any_of(each.tasks.begin(), each.tasks.end(), [&](const recording::Faults::Task &task) {
            return !host_tids.empty() && task.host_tid == host_tids.front();
        });
    });
    if (of_these != told.end()) {
        faults_.clear();
        for (const recording::Faults::Task &task : of_these->tasks)
            faults_.emplace_hint(faults_.end(), task.host_tid, task.counts);
        told.erase(of_these);
    }
    std::vector<core::FaultCounts> counts;
    counts.reserve(host_tids.size());
    for (const int tid : host_tids) {
        const auto found = faults_.find(tid);
        counts.push_back(found == faults_.end() ? core::FaultCounts{} : found->second);
    }
    return counts;
}

core::Result<core::TimedCounters> FileSource::read_counters(pid_t pid) {
    auto &told = answers_.counters;
    const auto found =
        std::find_if(told.begin(), told.end(), [pid](const recording::Counters &each) { return each.pid == pid; });
    if (found == told.end()) return not_recorded();
    auto answer = std::move(found->told);
    told.erase(found);
    return answer;
}

core::Result<core::RawReading> FileSource::read(int host_tgid, pid_t /*pid*/, bool /*walk*/) {
    auto &told = answers_.readings;
    const auto found = std::find_if(
        told.begin(), told.end(), [host_tgid](const recording::Reading &each) { return each.host_tgid == host_tgid; });
    if (found == told.end()) return not_recorded();
    auto answer = std::move(found->told);
    told.erase(found);
    return answer;
}

view::OwnCost FileSource::next_cost() {
    if (const auto told = pop(answers_.costs)) {
        cost_.cpu_percent = told->cpu_percent;
        cost_.bpf_ns_per_event = told->bpf_ns_per_event;
        cost_.rss = told->rss;
    }
    return cost_;
}

view::OwnCost FileSource::cost(std::uint64_t /*sent*/) {
    return next_cost();
}

view::OwnCost FileSource::whole_cost(std::uint64_t /*sent*/) {
    return next_cost();
}

}  // namespace rsslag::cli
