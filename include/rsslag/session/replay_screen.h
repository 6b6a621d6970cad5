// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "rsslag/trace/replay.h"
#include "rsslag/view/tick.h"

namespace rsslag::session {

/// How a replay on the screen begins.
struct ReplayStart {
    std::uint64_t from_ns = 0;  ///< since the recording began
    double speed = 1;           ///< 1: as it was
};

/// The live screen from a file, until a key or a signal ends it, or options.stop says so.
core::Status replay_on_screen(const std::string &file, const trace::ReplayOptions &options, const ReplayStart &start,
                              const view::TextStyle &style);

}  // namespace rsslag::session
