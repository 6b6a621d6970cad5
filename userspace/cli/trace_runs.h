// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "rsslag/session/session.h"

namespace rsslag::cli {

/// Runs a trace; the status to end with.
int trace_targets(const session::TraceOptions &options, session::TickWriter &writer);
int trace_command(const std::vector<std::string> &argv, const session::TraceOptions &options,
                  session::TickWriter &writer);

}  // namespace rsslag::cli
