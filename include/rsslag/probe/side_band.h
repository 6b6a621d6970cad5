// SPDX-License-Identifier: BSD-2-Clause
// What the kernel tells of mappings beside the stream: PERF_RECORD_MMAP2 of all processes, as perf record has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rsslag/core/mapping.h"
#include "rsslag/core/result.h"

namespace rsslag::probe {

/// One event for each CPU. drain() may be called by one thread.
class SideBand {
  public:
    /// Needs CAP_PERFMON. Kind::Denied, Kind::Unsupported.
    static core::Result<SideBand> open(int cpus_possible);
    ~SideBand();
    SideBand(SideBand &&) noexcept;
    SideBand &operator=(SideBand &&) noexcept;

    /// Appends all that has been told since the last call, whole records, CPU by CPU.
    void drain(std::vector<std::byte> &out);
    /// Nothing is told any more; what has been can still be drained.
    void stop();

  private:
    struct State;
    explicit SideBand(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// What drained records say of mappings, in no order of time across CPUs. What is no such record is passed over; one
/// that is cut short ends it. Pure.
std::vector<core::MappingChange> mapping_changes(std::span<const std::byte> records);

}  // namespace rsslag::probe
