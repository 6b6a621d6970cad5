// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "rsslag/core/tick.h"

namespace rsslag::host {

/// What rsslag itself costs, from one call to the next.
class OwnCostMeter {
  public:
    /// The first call's CPU time is held against `first_ns` at least: a tick that comes right after the attach would
    /// else tell of nothing but the attaching, which is all that its few milliseconds were spent on.
    explicit OwnCostMeter(std::uint64_t first_ns = 0);

    /// `bpf_ns` and `bpf_runs` are totals of the programs; both stay where kernel.bpf_stats_enabled is off.
    core::OwnCost since_last(std::uint64_t bpf_ns, std::uint64_t events);

  private:
    std::uint64_t wall_ns_, cpu_ns_;
    std::uint64_t least_ns_;  ///< of the next call
    std::uint64_t bpf_ns_ = 0, events_ = 0;
};

std::uint64_t monotonic_ns();

}  // namespace rsslag::host
