// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "core/units.h"

namespace rsslag::core {

/// The cost of rsslag itself, over a period.
struct OwnCost {
    double cpu_percent = 0;                  ///< of one core
    std::optional<double> bpf_ns_per_event;  ///< run time of the BPF programs per record; nullopt: not measured
    Kilobytes rss;                           ///< at the end of the period
    std::optional<Kilobytes> buffers{};      ///< of the kernel, for records; nullopt: an old recording, or no trace
};

}  // namespace rsslag::core
