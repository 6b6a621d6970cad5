// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rsslag/core/ledger.h"
#include "rsslag/recording/writer.h"
#include "source.h"

namespace rsslag::cli {

/// What a recording or a segment that begins amid a trace has to begin with.
struct KnownState {
    struct Group {
        recording::Ask ask = recording::Ask::Attach;  ///< or AttachAtExec
        int pid = 0;
        core::TimedCounters counters;
        recording::Faults faults;  ///< of its tasks
    };
    std::vector<Group> groups;                ///< that are traced, read now
    std::vector<recording::Records> waiting;  ///< that came, and are too young to be judged
};

/// Counts of these tasks, one a task in that order, as a recording has them.
recording::Faults faults_item(std::span<const int> host_tids, const std::vector<core::FaultCounts> &counts);

/// Passes every answer on, and gives it to a recording where there is one.
class RecordingSource final : public Source {
  public:
    explicit RecordingSource(std::unique_ptr<Source> source) : source_(std::move(source)) {}

    /// From now on all is recorded, what is known at the begin.
    void record(recording::Writer writer, recording::Header header, const KnownState &known);
    /// The same in the next segment. `losses`: what was sent and lost until now.
    void next(recording::Header header, const KnownState &known, const core::Losses &losses);
    /// It ends here.
    std::optional<recording::Writer> end(const KnownState &known, const core::Losses &losses);
    /// Asks the kernel, and no recording is told.
    Source &unrecorded() { return *source_; }
    /// The recording that goes on, else null.
    recording::Writer *writer() { return writer_ ? &*writer_ : nullptr; }

    void begin(const recording::Call &call) override;
    const view::SnapshotDocument &facts() const override { return source_->facts(); }
    const std::vector<std::string> &missing() const override { return source_->missing(); }
    std::uint64_t id_key() const override { return source_->id_key(); }
    std::uint64_t start_ns() const override { return source_->start_ns(); }
    std::uint64_t now_ns() override;
    void wait_until(std::uint64_t t_ns) override { source_->wait_until(t_ns); }
    std::chrono::system_clock::time_point time() override;
    core::Status want(int host_tgid, std::uint64_t mm) override;
    core::Status want_matching(const probe::Pattern &pattern) override;
    void detach() override { source_->detach(); }
    void collect(const Records &use) override;
    core::Losses losses() override;
    std::vector<core::FaultCounts> faults(std::span<const int> host_tids) override;
    core::Result<core::TimedCounters> read_counters(pid_t pid) override;
    core::Result<core::RawReading> read(int host_tgid, pid_t pid, bool walk) override;
    void forget(int host_tgid) override { source_->forget(host_tgid); }
    view::OwnCost cost(std::uint64_t sent) override;
    view::OwnCost whole_cost(std::uint64_t sent) override;

  private:
    void put(recording::Item item) {
        if (writer_) writer_->put(std::move(item));
    }
    view::OwnCost told(const view::OwnCost &cost, bool whole);
    void put_stop(const KnownState &known, const core::Losses &losses);
    void put_known(const KnownState &known);

    std::unique_ptr<Source> source_;
    std::optional<recording::Writer> writer_;
};

}  // namespace rsslag::cli
