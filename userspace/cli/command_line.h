// SPDX-License-Identifier: BSD-2-Clause
// What the words of a command line mean, before and after the parser has seen them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "rsslag/core/result.h"

namespace rsslag::cli {

/// Null: there is none of that name.
const CLI::App *command_named(const CLI::App &app, const std::string &name);

/// The words before the first `--`; `command` has those after it.
std::vector<std::string> split(int argc, char **argv, std::vector<std::string> &command, bool &has_command);

/// With `live` before them where they say no command: `rsslag PID`, `rsslag NAME` of processes that run, `rsslag --
/// CMD`, with or without live's options; the first plain argument decides. One that is neither a command nor anybody's
/// name is Kind::BadInput, with what may have been meant.
core::Result<std::vector<std::string>> with_command(const CLI::App &app, std::vector<std::string> arguments,
                                                    bool has_command);

/// What the parser, which has thrown `error`, has against the words as they were typed.
core::Error bad_words(const CLI::App &app, const std::vector<std::string> &typed, const CLI::ParseError &error);

/// `argument` is no command.
core::Error no_command(const CLI::App &app, const std::string &argument);

}  // namespace rsslag::cli
