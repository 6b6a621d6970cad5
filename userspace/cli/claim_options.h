// SPDX-License-Identifier: BSD-2-Clause
// --assert, for every command that has it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "rsslag/report/report.h"
#include "rsslag/session/tick_writer.h"

namespace rsslag::cli {

struct ClaimOptions {
    std::vector<std::string> typed;  ///< as typed
    std::vector<report::Claim> claims;
};

void add_claim_options(CLI::App &command, ClaimOptions &options);

/// Bad input is told before anything is done.
core::Status parse_claims(ClaimOptions &options);

/// The status for what does not hold, or is not known to, a line on stderr for each; else `status`.
int check_claims(const std::vector<report::ClaimResult> &results, int status);
/// The same of a trace that was told. One that was to end, or of which something is demanded, and that has met no
/// process ends with kNotAllowed. `follow`: children were traced, too.
int check_claims(const ClaimOptions &options, const session::TickWriter &writer, bool ends, bool follow, int status);

}  // namespace rsslag::cli
