// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/recording/reader.h"
#include "source.h"

namespace rsslag::cli {

/// Answers as a recording has them, call by call. What is asked for and is not there gets the last answer of its kind,
/// or none.
class FileSource final : public Source {
  public:
    explicit FileSource(recording::Reader reader);

    /// One call with all that was told from it until the next one.
    struct Step {
        std::optional<recording::Call> call;  ///< nullopt: of a call that cannot be made again just records are left
        std::vector<recording::Missing> missing;  ///< what is not there right before it
    };
    /// Goes on to the next one; nullopt: the end.
    std::optional<Step> next();

    const recording::Reader &reader() const { return reader_; }
    /// Groups that were read in this step, and what was told of them.
    std::vector<std::pair<int, core::RawReading>> readings() const;

    void begin(const recording::Call &call) override;
    const view::SnapshotDocument &facts() const override { return facts_; }
    const std::vector<std::string> &missing() const override { return reader_.header().missing_hooks; }
    std::uint64_t id_key() const override { return reader_.header().id_key; }
    std::uint64_t start_ns() const override { return reader_.header().start_ns; }
    std::uint64_t now_ns() override;
    void wait_until(std::uint64_t /*t_ns*/) override {}
    std::chrono::system_clock::time_point time() override;
    core::Status want(int host_tgid, std::uint64_t mm) override;
    core::Status want_matching(const probe::Pattern &pattern) override;
    void detach() override {}
    void collect(const Records &use) override;
    core::Losses losses() override;
    std::vector<core::FaultCounts> faults(std::span<const int> host_tids) override;
    core::Result<core::TimedCounters> read_counters(pid_t pid) override;
    core::Result<core::RawReading> read(int host_tgid, pid_t pid, bool walk) override;
    void forget(int /*host_tgid*/) override {}
    view::OwnCost cost(std::uint64_t sent) override;
    view::OwnCost whole_cost(std::uint64_t sent) override;

  private:
    /// What was told in one step, kind by kind.
    struct Answers {
        std::deque<std::uint64_t> now;
        std::deque<std::int64_t> time;
        std::deque<std::vector<recording::Records>> collected;
        std::vector<recording::Records> arriving;  ///< until the end of their batch
        std::deque<core::Losses> losses;
        std::deque<recording::Faults> faults;
        std::deque<recording::Counters> counters;
        std::deque<recording::Reading> readings;
        std::deque<recording::Wanted> wanted;
        std::deque<recording::Cost> costs;
    };
    struct Take;
    void take(recording::Item item);
    void lose(recording::Missing missing, Step &step);
    core::Status wanted();
    view::OwnCost next_cost();

    recording::Reader reader_;
    view::SnapshotDocument facts_;
    Answers answers_;
    std::optional<recording::Call> next_call_;
    bool at_end_ = false;
    std::uint64_t missing_records_ = 0;  ///< at least
    // The last answers.
    std::uint64_t now_ns_;
    std::int64_t unix_ns_;
    core::Losses losses_;
    std::map<int, core::FaultCounts> faults_;
    view::OwnCost cost_;
};

}  // namespace rsslag::cli
