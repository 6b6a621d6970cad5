// SPDX-License-Identifier: BSD-2-Clause
// `cpu` scheme: whose update made a CPU fold, and by how many pages?
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "fold_search.h"

namespace rsslag::core {

/// Stands for all tasks that have ended; no task has this number.
inline constexpr int kEndedTid = 0;

/// A CPU's local value is 0 after an update, so that it does not tell the amount: the update folded it into the mm's
/// count, or happened to cancel it. The mm's count tells, unless another CPU folds at about the same time.
///
/// A record's count holds every fold of an earlier record, and maybe one that another CPU has made but not yet told of:
/// that one lies between the last record of that CPU and its next one, is another task's, and is told soon after. So
/// once each other CPU's next record is known not to be a fold, the count at a fold is exactly the sum of all folds so
/// far; then it is settled.
class FoldSolver {
  public:
    /// A record whose local value is 0.
    struct Fold {
        std::uint64_t t_ns = 0;
        int cpu = 0;
        int tid = 0;
        std::int64_t before = 0;  ///< the CPU's local value before it
        std::int64_t count = 0;   ///< the mm's, read after it
        FoldCause cause = FoldCause::Other;
    };

    /// What a fold came to. uncertain: how far the truth may be from `pages` at most; 0 is exact.
    struct Solved {
        std::uint64_t t_ns = 0;
        int cpu = 0;
        int tid = 0;
        std::int64_t pages = 0;
        std::int64_t uncertain = 0;
        bool folded = false;  ///< false: it cancelled the local value and moved nothing
    };

    /// A fold is told within this time of happening, were the CPU taken away in between (a virtual machine's may be).
    static constexpr std::uint64_t kLateNs = 1'000'000;
    /// A record's count is read within this time of the record's own.
    static constexpr std::uint64_t kReadNs = 200;
    /// That it was so late *and* left the counts as if it had not been is taken for certain only within this time of
    /// another fold: beyond it, an update that just cancelled what its CPU had cached is far more likely.
    static constexpr std::uint64_t kOverlapNs = 2'000;

    FoldSolver(int cpus, std::int64_t batch) : batch_(batch), confirmed_(static_cast<std::size_t>(cpus), 0) {}

    /// Starts over from this count.
    void reset(std::int64_t count);

    /// Any record of the mm that is not a fold of this counter.
    void other(int cpu, std::uint64_t t_ns, std::vector<Solved> &out) {
        if (!open_.empty() && t_ns >= open_.back().t_ns) confirm(cpu, t_ns, out);
    }
    void fold(const Fold &fold, std::vector<Solved> &out);
    /// No record before `t_ns` will come.
    void advance(std::uint64_t t_ns, std::vector<Solved> &out);

    /// Folds that are open for a task are another's from now on: it has ended, or changed its number.
    void retag(int from, int to);

    bool open() const { return !open_.empty(); }

  private:
    struct Open : Fold {
        bool joined = false;     ///< cannot be settled alone: another CPU's fold may be in its count
        bool late = false;       ///< told after others that came later: their counts may hold it
        std::uint64_t from = 0;  ///< number of the first fold whose count may hold this one, too
    };

    std::uint64_t read_before(std::uint64_t t_ns) const;
    void confirm(int cpu, std::uint64_t t_ns, std::vector<Solved> &out);
    void settle(std::uint64_t now, std::vector<Solved> &out);
    bool clean(std::size_t index, std::uint64_t now);
    std::uint64_t may_be_held_from(const Fold &fold) const;
    void solve(std::size_t last, std::vector<Solved> &out);
    bool open_together(std::size_t index) const;
    std::int64_t count_before(std::size_t index) const { return index == 0 ? settled_ : open_[index - 1].count; }
    void solve_together(std::size_t first, std::size_t last, std::vector<Solved> &out) const;
    std::vector<FoldAmount> amounts_of(std::size_t first, std::size_t last, std::int64_t sum) const;
    std::vector<FoldAmount> search(std::size_t first, std::size_t last) const;
    bool in_doubt_of_one_task(std::size_t first, const std::vector<FoldAmount> &amounts) const;
    static void tell(const Fold &fold, std::int64_t pages, std::int64_t uncertain, std::vector<Solved> &out);

    std::int64_t batch_;
    std::vector<std::uint64_t> confirmed_;  ///< by CPU: folds below this number are not followed by a fold of it
    std::size_t awaited_ = 0;               ///< the CPU that was missing when last asked
    std::int64_t settled_ = 0;
    std::uint64_t settled_ns_ = 0;  ///< time of the last fold that was settled
    std::uint64_t first_ = 0;       ///< number of the oldest open fold
    std::deque<Open> open_;
};

}  // namespace rsslag::core
