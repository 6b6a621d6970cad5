// SPDX-License-Identifier: BSD-2-Clause
#include "commands.h"

namespace rsslag::cli {

void add_target_options(CLI::App &command, host::TargetWords &words) {
    command.add_option("PID", words.words, "Processes");
    command.add_option("-p,--pid", words.pids, "Processes: 1,2 (repeatable)")->allow_extra_args(false);
    command
        .add_option("--comm", words.comms, "Processes whose name matches GLOB; with a '/' the path of their executable")
        ->allow_extra_args(false);
    command.add_option("--cgroup", words.cgroup, "Processes of a cgroup (v2) and its descendants");
    command.add_option("-u,--user", words.user, "Processes of a user (name or number, the real uid)");
}

}  // namespace rsslag::cli
