// SPDX-License-Identifier: BSD-2-Clause
// Commands where BPF cannot be used: what /proc alone tells, each line marked so.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/host/signals.h"
#include "rsslag/host/targets.h"
#include "rsslag/session/trace_options.h"
#include "rsslag/view/proc.h"

namespace rsslag::cli {

/// Whether `why` leaves /proc to these options: without records there is nothing to record, to list or to hold against
/// a claim.
bool can_sample(const session::TraceOptions &options, const core::Error &why);

/// `live`: the targets at each interval, until they have ended, the time is over or rsslag is told to stop.
int sample_targets(const std::vector<host::Target> &targets, const session::TraceOptions &options,
                   const view::TextStyle &style, host::StopSignals &stop, const core::Error &why);
/// Likewise of a command, with whose status it ends.
int sample_command(const std::vector<std::string> &argv, const session::TraceOptions &options,
                   const view::TextStyle &style, const core::Error &why);

struct ProcTopOptions {
    bool once = false;
    bool json = false;
    std::size_t rows = 0;  ///< 0: all
    view::TopSort sort = view::TopSort::Lag;
    std::chrono::milliseconds interval{1000};
};

/// `top`: tables one after another, or one.
int sample_all(const ProcTopOptions &options, const view::TextStyle &style, host::StopSignals &stop,
               const core::Error &why);

}  // namespace rsslag::cli
