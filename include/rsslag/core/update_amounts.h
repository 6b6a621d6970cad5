// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rsslag/abi.h"
#include "rsslag/core/ledger.h"
#include "rsslag/core/reading.h"
#include "rsslag/core/units.h"

namespace rsslag::core {

/// How many pages each update brought, update by update, where its record alone does not tell. The ledger knows it,
/// too, but tells sums only. Records come in the order of their time; mms are told apart by numbers that the caller
/// gives them.
class UpdateAmounts {
  public:
    /// What an update with this ticket came to.
    struct Settled {
        std::uint64_t ticket = 0;
        std::optional<Pages> pages;         ///< nullopt: it cannot be told
        std::optional<FlushReason> reason;  ///< nullopt: it moved nothing into the mm's counter
    };

    UpdateAmounts() = default;
    virtual ~UpdateAmounts() = default;
    UpdateAmounts(const UpdateAmounts &) = delete;
    UpdateAmounts &operator=(const UpdateAmounts &) = delete;

    /// All counters of this mm are 0: it is being made.
    virtual void born(std::uint64_t mm) = 0;
    /// What no record has told since `begin_ns`, a reading has.
    virtual void read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns) = 0;
    /// A ticket where the amount will be told; nullopt where the record tells it itself, or nobody can. `applied` is
    /// what the ledger said of it.
    virtual std::optional<std::uint64_t> apply(std::uint64_t mm, const rsslag_update &update, const Applied &applied,
                                               std::vector<Settled> &out) = 0;
    virtual void apply(std::uint64_t mm, const rsslag_sum &sum, std::vector<Settled> &out) = 0;
    /// No record before `t_ns` will come.
    virtual void advance(std::uint64_t t_ns, std::vector<Settled> &out) = 0;
    /// This mm has come to its end.
    virtual void drop(std::uint64_t mm, std::vector<Settled> &out) = 0;
    /// Records were lost, or there are no more: nothing that is open can be told, and what was known is not.
    virtual void forget(std::vector<Settled> &out) = 0;
    /// Whether there are tickets that nothing was told of.
    virtual bool open() const = 0;
};

/// `cpu` scheme: an update that left nothing cached does not tell how much went into the counter with it. Where another
/// CPU folded at the same time it may stay open.
std::unique_ptr<UpdateAmounts> fold_amounts(int cpus, std::int64_t batch);

/// `thread` scheme: each record tells what the mm's counter was after it, so that the difference to the one before is
/// its amount; records of two CPUs may be a little out of order.
std::unique_ptr<UpdateAmounts> flush_amounts();

}  // namespace rsslag::core
