// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rsslag/abi.h"
#include "rsslag/core/reading.h"
#include "rsslag/core/units.h"

namespace rsslag::core {

/// `cpu` scheme: how many pages each update brought that left nothing cached, update by update. The ledger knows it a
/// little later, too, but tells sums only. Records come in the order of their time; mms are told apart by numbers that
/// the caller gives them.
class FoldAmounts {
  public:
    /// What an update with this ticket came to.
    struct Settled {
        std::uint64_t ticket = 0;
        std::optional<Pages> pages;  ///< nullopt: it cannot be told from another CPU's fold at the same time
        bool folded = false;         ///< false: it cancelled what the CPU had cached and moved nothing
    };

    FoldAmounts(int cpus, std::int64_t batch);
    ~FoldAmounts();
    FoldAmounts(const FoldAmounts &) = delete;
    FoldAmounts &operator=(const FoldAmounts &) = delete;

    /// All counters of this mm are 0: it is being made.
    void born(std::uint64_t mm);
    /// What no record has told since `begin_ns`, a reading has.
    void read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns);
    /// A ticket where the amount will be told; nullopt where the record tells it itself, or nobody can.
    std::optional<std::uint64_t> apply(std::uint64_t mm, const rsslag_update &update, std::vector<Settled> &out);
    void apply(std::uint64_t mm, const rsslag_sum &sum, std::vector<Settled> &out);
    /// No record before `t_ns` will come.
    void advance(std::uint64_t t_ns, std::vector<Settled> &out);
    /// This mm has come to its end.
    void drop(std::uint64_t mm, std::vector<Settled> &out);
    /// Records were lost, or there are no more: nothing that is open can be told, and what was known is not.
    void forget(std::vector<Settled> &out);
    /// Whether there are tickets that nothing was told of.
    bool open() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::core
