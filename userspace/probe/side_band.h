// SPDX-License-Identifier: BSD-2-Clause
// Changes of mappings as perf side-band events: PERF_RECORD_MMAP2 of all processes, as perf record reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/mapping.h"
#include "core/result.h"

namespace rsslag::probe {

/// One perf event for each online CPU. Only one thread may call drain().
class SideBand {
  public:
    /// Needs CAP_PERFMON. Kind::Denied on EACCES and EPERM, else Kind::Unsupported.
    static core::Result<SideBand> open(int cpus_possible);
    ~SideBand();
    SideBand(SideBand &&) noexcept;
    SideBand &operator=(SideBand &&) noexcept;

    /// Appends the raw perf records written since the last call, whole records, CPU by CPU.
    void drain(std::vector<std::byte> &out);
    /// Disables the events. Records written before can still be drained.
    void stop();

  private:
    struct State;
    explicit SideBand(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Decodes drained records, in their order: not sorted by time across CPUs. Skips records of other types and stops at a
/// truncated record. Pure.
std::vector<core::MappingChange> mapping_changes(std::span<const std::byte> records);

}  // namespace rsslag::probe
