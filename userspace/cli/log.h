// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "core/result.h"

namespace rsslag::cli {

struct LogOptions {
    int verbose = 0;
    bool quiet = false;
    std::string file;
};

/// Sends the log to stderr or to `file`. A new file has mode 0600 and belongs to the invoking user.
core::Status set_up_log(const LogOptions &options);

}  // namespace rsslag::cli
