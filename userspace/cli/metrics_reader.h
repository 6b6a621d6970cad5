// SPDX-License-Identifier: BSD-2-Clause
// All processes, read and grouped for a scraper: for serve, and top --format prometheus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rsslag/host/snapshotter.h"
#include "rsslag/metrics/exposition.h"
#include "rsslag/metrics/group_names.h"

namespace rsslag::cli {

/// Groups with series of their own, where nobody says how many: each is some eleven lines of every scrape.
constexpr std::size_t kMostGroups = 100;

class MetricsReader {
  public:
    /// Drops all capabilities that neither readings nor the names of groups need, but those that the caller does.
    static core::Result<MetricsReader> open(metrics::By by, std::size_t most,
                                            std::vector<cap_value_t> capabilities = {});

    core::Result<metrics::Exposition> read();
    /// Exact resident memory of rsslag itself at the last reading.
    std::int64_t own_resident_bytes() const { return own_resident_bytes_; }

  private:
    MetricsReader(host::Snapshotter snapshotter, metrics::By by, std::size_t most);

    host::Snapshotter snapshotter_;
    metrics::GroupNames names_;
    metrics::By by_;
    std::size_t most_;
    std::int64_t own_resident_bytes_ = 0;
};

}  // namespace rsslag::cli
