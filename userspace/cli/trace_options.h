// SPDX-License-Identifier: BSD-2-Clause
// Command-line options that live and record share.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "rsslag/core/result.h"
#include "rsslag/core/tick.h"
#include "rsslag/session/trace_options.h"

namespace rsslag::cli {

/// Checks and parses what was typed, before the kernel is queried. Kind::BadInput if an option is invalid.
core::Status parse(session::TraceOptions &options);

/// all, changed, top:N or none. Pure.
core::Result<core::ThreadChoice> parse_threads(const std::string &argument);

void add_trace_options(CLI::App &command, session::TraceOptions &options);

}  // namespace rsslag::cli
