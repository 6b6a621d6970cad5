// SPDX-License-Identifier: BSD-2-Clause
// What the value of an option is called in its help, which says to a shell what may be completed there.
#pragma once

#include <CLI/CLI.hpp>

namespace rsslag::cli {

/// Names the values of all options of `app` and its commands. Those that are checked against a list, and numbers, have
/// a name already: "TEXT:{lines,csv}", "INT".
void name_values(CLI::App &app);

}  // namespace rsslag::cli
