// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>

#include <spdlog/formatter.h>

#include "rsslag/core/result.h"

namespace rsslag::cli {

struct LogOptions {
    int verbose = 0;
    bool quiet = false;
    std::string file;
};

/// As spdlog formats, but control, escape and bidi bytes of a message reach no terminal and no file raw: its words may
/// come from a recording or another process.
std::unique_ptr<spdlog::formatter> log_format();

/// What is logged goes to stderr or to that file, which belongs to the user who called and is nobody else's to read.
core::Status set_up_log(const LogOptions &options);

}  // namespace rsslag::cli
