// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::cli {

/// Parses the command line, runs the chosen command and returns its exit status.
int run(int argc, char **argv);

}  // namespace rsslag::cli
