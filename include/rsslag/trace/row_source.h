// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "rsslag/core/result.h"
#include "rsslag/sinks/sink.h"

namespace rsslag::trace {

enum class Stopped : std::uint8_t { No, Yes };

/// Replays a recording and passes all of its rows to `sink`. Missing parts of the file are no error; they are listed in
/// sinks::Ending. `stop` is called before each event with Replay::work(); if it returns true, the result is
/// Stopped::Yes and sink.end() is not called. Errors are those of Replay::open() and of the sink.
using Stop = std::function<bool(std::uint64_t work)>;
core::Result<Stopped> emit_rows(const std::string &path, sinks::Sink &sink, const Stop &stop);

}  // namespace rsslag::trace
