// SPDX-License-Identifier: BSD-2-Clause
#include "run.h"

#include <csignal>
#include <exception>

#include "exit_status.h"
#include "system/environment.h"

int main(int argc, char **argv) {
    rsslag::system::take_over_signals();
    std::signal(SIGCHLD, SIG_DFL);  // ignored, as the caller may have it, wait(2) would not return CMD's status
    rsslag::system::open_standard_descriptors();
    rsslag::system::remove_unsafe_variables();
    rsslag::system::raise_descriptor_limit();
    try {
        return rsslag::cli::run(argc, argv);
    } catch (const std::exception &error) {  // thrown by a library; none is expected
        return rsslag::cli::fail({rsslag::core::Kind::Internal, error.what(), 0, ""});
    }
}
