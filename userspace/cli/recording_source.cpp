// SPDX-License-Identifier: BSD-2-Clause
#include "recording_source.h"

#include <utility>

namespace rsslag::cli {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;

recording::Faults faults_item(std::span<const int> host_tids, const std::vector<core::FaultCounts> &counts) {
    recording::Faults faults;
    faults.tasks.reserve(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
        faults.tasks.push_back({host_tids[i], counts[i]});
    return faults;
}

/// As attach(), attach_at_exec() and collect() ask for it. What is older than its process's counters is part of them.
void RecordingSource::put_known(const KnownState &known) {
    for (const KnownState::Group &group : known.groups) {
        put(recording::Call{group.ask, group.pid});
        put(recording::Counters{group.pid, group.counters});
        put(recording::Wanted{core::success()});
        if (group.ask != recording::Ask::Attach) continue;
        put(recording::Counters{group.pid, group.counters});
        put(group.faults);
    }
    if (known.waiting.empty()) return;
    put(recording::Call{recording::Ask::Collect, 0});
    now_ns();
    for (const recording::Records &records : known.waiting)
        put(records);
    put(recording::Collected{});
}

void RecordingSource::record(recording::Writer writer, recording::Header header, const KnownState &known) {
    writer_.reset();
    writer_.emplace(std::move(writer));
    writer_->begin(std::move(header));
    put_known(known);
}

/// It ends as a trace does that is stopped: all that was sent has come.
void RecordingSource::put_stop(const KnownState &known, const core::Losses &losses) {
    begin({recording::Ask::Stop, 0});
    now_ns();
    put(recording::Collected{});
    put(losses);
    now_ns();
    begin({recording::Ask::Summary, 0});
    time();
    now_ns();
    recording::Faults faults;  // of all that live
    for (const KnownState::Group &group : known.groups)
        faults.tasks.insert(faults.tasks.end(), group.faults.tasks.begin(), group.faults.tasks.end());
    put(std::move(faults));
}

void RecordingSource::next(recording::Header header, const KnownState &known, const core::Losses &losses) {
    if (!writer_) return;
    put_stop(known, losses);
    writer_->next(std::move(header));
    put_known(known);
}

std::optional<recording::Writer> RecordingSource::end(const KnownState &known, const core::Losses &losses) {
    if (!writer_) return std::nullopt;
    put_stop(known, losses);
    writer_->end();
    std::optional<recording::Writer> ended(std::move(*writer_));
    writer_.reset();
    return ended;
}

void RecordingSource::begin(const recording::Call &call) {
    source_->begin(call);
    put(call);
}

std::uint64_t RecordingSource::now_ns() {
    const std::uint64_t now = source_->now_ns();
    put(recording::Now{now});
    return now;
}

std::chrono::system_clock::time_point RecordingSource::time() {
    const auto time = source_->time();
    put(recording::Time{duration_cast<nanoseconds>(time.time_since_epoch()).count()});
    return time;
}

core::Status RecordingSource::want(int host_tgid, std::uint64_t mm) {
    core::Status told = source_->want(host_tgid, mm);
    put(recording::Wanted{told});
    return told;
}

core::Status RecordingSource::want_matching(const probe::Pattern &pattern) {
    core::Status told = source_->want_matching(pattern);
    put(recording::Wanted{told});
    return told;
}

void RecordingSource::collect(const Records &use) {
    if (!writer_) return source_->collect(use);
    source_->collect([&](std::size_t ring, std::span<const std::byte> bytes) {
        writer_->put(recording::Records{static_cast<std::uint32_t>(ring), {bytes.begin(), bytes.end()}});
        use(ring, bytes);
    });
    writer_->put(recording::Collected{});
}

core::Losses RecordingSource::losses() {
    core::Losses losses = source_->losses();
    put(losses);
    return losses;
}

std::vector<core::FaultCounts> RecordingSource::faults(std::span<const int> host_tids) {
    std::vector<core::FaultCounts> counts = source_->faults(host_tids);
    if (writer_) writer_->put(faults_item(host_tids, counts));
    return counts;
}

core::Result<core::TimedCounters> RecordingSource::read_counters(pid_t pid) {
    auto told = source_->read_counters(pid);
    if (writer_) writer_->put(recording::Counters{pid, told});
    return told;
}

core::Result<core::RawReading> RecordingSource::read(int host_tgid, pid_t pid, bool walk) {
    auto told = source_->read(host_tgid, pid, walk);
    if (writer_) writer_->put(recording::Reading{host_tgid, pid, told});
    return told;
}

view::OwnCost RecordingSource::told(const view::OwnCost &cost, bool whole) {
    put(recording::Cost{whole, cost.cpu_percent, cost.bpf_ns_per_event, cost.rss});
    return cost;
}

view::OwnCost RecordingSource::cost(std::uint64_t sent) {
    return told(source_->cost(sent), false);
}

view::OwnCost RecordingSource::whole_cost(std::uint64_t sent) {
    return told(source_->whole_cost(sent), true);
}

}  // namespace rsslag::cli
