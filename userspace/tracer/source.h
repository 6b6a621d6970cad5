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

#include "core/losses.h"
#include "core/mapping.h"
#include "core/own_cost.h"
#include "core/process_reading.h"
#include "core/raw_reading.h"
#include "core/result.h"
#include "probe/stream.h"

namespace rsslag::tracer {

/// The interface through which the Tracer uses the kernel; tests replace it. It returns raw data, of which the Tracer
/// makes events.
class Source {
  public:
    Source() = default;
    virtual ~Source() = default;
    Source(const Source &) = delete;
    Source &operator=(const Source &) = delete;

    /// Machine, kernel and calibration; no processes.
    virtual const core::SnapshotDocument &facts() const = 0;
    /// Hooks that are not used, each with the reason.
    virtual const std::vector<std::string> &missing() const = 0;
    /// The key of mm_id().
    virtual core::IdKey id_key() const = 0;

    /// CLOCK_MONOTONIC.
    virtual std::uint64_t now_ns() = 0;
    virtual void wait_until(std::uint64_t t_ns) = 0;
    virtual std::chrono::system_clock::time_point time() = 0;

    /// trace(), untrace(), traced(), trace_matching() and detach() are those of probe::StreamProbe.
    virtual core::Status trace(int host_tgid, std::uint64_t mm) = 0;
    virtual core::Status untrace(int host_tgid, std::uint64_t mm) = 0;
    virtual bool traced(int host_tgid) const = 0;
    /// As probe::StreamProbe::forget_mm().
    virtual void forget_mm(std::uint64_t /*mm*/, std::uint64_t /*before_ns*/) {}
    virtual core::Status trace_matching(const probe::Pattern &pattern) = 0;
    virtual void detach() = 0;

    /// Calls `use` for each ring that has records since the last call, with the bytes that the programs wrote.
    using Records = std::function<void(std::size_t ring, std::span<const std::byte> bytes)>;
    virtual void collect(const Records &use) = 0;
    virtual core::Losses losses() = 0;
    /// The samples since the last call, each a struct rsslag_sample and its stack.
    virtual std::vector<std::vector<std::byte>> samples() { return {}; }
    /// As probe::StreamProbe::copy_more().
    virtual void copy_more(int /*host_tid*/, std::size_t /*copied*/) {}
    /// As probe::StreamProbe::copy_less().
    virtual void copy_less() {}
    /// Samples that were lost.
    virtual std::uint64_t lost_samples() { return 0; }
    /// The number of times that a CPU has gone offline (`cpu` scheme), whose cache the kernel folded without a record.
    virtual std::uint64_t folded_cpus() = 0;
    /// Faults of these tasks since the attach, in the order of `host_tids`.
    virtual std::vector<core::FaultCounts> faults(std::span<const int> host_tids) = 0;

    /// Peaks of a process that has ended; see probe::StreamProbe::end_of().
    virtual std::optional<core::EndFigures> end_of(int host_tgid) = 0;

    virtual core::Result<core::TimedCounters> read_counters(pid_t pid) = 0;
    /// Reads the process that was first read under `host_tgid`. Kind::Gone if that process has ended, even if its PID
    /// is in use again.
    virtual core::Result<core::RawReading> read(int host_tgid, pid_t pid, bool walk) = 0;
    /// To be called when the process has ended. Another one may use `host_tgid` from now on.
    virtual void forget(int host_tgid) = 0;

    /// Changes of mappings since the last call, of all processes of the machine, unsorted. Empty if the source does not
    /// report any.
    virtual std::vector<core::MappingChange> mapping_changes() { return {}; }
    /// `walk`: with the Rss of each, for which the kernel walks the page tables.
    virtual core::Result<core::MappingListing> list_mappings(int /*host_tgid*/, pid_t /*pid*/, bool /*walk*/) {
        return core::Error{core::Kind::Unsupported, "this source has no mappings", 0, ""};
    }

    /// As procfs::absent_pages(), for the process that was first read under `host_tgid`.
    virtual core::Result<std::vector<std::uint64_t>> absent_pages(int /*host_tgid*/, pid_t /*pid*/,
                                                                  const std::vector<std::uint64_t> & /*addresses*/) {
        return core::Error{core::Kind::Unsupported, "this source has no pages", 0, ""};
    }

    /// rsslag's own cost since the last call. `sent`: core::Losses::sent.
    virtual core::OwnCost cost(std::uint64_t sent) = 0;
    /// rsslag's own cost since the start.
    virtual core::OwnCost whole_cost(std::uint64_t sent) = 0;
};

}  // namespace rsslag::tracer
