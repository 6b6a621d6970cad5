// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "claim_options.h"
#include "commands.h"
#include "rsslag/session/session.h"

namespace rsslag::cli {

/// Runs a trace; the status to end with.
int trace_targets(const session::TraceOptions &options, session::TickWriter &writer);
/// How CMD ended.
struct CommandEnd {
    int pid = 0;
    std::optional<int> status;  ///< as shells give it; nullopt: it has not been run, or lives on
    std::optional<int> signal;
    std::optional<std::int64_t> max_rss_kb;  ///< of wait4(2)
};
/// With `end`: the trace ends with CMD, whoever of its children lives on.
int trace_command(const std::vector<std::string> &argv, const session::TraceOptions &options,
                  session::TickWriter &writer, CommandEnd *end = nullptr);

/// live and record, once they know what is theirs: what is typed is judged, the trace runs, and what was claimed of it
/// is held against it.
int run_trace(const Common &common, session::TraceOptions &options, ClaimOptions &claims);

}  // namespace rsslag::cli
