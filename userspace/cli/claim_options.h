// SPDX-License-Identifier: BSD-2-Clause
// The option --assert, for all commands that have it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "report/report.h"
#include "session/tick_writer.h"

namespace rsslag::cli {

struct ClaimOptions {
    std::vector<std::string> typed;  ///< the values as typed
    std::vector<core::Assertion> claims;
};

void add_claim_options(CLI::App &command, ClaimOptions &options);

/// Parses `typed` into `claims`. Kind::BadInput if one is malformed.
core::Status parse_claims(ClaimOptions &options);

/// Prints a line on stderr for each condition that does not hold or cannot be evaluated. Returns kDoesNotHold if there
/// is one and `status` is kDone, else `status`.
int check_claims(const std::vector<report::ClaimResult> &results, int status);
/// Prints an error for a trace without processes, of which no condition holds: `what`, or why they are missing. Returns
/// kNotAllowed.
int no_process(const core::Totals &totals, const char *what);
/// check_claims() for a trace. Returns kNotAllowed if no process was traced, although the trace had a duration (`ends`)
/// or has conditions. `follow`: children were traced too.
int check_claims(const ClaimOptions &options, const session::TickWriter &writer, bool ends, bool follow, int status);

}  // namespace rsslag::cli
