// SPDX-License-Identifier: BSD-2-Clause
#include "commands.h"

namespace rsslag::cli {

void add_target_options(CLI::App &command, system::TargetArguments &arguments) {
    command.add_option("PID", arguments.plain, "Processes, by PID or name");
    command.add_option("-p,--pid", arguments.pids, "Processes by PID: 1,2 (repeatable)")->allow_extra_args(false);
    command
        .add_option("--comm", arguments.comms,
                    "Processes whose name matches this glob; if it has a '/', whose path of the executable matches")
        ->allow_extra_args(false);
    command.add_option("--cgroup", arguments.cgroup, "Processes in a cgroup (v2) and its descendants");
    command.add_option("-u,--user", arguments.user, "Processes of a user (name or number; the real UID)");
}

}  // namespace rsslag::cli
