// SPDX-License-Identifier: BSD-2-Clause
// What live and record have in common on their command lines.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "rsslag/core/result.h"
#include "rsslag/core/tick.h"
#include "rsslag/session/trace_options.h"

namespace rsslag::cli {

/// Bad input is told before anything is asked of the kernel.
core::Status parse(session::TraceOptions &options);

/// all, changed, top:N or none. Pure.
core::Result<core::ThreadChoice> parse_threads(const std::string &argument);

void add_trace_options(CLI::App &command, session::TraceOptions &options);

}  // namespace rsslag::cli
