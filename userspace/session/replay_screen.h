// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analysis/replay.h"
#include "documents/tick.h"

namespace rsslag::session {

/// How a replay on the screen starts.
struct ReplayStart {
    std::uint64_t from_ns = 0;                 ///< since the start of the recording
    double speed = 1;                          ///< 1: real time
    std::function<void()> answered = nullptr;  ///< called whenever the screen shows what was asked for
};

/// Shows a recording on the live screen until a key, a signal or options.stop ends it. Errors as
/// analysis::Replay::open(); Kind::Unsupported if the terminal cannot be drawn on.
core::Status replay_on_screen(const std::string &file, const analysis::ReplayOptions &options, const ReplayStart &start,
                              const documents::TextStyle &style);

}  // namespace rsslag::session
