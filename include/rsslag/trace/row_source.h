// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "rsslag/core/result.h"
#include "rsslag/sinks/sink.h"

namespace rsslag::trace {

enum class Stopped : std::uint8_t { No, Yes };

/// Replays a recording into `sink`: every record of it, with what it came to. What is missing in the file is no error:
/// the ending names it. Stopped::Yes: `stop` said so, which is asked before each event with what reading cost so far
/// (Replay::work()), and `sink` was not told the end.
using Stop = std::function<bool(std::uint64_t work)>;
core::Result<Stopped> emit_rows(const std::string &path, sinks::Sink &sink, const Stop &stop);

}  // namespace rsslag::trace
