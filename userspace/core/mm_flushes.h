// SPDX-License-Identifier: BSD-2-Clause
// The `thread` scheme: which updates of an mm are flushes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "counter_history.h"
#include "mm_tasks.h"
#include "peaks.h"
#include "update_limits.h"

namespace rsslag::core {

/// Decides which updates of an mm flush a task's cache, as far as their records show it, and again when their amounts
/// are known.
///
/// For each update that is not settled, it stores how the update was counted and applied, so that a flush is counted
/// once, however it is settled. In an Account it changes only two kinds of fields: those about flushes, and those about
/// the part of the cache that the records have shown. The caller sets what the task caches now.
class MmFlushes {
  public:
    explicit MmFlushes(FolioOrders anon_orders) : anon_orders_(anon_orders) {}

    struct Started {
        std::optional<FlushReason> sure;  ///< of an update that is certainly a flush
        bool empties = false;             ///< the task most likely caches nothing of this member now
        Pages from_faults;                ///< Applied::from_faults
        /// What the task's cache grew by since its last record, and what the update moved the counter by, less what it
        /// took out of the cache.
        WideStep step;
    };
    /// Adds an update of the task under this ticket, and sets the possible moves of its event. `before`: the count up
    /// to then. `direct`: it certainly bypasses the cache.
    Started start(const rsslag_update &update, std::uint64_t ticket, std::int64_t before, bool direct, Account &account,
                  CounterEvent &event);

    struct Settled {
        FlushReason reason = FlushReason::Direct;
        Amount left;                         ///< PeakAmount::left
        std::optional<std::int64_t> cached;  ///< what the task caches, if this was not known
    };
    /// Ends an update whose amount is known. nullopt: there is no such update. `torn_down`: the mm is torn down.
    std::optional<Settled> settle(const CounterHistory::Update &update, std::size_t member, bool torn_down,
                                  Account &account);
    /// Forgets all updates that are not settled.
    void drop_open() { open_.clear(); }

    /// By FlushReason.
    const std::array<std::uint64_t, kFlushReasons> &counts() const { return counts_; }

  private:
    struct Open {
        rsslag_update update;
        bool direct = false;       ///< it certainly bypasses the task's cache
        bool cache_known = false;  ///< `update.cached` is newer than the known contents of the task's cache
        bool zeroed = false;       ///< it was applied as a flush, so the task's cache was set to 0
        bool counted = false;      ///< it was counted as the first record of a flush

        bool sure() const { return !direct && surely_flush(update); }
        bool possible() const { return !direct && maybe_flush(update); }
    };

    WideStep step_of(Open &open, std::uint64_t ticket, const CounterEvent &event, Account &account) const;
    Amount left_by(const Open &open, const Amount &moved) const;
    bool count_flush(const rsslag_update &update, Account &account);
    std::uint64_t &count(FlushReason reason) { return counts_[static_cast<std::size_t>(reason)]; }

    FolioOrders anon_orders_;
    std::unordered_map<std::uint64_t, Open> open_;  ///< by ticket
    std::array<std::uint64_t, kFlushReasons> counts_{};
};

}  // namespace rsslag::core
