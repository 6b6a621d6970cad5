// SPDX-License-Identifier: BSD-2-Clause
// Names of option values in the help, and checks of the values. Completion derives its candidates from the names.
#pragma once

#include <string_view>

#include <CLI/CLI.hpp>

namespace rsslag::cli {

/// In a message of these checks: between the value and the remedy.
constexpr std::string_view kNotValid = " is not valid; ";

/// Names the values of all options of `app` and its commands, and adds checks of numbers and of values that must be in
/// a list.
void name_values(CLI::App &app);

}  // namespace rsslag::cli
