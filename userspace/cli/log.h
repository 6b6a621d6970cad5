// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "rsslag/core/result.h"

namespace rsslag::cli {

struct LogOptions {
    int verbose = 0;
    bool quiet = false;
    std::string file;
};

/// What is logged goes to stderr or to that file, which belongs to the user who called and is nobody else's to read.
core::Status set_up_log(const LogOptions &options);

}  // namespace rsslag::cli
