// SPDX-License-Identifier: BSD-2-Clause
// Reads all processes and sums them up by group, for serve and top --format prometheus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/exposition.h"
#include "metrics/group_names.h"
#include "system/all_processes.h"
#include "system/proc_reader.h"

namespace rsslag::session {

/// Default number of groups with their own series; each group adds at most 13 lines to every scrape.
constexpr std::size_t kMostGroups = 100;

struct MetricsOptions {
    metrics::By by = metrics::By::Comm;
    std::size_t most = kMostGroups;
    std::string version;                      ///< of rsslag
    std::vector<cap_value_t> capabilities{};  ///< kept in addition to those that readings and names of groups need
    bool or_proc = false;                     ///< read /proc alone if BPF cannot be used
};

class MetricsReader {
  public:
    /// Drops all capabilities that are not needed.
    static core::Result<MetricsReader> open(MetricsOptions options);

    core::Result<metrics::Exposition> read();
    /// What is missing without BPF, and why; empty with BPF.
    std::string note() const;
    /// Exact resident memory of rsslag itself at the last reading by BPF.
    std::int64_t own_resident_bytes() const { return own_resident_bytes_; }

  private:
    MetricsReader(MetricsOptions options) : options_(std::move(options)), names_(options_.by) {}
    core::Status read_all(metrics::Exposition &exposition);
    core::Status read_proc(metrics::Exposition &exposition);

    MetricsOptions options_;
    metrics::GroupNames names_;
    std::optional<system::AllProcesses> all_;  ///< or proc_
    std::optional<system::ProcReader> proc_;
    std::int64_t own_resident_bytes_ = 0;
};

}  // namespace rsslag::session
