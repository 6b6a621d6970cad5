// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/event.h"
#include "core/ledger.h"
#include "core/losses.h"
#include "core/mapping.h"
#include "core/raw_reading.h"
#include "core/tick.h"
#include "rsslag/abi.h"

namespace rsslag::analysis {

/// Receives the ticks and details of a live trace or a replay, in the order of the events. Derived classes override the
/// functions that they need. Parameters t_ns are relative to Facts::start; times in records and readings are
/// CLOCK_MONOTONIC.
class TraceObserver {
  public:
    TraceObserver() = default;
    TraceObserver(const TraceObserver &) = default;
    TraceObserver &operator=(const TraceObserver &) = default;
    virtual ~TraceObserver() = default;

    /// Whether any function but on_tick() should be called. The others cost time for each record.
    virtual bool needs_records() const { return true; }
    /// Whether on_update() should be called, which costs more than on_applied().
    virtual bool needs_updates() const { return false; }
    /// Each update of a traced process, with names, after its amount is settled.
    virtual void on_update(const core::EventLine & /*line*/) {}
    /// Every update when it is applied, including those of unknown mms, for which Applied::known is false.
    virtual void on_applied(const rsslag_update & /*update*/, const core::Applied & /*applied*/) {}
    /// Amounts that were still open in on_applied().
    virtual void on_settled(std::span<const core::SettledUpdate> /*amounts*/) {}
    /// A process that existed before, as it is when its tracing starts.
    virtual void on_adopted(const core::GroupView & /*group*/) {}
    virtual void on_task(const core::TaskLine & /*line*/) {}
    /// A thread has its leader's TID from the next record on; its EXEC record comes later.
    virtual void on_renumbered(const core::Renumbered & /*thread*/) {}
    /// `came`: by how much the task's cache has grown since its last record.
    virtual void on_fault(const rsslag_fault & /*fault*/, const core::Members & /*came*/,
                          const std::optional<core::Held> & /*held*/) {}
    virtual void on_sum(const rsslag_sum & /*sum*/, const std::optional<core::Held> & /*held*/) {}
    /// Each reading of a traced process, before it is compared with the ledger.
    virtual void on_reading(const core::RawReading & /*reading*/) {}
    /// Each change of a mapping, in the order of time with the records.
    virtual void on_mapping(const core::MappingChange & /*change*/) {}
    virtual void on_listing(const core::MappingListing & /*listing*/) {}
    /// Samples of updates, before their on_applied(). Their stacks come later.
    virtual void on_samples(const event::Samples & /*samples*/) {}
    virtual void on_stacks(const event::Stacks & /*stacks*/) {}
    /// Which of the sampled pages are not resident.
    virtual void on_absent_pages(const event::AbsentPages & /*absent*/) {}
    /// Called when the counts of losses have grown, in the kernel or in the recording (cause "recording").
    virtual void on_loss(std::uint64_t /*t_ns*/, const core::Losses & /*losses*/) {}
    /// A process at one tick, or its last one, after all records of the same event.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): overriders move it
    virtual void on_tick(core::Tick /*tick*/) {}
};

}  // namespace rsslag::analysis
