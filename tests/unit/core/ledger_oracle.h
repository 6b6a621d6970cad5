// SPDX-License-Identifier: BSD-2-Clause
// Feeds a ledger with the model's records and compares it with the model's true values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger.h"
#include "model_kernel.h"

namespace rsslag::core::test {

/// More than the longest time from an update of the model to its record.
inline constexpr std::uint64_t kOnItsWayNs = 50'000;

class Oracle {
  public:
    explicit Oracle(ModelKernel &kernel);

    /// Adopts all traced mms of the model, as an attach to quiescent processes does.
    void adopt_all();
    /// Applies the records that no later record can precede, and advances the ledger to their end.
    void feed();
    /// The model has settled: applies everything.
    void feed_all();
    /// From now on one record in this many is lost, and the ledger is informed of each loss; 0: none.
    void lose_one_in(std::int64_t records) { lose_one_in_ = records; }

    /// Watches, lets time pass, reads the mm, lets more time pass, compares. nullopt: the mm has ended.
    std::optional<Check> compare(ModelMm &mm, const Planner &planner = nullptr);

    /// Holds at any time: exact = baseline + Σ tasks + exited + others, and everything cached belongs to a task or a
    /// CPU.
    void expect_sums();
    /// The model has settled and everything was fed: every number equals the model's.
    void expect_truth();
    /// After the last teardown: every mm ended at zero, and the ledger has counted all ends.
    void expect_ends();

    Ledger &ledger() { return ledger_; }
    const std::vector<Ended> &ended() const { return ended_; }
    /// Ended tasks as the ledger reported them, and the number that could be compared with the model: those whose mm
    /// still lives.
    const std::vector<EndedTask> &ended_tasks() const { return ended_tasks_; }
    std::uint64_t ended_checked() const { return ended_checked_; }
    std::uint64_t updates() const { return updates_; }
    std::uint64_t lost() const { return lost_; }
    /// Number of updates with a wrong amount or reason from apply(), and the first of them.
    std::uint64_t misreported() const { return misreported_; }
    const std::string &first_misreported() const { return first_misreported_; }
    /// Σ uncertain over all living tasks of all mms.
    std::int64_t uncertain() const;

  private:
    void apply(const std::vector<Emitted> &records);
    void apply_update(const Emitted &emitted);
    void note_reported(const Emitted &emitted, const Applied &applied);
    void expect_extremes(const ModelMm &mm, const MmView &view);
    void expect_tasks(const ModelMm &mm, const MmView &view);
    void expect_others(const ModelMm &mm, const MmView &view);
    void expect_groups();
    void collect_ended();
    void expect_ended_tasks();
    void note_serials();

    ModelKernel &kernel_;
    Ledger ledger_;
    Dice dice_{99};
    struct Known {
        std::uint64_t serial = 0;
        std::uint64_t mm = 0;
    };

    std::vector<Ended> ended_;
    std::vector<EndedTask> ended_tasks_;
    std::map<int, Known> known_;  ///< by TID: tasks that have had no other TID
    std::uint64_t ended_checked_ = 0;
    std::int64_t lose_one_in_ = 0;
    std::uint64_t updates_ = 0, lost_ = 0, misreported_ = 0;
    std::string first_misreported_;
};

Ledger::Options ledger_options(const ModelOptions &options);
/// baseline + Σ tasks + exited + others + remainder.
Members sum_of(const MmView &view);

}  // namespace rsslag::core::test
