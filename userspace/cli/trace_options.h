// SPDX-License-Identifier: BSD-2-Clause
// Command-line options that live and record share.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "session/trace_options.h"

namespace rsslag::cli {

using session::parse;
using session::parse_threads;

/// --ring and --memory.
void add_buffer_options(CLI::App &command, session::TraceOptions &options);
/// --stacks, --stack-bytes, --stack-seed, --unwind, --no-symbols.
void add_stack_options(CLI::App &command, session::TraceOptions &options);
void add_trace_options(CLI::App &command, session::TraceOptions &options);

}  // namespace rsslag::cli
