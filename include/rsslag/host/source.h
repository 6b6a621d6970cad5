// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rsslag/core/losses.h"
#include "rsslag/core/mapping.h"
#include "rsslag/core/own_cost.h"
#include "rsslag/core/process_reading.h"
#include "rsslag/core/raw_reading.h"
#include "rsslag/core/result.h"
#include "rsslag/probe/stream.h"

namespace rsslag::host {

/// A kernel, as a live trace asks it: it alone makes events of the answers.
class Source {
  public:
    Source() = default;
    virtual ~Source() = default;
    Source(const Source &) = delete;
    Source &operator=(const Source &) = delete;

    /// Machine, kernel and calibration.
    virtual const core::SnapshotDocument &facts() const = 0;
    virtual const std::vector<std::string> &missing() const = 0;
    /// What mm_id() mixes addresses with.
    virtual std::uint64_t id_key() const = 0;

    /// CLOCK_MONOTONIC.
    virtual std::uint64_t now_ns() = 0;
    virtual void wait_until(std::uint64_t t_ns) = 0;
    virtual std::chrono::system_clock::time_point time() = 0;

    /// From now on this group (the kernel's number) and, where it is not 0, this mm are told of.
    virtual core::Status trace(int host_tgid, std::uint64_t mm) = 0;
    virtual core::Status trace_matching(const probe::Pattern &pattern) = 0;
    virtual void detach() = 0;

    /// Records of one ring that have come since the last call, as the programs wrote them.
    using Records = std::function<void(std::size_t ring, std::span<const std::byte> bytes)>;
    virtual void collect(const Records &use) = 0;
    virtual core::Losses losses() = 0;
    /// CPUs that have gone offline so far, each of which folded what it cached with no record of it (`cpu` scheme).
    virtual std::uint64_t folded_cpus() = 0;
    /// Faults of tasks that live, one a task in that order.
    virtual std::vector<core::FaultCounts> faults(std::span<const int> host_tids) = 0;

    virtual std::optional<core::EndFigures> end_of(int host_tgid) = 0;

    virtual core::Result<core::TimedCounters> read_counters(pid_t pid) = 0;
    /// A reading of a process that is known by its group; whoever has its PID later is another one.
    virtual core::Result<core::RawReading> read(int host_tgid, pid_t pid, bool walk) = 0;
    virtual void forget(int host_tgid) = 0;

    /// Changes of mappings that the kernel has told of since the last call, of all processes of the machine; in no
    /// order. A source that has none tells none.
    virtual std::vector<core::MappingChange> mapping_changes() { return {}; }
    /// `walk`: with what each holds, which walks the page tables.
    virtual core::Result<core::MappingListing> list_mappings(int /*host_tgid*/, pid_t /*pid*/, bool /*walk*/) {
        return core::Error{core::Kind::Unsupported, "this source has no mappings", 0, ""};
    }

    /// rsslag's own cost since the last call, and since the begin; `sent` as the losses told.
    virtual core::OwnCost cost(std::uint64_t sent) = 0;
    virtual core::OwnCost whole_cost(std::uint64_t sent) = 0;
};

}  // namespace rsslag::host
