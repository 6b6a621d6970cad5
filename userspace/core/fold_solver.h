// SPDX-License-Identifier: BSD-2-Clause
// `cpu` scheme: whose update made a CPU fold, and by how many pages?
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace rsslag::core {

/// A CPU's local value is 0 after an update, so that it does not tell the amount: the update folded it into the mm's
/// count, or happened to cancel it. The mm's count tells, unless another CPU folds at about the same time.
///
/// A record's count holds every fold of an earlier record, and maybe one that another CPU has made but not yet told of:
/// that one lies between the last record of that CPU and its next one. So once each other CPU's next record is known
/// not to be a fold, the count at a fold is exactly the sum of all folds so far; then it is settled.
class FoldSolver {
  public:
    /// A record whose local value is 0.
    struct Fold {
        std::uint64_t t_ns = 0;
        int cpu = 0;
        int tid = 0;
        std::int64_t before = 0;                              ///< the CPU's local value before it
        std::int64_t count = 0;                               ///< the mm's, read after it
        std::int64_t least = -kMostPages, most = kMostPages;  ///< what the amount may be
        /// What the amount is if its fault mapped a single page; 0: not known. Taken only where all else fits.
        std::int64_t presumed = 0;
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

    /// An amount that is not known yet, and what it may be.
    struct Amount {
        std::int64_t least, most;
        std::int64_t pages = 0;
        std::int64_t uncertain = 0;
    };

    /// No single update changes a counter by more: zap and fork go by page table, the largest folio is a PMD.
    static constexpr std::int64_t kMostPages = 512;
    /// A fold is told within this time of happening, were the CPU taken away in between (a virtual machine's may be).
    static constexpr std::uint64_t kLateNs = 1'000'000;

    FoldSolver(int cpus, std::int64_t batch) : confirmed_(static_cast<std::size_t>(cpus), 0), batch_(batch) {}

    /// Starts over from this count.
    void reset(std::int64_t count);

    /// Any record of the mm that is not a fold of this counter.
    void other(int cpu, std::uint64_t t_ns, std::vector<Solved> &out) {
        if (!open_.empty()) confirm(cpu, t_ns, out);
    }
    void fold(const Fold &fold, std::vector<Solved> &out);
    /// No record before `t_ns` will come.
    void advance(std::uint64_t t_ns, std::vector<Solved> &out);

    /// Folds that are open for a task are another's from now on: it has ended, or changed its number.
    void retag(int from, int to);

    bool open() const { return !open_.empty(); }
    /// Who waits for an amount, in order.
    std::vector<int> open_tids() const;

  private:
    struct Open : Fold {
        bool joined = false;  ///< cannot be settled alone: another CPU's fold may be in its count
    };

    void confirm(int cpu, std::uint64_t t_ns, std::vector<Solved> &out);
    void settle(std::uint64_t now, std::vector<Solved> &out);
    bool clean(std::size_t index, std::uint64_t now) const;
    void solve(std::size_t last, std::vector<Solved> &out);
    void solve_together(std::size_t last, std::vector<Solved> &out);
    bool in_doubt_of_one_task(const std::vector<Amount> &amounts) const;
    static void tell(const Fold &fold, std::int64_t pages, std::int64_t uncertain, std::vector<Solved> &out);

    std::vector<std::uint64_t> confirmed_;  ///< by CPU: folds below this number are not followed by a fold of it
    std::int64_t batch_;
    std::int64_t settled_ = 0;
    std::uint64_t first_ = 0;  ///< number of the oldest open fold
    std::deque<Open> open_;
};

}  // namespace rsslag::core
