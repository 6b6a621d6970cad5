// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>

namespace rsslag::cli {

/// Adds examples at the end of the help of rsslag and of each command.
void add_examples(CLI::App &app);

}  // namespace rsslag::cli
