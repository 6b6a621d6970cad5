// SPDX-License-Identifier: BSD-2-Clause
// One function per command. It adds the subcommand to the parser and returns the function that runs it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "system/targets.h"

namespace rsslag::cli {

/// Options of all commands, and the arguments after the first `--`.
struct Common {
    std::vector<std::string> command;    ///< CMD ARG…; empty without `--`
    std::vector<std::string> arguments;  ///< the arguments before `--`, as typed
    std::string unit = "kB";
    std::string color = "auto";
};

/// Runs a command and returns the exit status.
using Run = std::function<int()>;

/// Adds PID…, -p, --comm, --cgroup and -u to a command that takes targets.
void add_target_options(CLI::App &command, system::TargetArguments &arguments);

Run add_snapshot(CLI::App &app, const Common &common);
Run add_live(CLI::App &app, const Common &common);
Run add_record(CLI::App &app, const Common &common);
Run add_replay(CLI::App &app, const Common &common);
Run add_peak(CLI::App &app, const Common &common);
Run add_serve(CLI::App &app, const Common &common);
Run add_top(CLI::App &app, const Common &common);
Run add_maps(CLI::App &app, const Common &common);
Run add_mem(CLI::App &app, const Common &common);
Run add_mount(CLI::App &app, const Common &common);
Run add_umount(CLI::App &app, const Common &common);
Run add_report(CLI::App &app, const Common &common);
Run add_export(CLI::App &app, const Common &common);
Run add_doctor(CLI::App &app, const Common &common);
Run add_help(CLI::App &app, const Common &common);
Run add_version(CLI::App &app, const Common &common);
Run add_demo(CLI::App &app, const Common &common);
Run add_completion(CLI::App &app, const Common &common);

}  // namespace rsslag::cli
