// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "claim_options.h"
#include "commands.h"
#include "session/session.h"

namespace rsslag::cli {

/// Traces running processes; returns the exit status.
int trace_targets(const session::TraceOptions &options, session::TickWriter &writer);

/// How CMD ended.
struct CommandEnd {
    int pid = 0;
    std::optional<int> status;  ///< as shells return it; nullopt: CMD was not run, or still runs
    std::optional<int> signal;
    std::optional<std::int64_t> max_rss_kb;  ///< of wait4(2)
    bool cut_off = false;                    ///< a signal stopped rsslag before CMD ended
};

/// Runs and traces CMD; returns the exit status. If `end` is not null, sets it and ends the trace when CMD ends, even
/// if its children are still running.
int trace_command(const std::vector<std::string> &argv, const session::TraceOptions &options,
                  session::TickWriter &writer, CommandEnd *end = nullptr);

/// The common part of live and record: parses the options, runs the trace and evaluates its --assert conditions.
/// Returns the exit status.
int run_trace(const Common &common, session::TraceOptions &options, ClaimOptions &claims);

}  // namespace rsslag::cli
