// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>

namespace rsslag::cli {

/// What the help of rsslag and of each of its commands ends with.
void add_examples(CLI::App &app);

}  // namespace rsslag::cli
