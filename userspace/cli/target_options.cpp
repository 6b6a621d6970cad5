// SPDX-License-Identifier: BSD-2-Clause
#include "commands.h"

namespace rsslag::cli {

void add_target_options(CLI::App &command, host::TargetArguments &arguments) {
    command.add_option("PID", arguments.plain, "Processes");
    command.add_option("-p,--pid", arguments.pids, "Processes: 1,2 (repeatable)")->allow_extra_args(false);
    command
        .add_option("--comm", arguments.comms,
                    "Processes whose name matches GLOB; with a '/' the path of their executable")
        ->allow_extra_args(false);
    command.add_option("--cgroup", arguments.cgroup, "Processes of a cgroup (v2) and its descendants");
    command.add_option("-u,--user", arguments.user, "Processes of a user (name or number, the real uid)");
}

}  // namespace rsslag::cli
