// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "rsslag/core/result.h"
#include "rsslag/recording/sink.h"

namespace rsslag::cli {

/// Replays a recording into `sink`: every record of it, with what it came to. What is missing in the file is no error:
/// the ending names it. Ends early with INT, TERM or HUP, as Stopped::Yes.
enum class Stopped : std::uint8_t { No, Yes };
core::Result<Stopped> tell_rows(const std::string &path, recording::Sink &sink);

}  // namespace rsslag::cli
