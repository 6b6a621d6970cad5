// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rsslag/abi.h"
#include "rsslag/core/ledger.h"
#include "rsslag/core/losses.h"
#include "rsslag/core/mapping.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/tick.h"

namespace rsslag::trace {

/// Called in the order of the events, by a live trace and a replay alike; whoever derives from it takes what it looks
/// at. Times named t_ns are since Facts::start, those within records and readings are CLOCK_MONOTONIC.
class TraceObserver {
  public:
    TraceObserver() = default;
    TraceObserver(const TraceObserver &) = default;
    TraceObserver &operator=(const TraceObserver &) = default;
    virtual ~TraceObserver() = default;

    /// Whether on_update() is to be called, which costs more than on_applied().
    virtual bool needs_updates() const { return false; }
    /// Each update of a traced process, with its names, once its amount is settled.
    virtual void on_update(const core::EventLine & /*line*/) {}
    /// Every update as it came, also of mms that are not known (then Applied::known is false).
    virtual void on_applied(const rsslag_update & /*update*/, const core::Applied & /*applied*/) {}
    /// Amounts that were open when on_applied() was called with their updates.
    virtual void on_settled(std::span<const core::SettledUpdate> /*amounts*/) {}
    /// A process that was there already, as it is from now on.
    virtual void on_adopted(const core::GroupView & /*group*/) {}
    virtual void on_task(const core::TaskLine & /*line*/) {}
    /// `came`: what its task caches more than was known.
    virtual void on_fault(const rsslag_fault & /*fault*/, const core::Members & /*came*/,
                          const std::optional<core::Held> & /*held*/) {}
    virtual void on_sum(const rsslag_sum & /*sum*/, const std::optional<core::Held> & /*held*/) {}
    /// Each reading of a traced process, before it is compared with the ledger.
    virtual void on_reading(const core::RawReading & /*reading*/) {}
    /// In the order of time, before what is told of later.
    virtual void on_mapping(const core::MappingChange & /*change*/) {}
    virtual void on_listing(const core::MappingListing & /*listing*/) {}
    /// More was lost than before, in the kernel or in the recording ("recording").
    virtual void on_loss(std::uint64_t /*t_ns*/, const core::Losses & /*losses*/) {}
    /// A process at one tick, or its last.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): who keeps it moves it
    virtual void on_tick(core::Tick /*tick*/) {}
};

}  // namespace rsslag::trace
