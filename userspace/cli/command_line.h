// SPDX-License-Identifier: BSD-2-Clause
// Interprets the arguments of a command line before and after CLI11 parses them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/result.h"

namespace rsslag::cli {

/// The command with this name; null if there is none.
const CLI::App *command_named(const CLI::App &app, const std::string &name);

/// Returns the arguments before the first `--`, and sets `command` to those after it.
std::vector<std::string> split(int argc, char **argv, std::vector<std::string> &command, bool &has_command);

/// Puts `live` in front of arguments that name no command: `rsslag PID`, `rsslag NAME` with the name of a running
/// process, `rsslag -- CMD`, each with or without live's options. The first argument that is not an option decides.
/// If it is neither a command nor the name of a process: Kind::BadInput, with a suggestion.
core::Result<std::vector<std::string>> with_command(const CLI::App &app, std::vector<std::string> arguments,
                                                    bool has_command);

/// For CLI::Option::check(): the error of the path of a file or directory; "" if it is not empty.
inline std::string path(const std::string &typed) {
    return typed.empty() ? "'' is not a path" : "";
}

/// The error to report for arguments that the parser rejected with `error`. `typed`: the arguments as typed.
core::Error usage_error(const CLI::App &app, const std::vector<std::string> &typed, const CLI::ParseError &error);

/// The Kind::BadInput error for `argument`, which is not a command.
core::Error unknown_command(const CLI::App &app, const std::string &argument);

}  // namespace rsslag::cli
