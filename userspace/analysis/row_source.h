// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"
#include "exporters/sink.h"

namespace rsslag::analysis {

/// Whether `stop` of emit_rows() returned true.
enum class Stopped : std::uint8_t { No, Yes };
/// Called before each event with Replay::work(); returns whether to stop.
using Stop = std::function<bool(std::uint64_t work)>;

/// Replays a recording and passes all of its rows to `sink`. Missing parts of the file are no error; exporters::Ending
/// lists them. If `stop` returns true, the result is Stopped::Yes and sink.end() is not called. Errors are those of
/// Replay::open() and of the sink.
core::Result<Stopped> emit_rows(const std::string &path, exporters::Sink &sink, const Stop &stop);

}  // namespace rsslag::analysis
