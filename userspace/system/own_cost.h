// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/tick.h"

namespace rsslag::system {

/// Measures the cost of rsslag itself between two calls of since_last().
class OwnCostMeter {
  public:
    /// `first_ns`: the first call of since_last() divides CPU time by at least this much wall time. A tick a few
    /// milliseconds after the attach would otherwise show only the cost of the attach.
    /// `helper`: a child process that counts, too; 0: none.
    explicit OwnCostMeter(std::uint64_t first_ns = 0, pid_t helper = 0);

    /// `bpf_ns` and `events` are totals since the attach. `bpf_ns`: run time of the BPF programs, which the kernel
    /// counts only while kernel.bpf_stats_enabled is set. `events`: records sent.
    core::OwnCost since_last(std::uint64_t bpf_ns, std::uint64_t events);

  private:
    std::uint64_t cpu_ns() const;

    pid_t helper_;
    std::uint64_t wall_ns_, cpu_ns_;
    std::uint64_t least_ns_;  ///< least wall time for the next call
    std::uint64_t bpf_ns_ = 0, events_ = 0;
};

/// CLOCK_MONOTONIC now, of the machine, also in a time namespace: it is that of the kernel's records.
std::uint64_t monotonic_ns();
/// CPU time of this process since its start.
double cpu_seconds();

}  // namespace rsslag::system
