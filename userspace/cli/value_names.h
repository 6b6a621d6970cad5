// SPDX-License-Identifier: BSD-2-Clause
// Names of option values in the help. Completion derives its candidates from them.
#pragma once

#include <CLI/CLI.hpp>

namespace rsslag::cli {

/// Names the values of all options of `app` and its commands. Numbers, and values that CLI11 checks against a list,
/// already have a name: "TEXT:{lines,csv}", "INT".
void name_values(CLI::App &app);

}  // namespace rsslag::cli
