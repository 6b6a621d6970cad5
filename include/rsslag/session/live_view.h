// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "rsslag/terminal/screen.h"
#include "rsslag/view/screen.h"

namespace rsslag::session {

/// What the live screen is told before the first tick.
view::ScreenFacts screen_facts(const core::SnapshotDocument &facts, std::chrono::milliseconds interval, bool walks,
                               bool below);

/// Ticks go to the live screen; what could not be drawn in time is not waited for.
void post_ticks(terminal::Screen &screen, std::vector<core::Tick> ticks);
void post_notice(terminal::Screen &screen, std::string notice);

}  // namespace rsslag::session
