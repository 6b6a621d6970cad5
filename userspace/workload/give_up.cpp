// SPDX-License-Identifier: BSD-2-Clause
#include "give_up.h"

#include <unistd.h>

#include <string>

namespace rsslag::workload {

void give_up(const core::Error &error) {
    const std::string line = "workload: " + error.what + "\n";
    [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, line.data(), line.size());
    _exit(1);
}

}  // namespace rsslag::workload
