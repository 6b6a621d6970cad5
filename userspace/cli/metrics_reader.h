// SPDX-License-Identifier: BSD-2-Clause
// Reads all processes and sums them up by group, for serve and top --format prometheus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "metrics/exposition.h"
#include "metrics/group_names.h"
#include "system/all_processes.h"

namespace rsslag::cli {

/// Default number of groups with their own series; each group adds about eleven lines to every scrape.
constexpr std::size_t kMostGroups = 100;

class MetricsReader {
  public:
    /// Drops all capabilities except `capabilities` and those that readings and the names of groups need.
    static core::Result<MetricsReader> open(metrics::By by, std::size_t most,
                                            std::vector<cap_value_t> capabilities = {});

    core::Result<metrics::Exposition> read();
    /// Exact resident memory of rsslag itself at the last reading.
    std::int64_t own_resident_bytes() const { return own_resident_bytes_; }

  private:
    MetricsReader(system::AllProcesses all, metrics::By by, std::size_t most);

    system::AllProcesses all_;
    metrics::GroupNames names_;
    metrics::By by_;
    std::size_t most_;
    std::int64_t own_resident_bytes_ = 0;
};

}  // namespace rsslag::cli
