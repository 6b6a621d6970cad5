// SPDX-License-Identifier: BSD-2-Clause
// Traces processes by name in counts mode, for serve --trace.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "metrics/exposition.h"
#include "metrics/group_names.h"
#include "metrics/traced.h"
#include "system/targets.h"
#include "tracer/tracer.h"

namespace rsslag::cli {

class MetricsTracer {
  public:
    /// Traces processes whose name matches one of `comms`, now or after their next exec. Drops all capabilities that
    /// readings do not need. `stopped`: see tracer::Tracer::Options::stop_waiting.
    static core::Result<MetricsTracer> open(std::vector<std::string> comms, metrics::By by, std::size_t most,
                                            std::function<bool()> stopped);

    /// Processes the records since the last call. Once a second it also attaches to processes that match without an
    /// exec, i.e. after a fork or a rename. Call it often.
    void collect();
    /// Figures of all traced groups as of now, and losses.
    metrics::Exposition::Trace read();

  private:
    struct Groups : analysis::TraceObserver {
        Groups(metrics::By by, std::size_t most) : names(by), traced(most) {}
        bool needs_records() const override { return false; }
        void on_tick(core::Tick tick) override;

        metrics::GroupNames names;
        metrics::TracedGroups traced;
    };

    MetricsTracer(std::unique_ptr<Groups> groups, tracer::Tracer tracer, system::TargetArguments arguments)
        : groups_(std::move(groups)), tracer_(std::move(tracer)), arguments_(std::move(arguments)) {}
    void look_for_targets();

    std::unique_ptr<Groups> groups_;
    tracer::Tracer tracer_;
    system::TargetArguments arguments_;
    std::chrono::steady_clock::time_point look_due_;
};

}  // namespace rsslag::cli
